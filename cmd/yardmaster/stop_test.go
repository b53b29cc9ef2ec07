package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that is stopped ends with a code of its own and a last line that says so, and
// leaves no part of a file. The context has ended before each begins, so that a command
// that never looks at it is found whatever the machine's load.
func TestStoppedCommandsSaySo(t *testing.T) {
	dir := t.TempDir()
	trace, csv, out := filepath.Join(dir, "t.parquet"), filepath.Join(dir, "t.csv"), filepath.Join(dir, "out")
	mustRun(t, "trace", "synth", "--preset", "philly-like", "--horizon", "480h", "--out", trace)
	mustRun(t, "trace", "convert", trace, csv)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, line := range [][]string{
		{"bench", "--trace", trace, "--jobs", "20", "--seeds", "1", "--policies", "fifo", "--out", out},
		{"tune", "--trace", trace, "--jobs", "20", "--episodes", "1", "--policies", "density", "--out", out},
		{"simulate", "--trace", trace, "--count", "20", "--timeline", out + ".html"},
		{"trace", "import", csv, "--out", out},
		{"trace", "recognise", csv},
		{"trace", "fit", trace, "--holdout", "360h..", "--arrivals-half-life", "never", "--jobs-half-life", "never", "--out", out},
		{"perf", "verify", "--data", published(t, func(int) float64 { return 1 })},
	} {
		var stdout, stderr bytes.Buffer
		code := run(ctx, line, &stdout, &stderr)
		if want := "yardmaster: stopped before it was done: nothing was written\n"; code != exitStopped || !strings.HasSuffix(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%v: exit code %d, stderr %q, stdout %q; want %d and %q", line, code, &stderr, &stdout, exitStopped, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}
