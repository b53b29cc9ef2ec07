package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/datasets/synth"
)

// A preset's month, a fit to it, and a draw from that: equal inputs give equal
// files, and the fit is closer to the month than another preset.
func TestTraceFitAndSynth(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mustRun(t, "trace", "synth", "--preset", "philly-like", "--horizon", "1000h", "--start", "2026-01-05T00:00:00Z", "--out", at("seen.parquet"))
	for _, name := range []string{"a", "b"} {
		mustRun(t, "trace", "fit", at("seen.parquet"), "--out", at(name+".yaml"))
		mustRun(t, "trace", "synth", "--workload", at(name+".yaml"), "--seed", "2", "--horizon", "500h", "--out", at(name+".parquet"))
	}
	if !sameFile(t, at("a.yaml"), at("b.yaml")) || !sameFile(t, at("a.parquet"), at("b.parquet")) {
		t.Error("the same commands gave other files")
	}
	distance := func(name string) float64 {
		var c synth.Comparison
		if err := json.Unmarshal([]byte(mustRun(t, "trace", "compare", at("seen.parquet"), at(name), "--json")), &c); err != nil {
			t.Fatal(err)
		}
		return c.InterArrival + c.Duration + c.Size
	}
	mustRun(t, "trace", "synth", "--preset", "llm", "--jobs", "500", "--out", at("llm.csv"))
	if near, far := distance("a.parquet"), distance("llm.csv"); near > 0.3 || near > far/3 {
		t.Errorf("what the fit generates is at %.3f, another preset at %.3f; want at most 0.3 and a third of it", near, far)
	}
	if made := readTrace(t, at("a.parquet")); made.Meta.Epoch.IsZero() || made.Meta.Seed != 2 {
		t.Errorf("metadata %+v, want an epoch and the seed", made.Meta)
	}
}

func TestTraceFitHoldout(t *testing.T) {
	dir := t.TempDir()
	seen, out := filepath.Join(dir, "seen.parquet"), filepath.Join(dir, "w.yaml")
	mustRun(t, "trace", "synth", "--preset", "philly-like", "--horizon", "1000h", "--start", "2026-01-05T00:00:00Z", "--out", seen)
	args := []string{"trace", "fit", seen, "--out", out, "--holdout", "2026-02-05..", "--naive", "2026-01-20..2026-02-05", "--seeds", "3"}
	text := mustRun(t, args...)
	for _, want := range []string{"KS inter-arrival", "naive", "/3", "wrote " + out} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	var report fitReport
	if err := json.Unmarshal([]byte(mustRun(t, append(args, "--json")...)), &report); err != nil {
		t.Fatal(err)
	}
	if report.Holdout == nil || report.Holdout.Seeds != 3 || len(report.Holdout.Measures) < 5 || report.Source.To != "2026-02-05T00:00:00Z" {
		t.Errorf("got the report %+v, want three seeds and a fit that ends with January", report)
	}
	// Two windows of one table.
	text = mustRun(t, "trace", "compare", seen, seen, "--a", "..2026-01-20", "--b", "15d..")
	if !strings.Contains(text, "KS size") || !strings.Contains(text, "0.0") {
		t.Errorf("compare printed:\n%s", text)
	}
}

// A preset's file can be edited and drawn from.
func TestTraceSynthShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	text := mustRun(t, "trace", "synth", "--preset", "llm", "--show")
	if !strings.Contains(text, "[llama]") {
		t.Errorf("the file does not name its sources:\n%s", text)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "gpus: 512", "gpus: 1024")), 0o600); err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, "trace", "synth", "--workload", path, "--jobs", "3000", "--out", "-")
	if lines := strings.Count(out, "\n"); lines < 3000 || !strings.Contains(out, ",1024,") {
		t.Errorf("%d lines without the edit, want 3000 jobs, some of 1024 GPUs", lines)
	}
}

// What is wrong is said, and nothing is left behind.
func TestTraceFitAndSynthRefuse(t *testing.T) {
	dir := t.TempDir()
	seen, out := filepath.Join(dir, "seen.parquet"), filepath.Join(dir, "out")
	mustRun(t, "trace", "synth", "--jobs", "100", "--out", seen)
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("version: 1\nstreams: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{2, "--out", []string{"fit", seen}},
		{2, "FROM..TO", []string{"fit", seen, "--out", out, "--holdout", "tomorrow"}},
		{2, "no epoch", []string{"fit", seen, "--out", out, "--holdout", "2017-11-01.."}},
		{2, "no time between", []string{"fit", seen, "--out", out, "--holdout", "9000h.."}},
		{2, "--naive is the baseline", []string{"fit", seen, "--out", out, "--naive", "1h..2h"}},
		{2, "--seeds", []string{"fit", seen, "--out", out, "--holdout", "10h..", "--seeds", "0"}},
		{2, "--streams", []string{"fit", seen, "--out", out, "--streams", "0"}},
		{2, "--arrivals-half-life", []string{"fit", seen, "--out", out, "--arrivals-half-life", "soon"}},
		{1, "after it", []string{"fit", seen, "--out", out, "--holdout", "10h..", "--window", "..11h"}},
		{1, "no such file", []string{"fit", filepath.Join(dir, "none"), "--out", out}},
		{1, "source.title", []string{"synth", "--workload", bad, "--out", out}},
		{1, "a Parquet table", []string{"synth", "--workload", seen, "--out", out}},
		{2, "--preset is \"helios\", want one of gavel, llm, philly-like", []string{"synth", "--preset", "helios", "--out", out}},
		{2, "--workload goes with neither", []string{"synth", "--preset", "llm", "--workload", bad, "--out", out}},
		{2, "--inter-arrival is for the preset gavel", []string{"synth", "--preset", "llm", "--inter-arrival", "1h", "--out", out}},
		{2, "--horizon is not for the preset gavel", []string{"synth", "--horizon", "1h", "--out", out}},
		{2, "--start is \"noon\"", []string{"synth", "--preset", "llm", "--start", "noon", "--out", out}},
		{2, "--jobs is 0", []string{"synth", "--preset", "llm", "--jobs", "0", "--out", out}},
		{2, "--horizon is -1h", []string{"synth", "--preset", "llm", "--horizon", "-1h", "--out", out}},
		{2, "no workload file", []string{"synth", "--show"}},
		{2, "B is missing", []string{"compare", seen}},
		{2, "--b is", []string{"compare", seen, seen, "--b", "1h"}},
	} {
		code, _, stderr := command(t, append([]string{"trace"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: exit code %d, %q; want %d and %q", test.args, code, stderr, test.code, test.want)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Errorf("%d files in the folder, want the two that were there", len(files))
	}
}

func TestTraceFitHelpTeaches(t *testing.T) {
	for _, name := range []string{"fit", "synth", "compare"} {
		if out := mustRun(t, "trace", name, "--help"); !strings.Contains(out, "Usage:") || !strings.Contains(out, "Examples:") {
			t.Errorf("trace %s --help has no usage or no examples:\n%s", name, out)
		}
	}
}
