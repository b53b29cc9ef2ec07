package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/train/eval"
)

// TestBenchStrategies compares sets of strategies in small.
func TestBenchStrategies(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "500", "--max-duration", "4h", "--out", trace)
	args := []string{
		"bench", "--trace", trace, "--cluster", "A800=8,V100=8", "--gpus-per-node", "8", "--jobs", "20", "--seeds", "3", "--load", "1.5",
		"--models", "GPT-2,LLaMA-7B", "--strategies", "all,data-parallel,best-first", "--policies", "two-stage-elastic,lp:srpt",
		"--reference", "all/two-stage-elastic",
	}
	out := mustRun(t, args...)
	for _, want := range []string{"data-parallel/lp:srpt", "makespan / reference", "3 windows of 20 jobs", "paired by seed"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	var table eval.Table
	if err := json.Unmarshal([]byte(mustRun(t, append(args, "--json")...)), &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 6 || table.Reference != "all/two-stage-elastic" {
		t.Fatalf("got %d rows and reference %q, want 6 and all/two-stage-elastic", len(table.Rows), table.Reference)
	}
	for i := range table.Rows {
		if r := &table.Rows[i]; r.Summaries[0].Jobs != 20 {
			t.Errorf("%s finished %d jobs, want 20", r.Policy, r.Summaries[0].Jobs)
		}
	}
	for name, tt := range map[string]struct{ flag, value, want string }{
		"unknown set":       {"--strategies", "some", "best-first"},
		"unknown reference": {"--reference", "fifo", "not among"},
		"unknown policy":    {"--policies", "lottery", "lottery"},
	} {
		code, _, stderr := command(t, append(args, tt.flag, tt.value)...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q; want 2 and %q", name, code, stderr, tt.want)
		}
	}
	if code, _, stderr := command(t, "bench", "--trace", trace, "--models", "GPT-5"); code != exitFailure || !strings.Contains(stderr, `unknown model "GPT-5" (perhaps GPT-2)`) {
		t.Errorf("unknown model: exit code %d, %q", code, stderr)
	}
}
