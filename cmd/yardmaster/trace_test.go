package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/datasets"
)

// sampleTrace writes a trace of 300 jobs with tenants and statuses.
func sampleTrace(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "300", "--seed", "3", "--out", path)
	j, err := datasets.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range j.Rows {
		j.Rows[i].Tenant = []string{"a", "b, \"c\"", ""}[i%3]
		j.Rows[i].Status = []string{"Pass", "Failed"}[i%2]
	}
	if err := datasets.Write(path, j); err != nil {
		t.Fatal(err)
	}
	return path
}

func readTrace(t *testing.T, path string) *datasets.Jobs {
	t.Helper()
	j, err := readJobs(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	left, errLeft := os.ReadFile(a)
	right, errRight := os.ReadFile(b)
	if errLeft != nil || errRight != nil {
		t.Fatal(errLeft, errRight)
	}
	return bytes.Equal(left, right)
}

func TestTraceConvertThereAndBackIsTheSameFile(t *testing.T) {
	dir := t.TempDir()
	parquet := sampleTrace(t, dir)
	for _, name := range []string{"jobs.csv", "jobs.csv.gz", "jobs.csv.zst"} {
		csv, back := filepath.Join(dir, name), filepath.Join(dir, name+".parquet")
		mustRun(t, "trace", "convert", parquet, csv)
		mustRun(t, "trace", "convert", csv, back)
		if !sameFile(t, parquet, back) {
			t.Errorf("%s: the Parquet file changed on the way", name)
		}
		again := filepath.Join(dir, "again."+name)
		mustRun(t, "trace", "convert", csv, again)
		if !sameFile(t, csv, again) {
			t.Errorf("%s: the CSV file changed on the way to itself", name)
		}
	}
	text := mustRun(t, "trace", "convert", parquet, "-")
	if want, err := os.ReadFile(filepath.Join(dir, "jobs.csv")); err != nil || text != string(want) {
		t.Errorf("standard output has other text than the file (%v)", err)
	}
}

func TestTraceCommandsReadCSVFromStandardInput(t *testing.T) {
	var out, errs bytes.Buffer
	root := newRoot()
	root.SetArgs([]string{"trace", "head", "-"})
	root.SetIn(strings.NewReader("job_id,submit_s,gpus,duration_s\n2,60,8,3600\n1,0,1,60\n"))
	root.SetOut(&out)
	root.SetErr(&errs)
	if err := root.ExecuteContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := "JOB  SUBMITTED  GPUS  DURATION\n1    0s         1     1m0s\n2    1m0s       8     1h0m0s\n2 of 2 jobs\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestTraceSlice(t *testing.T) {
	dir := t.TempDir()
	parquet, out := sampleTrace(t, dir), filepath.Join(dir, "out.csv")
	text := mustRun(t, "trace", "slice", parquet, "--out", out, "--jobs", "10:200", "--gpus", "1-2", "--status", "Pass", "--tenant", "a", "--tenant", "", "--from", "12h", "--to", "2d", "--rebase")
	j := readTrace(t, out)
	for _, r := range j.Rows {
		if r.GPUs > 2 || r.Status != "Pass" || r.Tenant != "a" && r.Tenant != "" {
			t.Errorf("kept %+v", r)
		}
	}
	if j.Rows[0].Submit != 0 || len(j.Rows) < 10 {
		t.Errorf("kept %d rows, the first at %v", len(j.Rows), j.Rows[0].Submit)
	}
	filter := j.Meta.Filters[len(j.Meta.Filters)-1]
	if !strings.Contains(filter, `rows 11 to 200 by submission, submitted 12h0m0s to before 48h0m0s, GPUs 1 to 2, tenant "a" or null, status "Pass"`) || !strings.Contains(text, filter) {
		t.Errorf("got filter %q, text\n%s", filter, text)
	}
	code, csv, messages := command(t, "trace", "slice", parquet, "--out", "-", "--jobs", "0:2")
	two, err := datasets.DecodeCSV(strings.NewReader(csv), "-")
	if code != 0 || err != nil || len(two.Rows) != 2 || !strings.Contains(messages, "wrote 2 jobs to -") {
		t.Errorf("to standard output: exit code %d, %v, %q, messages %q", code, err, csv, messages)
	}
	var ch change
	if err := json.Unmarshal([]byte(mustRun(t, "trace", "slice", parquet, "--out", out, "--gpus", "4-", "--json")), &ch); err != nil || ch.Jobs != ch.Report.Kept || ch.Report.Read != 300 {
		t.Errorf("got %+v, %v", ch, err)
	}
}

func TestTraceSplitThenMergeIsTheTrace(t *testing.T) {
	dir := t.TempDir()
	parquet := sampleTrace(t, dir)
	for _, by := range []string{"time", "span"} {
		mustRun(t, "trace", "split", parquet, "--by", by)
		parts := []string{filepath.Join(dir, "jobs.train.parquet"), filepath.Join(dir, "jobs.validation.parquet"), filepath.Join(dir, "jobs.test.parquet")}
		if n := len(readTrace(t, parts[0]).Rows); by == "time" && n != 210 {
			t.Errorf("the first part has %d jobs, want 210", n)
		}
		merged := filepath.Join(dir, "merged.parquet")
		mustRun(t, append([]string{"trace", "merge", "--out", merged}, parts...)...)
		got, want := readTrace(t, merged), readTrace(t, parquet)
		for i := range want.Rows {
			want.Rows[i].ID = int64(i) + 1
		}
		if got.Hash() != want.Hash() {
			t.Errorf("by %s: the parts do not merge to the trace", by)
		}
	}
	mustRun(t, "trace", "split", parquet, "--fractions", "0.5,0.25", "--names", "early,late", "--out", filepath.Join(dir, "p"))
	if got := len(readTrace(t, filepath.Join(dir, "p.late.parquet")).Rows); got != 75 {
		t.Errorf("a quarter of 300 jobs is %d", got)
	}
}

func TestTraceScaleReachesTheLoad(t *testing.T) {
	dir := t.TempDir()
	parquet, out := sampleTrace(t, dir), filepath.Join(dir, "scaled.parquet")
	mustRun(t, "trace", "scale", parquet, "--load", "0.7", "--cluster", "V100=8,K80=8", "--out", out)
	var d datasets.Description
	if err := json.Unmarshal([]byte(mustRun(t, "trace", "describe", out, "--cluster", "V100=8,K80=8", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Load == nil || d.Load.Offered < 0.699999 || d.Load.Offered > 0.700001 {
		t.Errorf("got load %+v, want 0.7", d.Load)
	}
	text := mustRun(t, "trace", "scale", parquet, "--factor", "0.5", "--out", out)
	before, after := readTrace(t, parquet), readTrace(t, out)
	if got, want := after.Rows[299].Submit-after.Rows[0].Submit, (before.Rows[299].Submit-before.Rows[0].Submit)/2; got-want > 1 || want-got > 1 || !strings.Contains(text, "by 0.5") {
		t.Errorf("spans %v, want %v:\n%s", got, want, text)
	}
}

func TestTraceHead(t *testing.T) {
	parquet := sampleTrace(t, t.TempDir())
	text := mustRun(t, "trace", "head", parquet, "-n", "3")
	if strings.Count(text, "\n") != 5 || !strings.Contains(text, `b, "c"`) || !strings.HasSuffix(text, "3 of 300 jobs\n") {
		t.Errorf("got\n%s", text)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(mustRun(t, "trace", "head", parquet, "-n", "2", "--json")), &rows); err != nil || len(rows) != 2 || rows[1]["tenant"] != `b, "c"` {
		t.Errorf("got %v, %v", rows, err)
	}
}

func TestTraceValidateReportsEveryProblem(t *testing.T) {
	dir := t.TempDir()
	parquet := sampleTrace(t, dir)
	bad := filepath.Join(dir, "bad.csv")
	if err := os.WriteFile(bad, []byte("job_id,submit_ns,gpus,duration_ns\n1,0,0,5\n2,x,1,5\n2,0,1,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := mustRun(t, "trace", "validate", parquet); !strings.Contains(text, "valid: a jobs table of 300 rows") {
		t.Errorf("got %q", text)
	}
	code, out, errs := command(t, "trace", "validate", parquet, bad)
	if code != exitFailure || strings.Count(out, "\n") != 3 || !strings.Contains(out, "row 2: column gpus is 0") || !strings.Contains(out, `row 3: column submit_ns is "x"`) || !strings.Contains(errs, "2 problems in 2 tables") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errs)
	}
	code, out, _ = command(t, "trace", "validate", "--json", "--most", "1", bad)
	var got []validation
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitFailure || len(got) != 1 || len(got[0].Problems) != 1 || got[0].Problems[0].Column != "gpus" {
		t.Errorf("exit code %d, got %+v, %v", code, got, err)
	}
	cut := filepath.Join(dir, "cut.parquet")
	whole, err := os.ReadFile(parquet)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := command(t, "trace", "validate", cut); code != exitFailure || !strings.Contains(out, "truncated Parquet file") {
		t.Errorf("a cut file: exit code %d, stdout %q", code, out)
	}
}

func TestTraceToolsHelpTeaches(t *testing.T) {
	for _, name := range []string{"describe", "head", "validate", "slice", "split", "scale", "merge", "convert"} {
		if out := mustRun(t, "trace", name, "--help"); !strings.Contains(out, "Usage:") || len(out) < 400 {
			t.Errorf("trace %s --help says only:\n%s", name, out)
		}
	}
}

func TestTraceToolsRefuseWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	parquet, out := sampleTrace(t, dir), filepath.Join(dir, "out.parquet")
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no out":             {[]string{"slice", parquet}, exitUsage, "--out"},
		"bad range":          {[]string{"slice", parquet, "--out", out, "--jobs", "5:2"}, exitUsage, "I:J"},
		"bad GPUs":           {[]string{"slice", parquet, "--out", out, "--gpus", "8-1"}, exitUsage, "LOW"},
		"bad time":           {[]string{"slice", parquet, "--out", out, "--from", "noon"}, exitUsage, `"noon" is no time`},
		"instant, no epoch":  {[]string{"slice", parquet, "--out", out, "--to", "2017-10-09"}, exitUsage, "no epoch"},
		"nothing left":       {[]string{"slice", parquet, "--out", out, "--tenant", "nobody"}, exitFailure, "no row is left"},
		"split by what":      {[]string{"split", parquet, "--by", "tenant"}, exitUsage, "time or span"},
		"too large":          {[]string{"split", parquet, "--fractions", "0.9,0.9"}, exitFailure, "sum to"},
		"names":              {[]string{"split", parquet, "--names", "a,b"}, exitUsage, "3 fractions"},
		"a folder in a name": {[]string{"split", parquet, "--names", "a,../b,c"}, exitUsage, "names of files"},
		"load and factor":    {[]string{"scale", parquet, "--out", out, "--load", "1", "--factor", "2"}, exitUsage, "either"},
		"load of what":       {[]string{"scale", parquet, "--out", out, "--load", "1"}, exitUsage, "--cluster"},
		"unknown GPU":        {[]string{"scale", parquet, "--out", out, "--load", "1", "--cluster", "V9000=1"}, exitFailure, "V9000"},
		"no factor":          {[]string{"scale", parquet, "--out", out, "--factor", "0"}, exitFailure, "factor is 0"},
		"merge of nothing":   {[]string{"merge", "--out", out}, exitUsage, "no JOBS"},
		"align":              {[]string{"merge", parquet, "--out", out, "--align", "left"}, exitUsage, "epoch or start"},
		"no rows":            {[]string{"head", parquet, "-n", "0"}, exitUsage, "at least 1"},
		"no file":            {[]string{"describe", filepath.Join(dir, "none")}, exitFailure, "none"},
		"a folder":           {[]string{"describe", dir}, exitFailure, "not a regular file"},
		"one argument":       {[]string{"convert", parquet}, exitUsage, "OUT is missing"},
		"no folder":          {[]string{"convert", parquet, filepath.Join(dir, "none", "x.csv")}, exitFailure, "none"},
	} {
		code, stdout, stderr := command(t, append([]string{"trace"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %d and one line with %q", name, code, stdout, stderr, test.code, test.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

// Whatever is wrong with what they read, the commands exit with 1 and one line
// that names the file, and leave neither an output nor a temporary file.
func TestDamagedInputsLeaveNothingBehind(t *testing.T) {
	dir := t.TempDir()
	whole := map[string][]byte{}
	parquet := sampleTrace(t, dir)
	csv := filepath.Join(dir, "jobs.csv")
	mustRun(t, "trace", "convert", parquet, csv)
	for _, path := range []string{parquet, csv} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole[filepath.Ext(path)] = text
	}
	work := t.TempDir()
	out := filepath.Join(work, "out.parquet")
	refused := 0
	for extension, text := range whole {
		in := filepath.Join(work, "in"+extension)
		for i := range 20 {
			damaged := text[:len(text)*i/20]
			if i%2 == 1 {
				damaged = bytes.Clone(text)
				damaged[len(text)*i/20] ^= 0x10
			}
			if err := os.WriteFile(in, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"convert", in, out},
				{"slice", in, "--gpus", "1-8", "--out", out},
				{"scale", in, "--factor", "2", "--out", out},
				{"merge", in, "--out", out},
				{"split", in, "--out", filepath.Join(work, "part")},
				{"import", in, "--out", out},
			} {
				code, _, stderr := command(t, append([]string{"trace"}, args...)...)
				left, err := os.ReadDir(work)
				if err != nil {
					t.Fatal(err)
				}
				if code == 0 { // the byte does not matter
					for _, entry := range left {
						if path := filepath.Join(work, entry.Name()); path != in {
							if err := os.Remove(path); err != nil {
								t.Fatal(err)
							}
						}
					}
					continue
				}
				refused++
				if code != exitFailure || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, in) || len(left) != 1 {
					t.Errorf("%v: exit code %d, stderr %q, left %v", args, code, stderr, left)
				}
			}
		}
		if err := os.Remove(in); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 100 {
		t.Errorf("only %d of 240 commands were refused", refused)
	}
}

// One file that cannot be read hides nothing of the others: it is a finding like those.
func TestTracesAreJudgedBesideUnreadableOnes(t *testing.T) {
	dir := t.TempDir()
	good, absent, folder := filepath.Join(dir, "good.parquet"), filepath.Join(dir, "absent"), filepath.Join(dir, "folder")
	mustRun(t, "trace", "synth", "--jobs", "5", "--out", good)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := command(t, "trace", "validate", absent, folder, good)
	for _, want := range []string{absent + ": no such file or directory", folder + ": not a regular file", good + ": valid"} {
		if !strings.Contains(out, want) {
			t.Errorf("trace validate printed %q, want %q in it", out, want)
		}
	}
	if code != exitFailure || !strings.Contains(stderr, "2 problems in 3 tables") {
		t.Errorf("trace validate: exit code %d, stderr %q", code, stderr)
	}
	var found []struct {
		File     string
		Problems []map[string]any
	}
	_, out, _ = command(t, "trace", "validate", "--json", absent)
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found) != 1 || len(found[0].Problems) != 1 {
		t.Fatalf("trace validate --json printed %q (%v)", out, err)
	}
	for _, key := range []string{"file", "row", "column", "value", "fix"} {
		if _, ok := found[0].Problems[0][key]; !ok {
			t.Errorf("a problem has no %q: %v", key, found[0].Problems[0])
		}
	}

	gone := filepath.Join(dir, "gone")
	if err := os.Symlink(absent, gone); err != nil { // named, and cannot be opened by anyone
		t.Fatal(err)
	}
	out = mustRun(t, "trace", "recognise", gone, good)
	for _, want := range []string{"no such file or directory", "a Parquet file"} {
		if !strings.Contains(out, want) {
			t.Errorf("trace recognise printed %q, want %q in it", out, want)
		}
	}
}

// A run that was moved without its trace says so, not that some file cannot be opened.
func TestMovedRunsSayWhatTheyMiss(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, scenarioFile), []byte(`{"trace": "gone.parquet"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := command(t, "bench", "--run", dir, "--policies", "fifo")
	if want := filepath.Join(dir, scenarioFile) + " names " + filepath.Join(dir, "gone.parquet") + ", which is not there"; !strings.Contains(stderr, want) {
		t.Errorf("bench: stderr %q, want %q", stderr, want)
	}
	_, _, stderr = command(t, "bench", "--run", filepath.Join(dir, scenarioFile), "--policies", "fifo")
	if want := "is not a run directory"; !strings.Contains(stderr, want) {
		t.Errorf("bench of a file: stderr %q, want %q", stderr, want)
	}
}

// Parquet in a pipe is told from CSV that has strange columns.
func TestParquetIsNotReadFromAPipe(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "t.parquet")
	mustRun(t, "trace", "synth", "--jobs", "5", "--out", trace)
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root := newRoot()
	root.SetArgs([]string{"trace", "describe", "-"})
	root.SetIn(f)
	err = root.ExecuteContext(t.Context())
	if want := "-: a Parquet file, which is not read from a pipe: name the file"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
