package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/tune"
)

// Every command that writes one file says at once that it cannot: before it computes for
// an hour, and without the name of a temporary file.
func TestOutputsThatCannotBeWrittenAreRefusedFirst(t *testing.T) {
	dir := t.TempDir()
	trace, csv, none := filepath.Join(dir, "t.parquet"), filepath.Join(dir, "t.csv"), filepath.Join(dir, "none", "out.html")
	mustRun(t, "trace", "synth", "--jobs", "40", "--out", trace)
	mustRun(t, "trace", "convert", trace, csv)
	for _, line := range [][]string{
		{"trace", "synth", "--jobs", "40", "--out"},
		{"trace", "slice", trace, "--out"},
		{"trace", "merge", trace, "--out"},
		{"trace", "scale", trace, "--factor", "2", "--out"},
		{"trace", "convert", trace},
		{"trace", "split", trace, "--out"},
		{"trace", "import", csv, "--out"},
		{"trace", "fit", trace, "--out"},
		{"bench", "--trace", "absent", "--out"}, // what comes after is not reached
		{"bench", "--decisions", "absent", "--out"},
		{"tune", "--trace", "absent", "--out"},
		{"simulate", "--trace", "absent", "--timeline"},
	} {
		code, stdout, stderr := command(t, append(line, none)...)
		want := "but there is no folder " + filepath.Dir(none) + ": make it with mkdir -p "
		if code != exitFailure || stdout != "" || !strings.Contains(stderr, want) || !strings.Contains(stderr, "out.") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("yardmaster %s: exit code %d, stdout %q, stderr %q; want 1 and one line with %q", strings.Join(line, " "), code, stdout, stderr, want)
		}
	}
	for _, test := range []struct {
		out, want string
		code      int
	}{
		{dir, "is a folder: name a file in it", exitFailure},
		{filepath.Join(trace, "x"), "is no folder", exitFailure},
		{os.DevNull, "is no regular file, and would be replaced by one", exitFailure},
		{"", "--out is missing", exitUsage},
		{"-", "want a Parquet file", exitUsage},
		{filepath.Join(dir, "x.csv.gz"), "trace convert makes CSV of it", exitUsage},
		{filepath.Join(dir, ".", "t.parquet"), "", 0},
	} {
		code, _, stderr := command(t, "trace", "import", csv, "--out", test.out)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("trace import --out %q: exit code %d, stderr %q; want %d and %q", test.out, code, stderr, test.code, test.want)
		}
	}
	if code, _, stderr := command(t, "trace", "fit", trace, "--out", "-"); code != exitUsage || !strings.Contains(stderr, "want the name of a file") {
		t.Errorf("trace fit --out -: exit code %d, stderr %q", code, stderr)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

// An import does not take its own input, under any name, for its output.
func TestImportKeepsItsInput(t *testing.T) {
	dir := t.TempDir()
	trace, in, link := filepath.Join(dir, "t.parquet"), filepath.Join(dir, "in"), filepath.Join(dir, "link")
	mustRun(t, "trace", "synth", "--jobs", "5", "--out", trace)
	text := mustRun(t, "trace", "convert", trace, "-")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{in, link} {
		code, _, stderr := command(t, "trace", "import", in, "--out", out)
		if code != exitUsage || !strings.Contains(stderr, "is to be imported and would be lost") {
			t.Errorf("--out %s: exit code %d, stderr %q", out, code, stderr)
		}
	}
	if left, err := os.ReadFile(in); err != nil || !bytes.Equal(left, []byte(text)) {
		t.Errorf("the input was changed (%v)", err)
	}
}

// What took hours is printed even where it cannot be written, as on a disk that has
// become full; the error names the file and not the temporary one.
func TestResultsArePrintedThoughTheyCannotBeWritten(t *testing.T) {
	out := filepath.Join(t.TempDir(), "gone", "out.html") // as if it went after the first look
	for name, report := range map[string]func(io.Writer) error{
		"bench": func(w io.Writer) error {
			flags := &benchFlags{out: out}
			return flags.report(w, &eval.Table{Seeds: []uint64{0}, Rows: []eval.Row{{Policy: "fifo"}}}, nil)
		},
		"tune": func(w io.Writer) error {
			flags := &tuneFlags{out: out, json: true}
			return flags.report(w, &tune.Tuned{}, nil)
		},
		"simulate": func(w io.Writer) error {
			flags := &simulateFlags{timeline: out}
			return flags.report(w, &simulated{}, nil)
		},
	} {
		var stdout bytes.Buffer
		err := report(&stdout)
		if want := "write " + out + ": no such file or directory"; err == nil || err.Error() != want || stdout.Len() == 0 {
			t.Errorf("%s: printed %q, error %v; want a result and %q", name, &stdout, err, want)
		}
	}
}
