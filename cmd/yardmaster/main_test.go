package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs one command line.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(context.Background(), args, &out, &err)
	return code, out.String(), err.String()
}

// mustRun runs a command line that has to succeed and returns what it printed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, out, err := command(t, args...)
	if code != 0 {
		t.Fatalf("yardmaster %s: exit code %d: %s", strings.Join(args, " "), code, err)
	}
	return out
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{
		{"--help"},
		{"trace", "synth", "--help"},
		{"trace", "import", "--help"},
		{"trace", "describe", "--help"},
		{"train", "--help"},
		{"train", "config", "--help"},
		{"train", "sweep", "--help"},
		{"bench", "--help"},
		{"simulate", "--help"},
		{"serve", "--help"},
		{"replay", "--help"},
		{"relay", "--help"},
		{"verify", "gavel", "--help"},
		{"verify", "pollux", "--help"},
		{"agents", "--help"},
		{"version", "--help"},
	} {
		if out := mustRun(t, args...); !strings.Contains(out, "Usage:") {
			t.Errorf("%v: no usage in:\n%s", args, out)
		}
	}
}

func TestWrongCommandLinesExitWithTwo(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag":      {"bench", "--policy", "fifo"},
		"missing flag":      {"train"},
		"missing argument":  {"trace", "describe"},
		"no input":          {"trace", "import", "--out", "x.parquet"},
		"bad value":         {"train", "--load", "much"},
		"unknown knowledge": {"train", "--knowledge", "some"},
		"unknown format":    {"trace", "import", "--from", "excel", "--out", "x.parquet", "in.xls"},
		"unknown GPU type":  {"train", "--trace", "x", "--out", "x", "--cluster", "V9000=4"},
		"unknown apply":     {"replay", "--run", "x", "--apply", "both"},
	} {
		code, out, err := command(t, args...)
		if code != exitUsage || !strings.HasPrefix(err, "yardmaster: ") || out != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want 2, nothing and one message", name, code, out, err)
		}
	}
}

func TestFailuresExitWithOneAndLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.parquet")
	if err := os.WriteFile(text, []byte("job_id,gpus\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.csv")
	if err := os.WriteFile(broken, []byte("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,-3,1,66.0,11cb48\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.parquet")
	for name, tt := range map[string]struct {
		args []string
		want string // part of the message
	}{
		"no such trace":     {[]string{"trace", "describe", filepath.Join(dir, "none.parquet")}, "none.parquet"},
		"text as Parquet":   {[]string{"trace", "describe", text}, "text.parquet"},
		"negative duration": {[]string{"trace", "import", broken, "--out", out}, "duration"},
		"no run directory":  {[]string{"bench", "--run", dir}, scenarioFile},
		"no Gavel data":     {[]string{"verify", "gavel", "--data", dir}, "reference runs"},
		"no run to serve":   {[]string{"serve", "--run", filepath.Join(dir, "none")}, "none"},
	} {
		code, stdout, stderr := command(t, tt.args...)
		if code != exitFailure || stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q; want 1 and nothing", name, code, stdout)
		}
		if lines := strings.Count(strings.TrimSpace(stderr), "\n") + 1; lines != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: stderr is %q, want one line with %q", name, stderr, tt.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("the failures left %v, want the two inputs only", entries)
	}
}

func TestSynthIsRepeatable(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.parquet"), filepath.Join(dir, "b.parquet")
	mustRun(t, "trace", "synth", "--jobs", "200", "--out", a)
	mustRun(t, "trace", "synth", "--jobs", "200", "--out", b)
	first, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("equal flags gave different files")
	}
	if out := mustRun(t, "trace", "describe", a); !strings.Contains(out, "200") {
		t.Errorf("describe does not say that there are 200 jobs:\n%s", out)
	}
}

func TestVersionNamesTheEncoders(t *testing.T) {
	if out := mustRun(t, "version", "--json"); !strings.Contains(out, `"job_strategy_encoder": "job-strategy/`) {
		t.Errorf("got %s", out)
	}
}
