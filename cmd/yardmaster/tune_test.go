package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/tune"
)

// TestTuneForBench tunes in small and takes the file to the benchmark.
func TestTuneForBench(t *testing.T) {
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "jobs.parquet"), filepath.Join(dir, "tuned.yaml")
	mustRun(t, "trace", "synth", "--jobs", "500", "--max-duration", "4h", "--out", trace)
	setting := []string{"--trace", trace, "--cluster", "V100=4,K80=4", "--jobs", "20"}
	tuneArgs := append([]string{"tune", "--policies", "two-stage-elastic,density", "--episodes", "2", "--evaluations", "8", "--out", out}, setting...)
	printed := mustRun(t, tuneArgs...)
	for _, want := range []string{"two-stage-elastic", "density", "gamma", "compare on others"} {
		if !strings.Contains(printed, want) {
			t.Errorf("tune printed no %q:\n%s", want, printed)
		}
	}
	first, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, tuneArgs...)
	second, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("the same flags gave two files:\n%s\n%s", first, second)
	}
	tuned, err := tune.ReadTuned(strings.NewReader(string(first)))
	if err != nil {
		t.Fatal(err)
	}
	if p := tuned.Provenance; p.Cluster != "V100=4,K80=4" || p.Knowledge != "estimate" || p.TraceHash == "" || p.Episodes != 2 {
		t.Errorf("provenance is %+v", p)
	}
	name := "density@" + out
	var table eval.Table
	benchArgs := append([]string{"bench", "--policies", "density," + name, "--reference", name, "--seeds", "2", "--json"}, setting...)
	if err := json.Unmarshal([]byte(mustRun(t, benchArgs...)), &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 2 || table.Reference != name || table.Rows[0].Versus == nil {
		t.Errorf("bench has %d rows, reference %q, want 2 compared with %q", len(table.Rows), table.Reference, name)
	}
}

func TestTuneErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no jobs":           {[]string{"tune"}, "--trace (or --run) is missing"},
		"both":              {[]string{"tune", "--trace", "a", "--run", "b"}, "give one of them"},
		"nothing to tune":   {[]string{"tune", "--trace", "a", "--policies", "fifo"}, "fifo has no numbers"},
		"twice":             {[]string{"tune", "--trace", "a", "--policies", "density,two-stage,density"}, "density is named twice"},
		"played twice":      {[]string{"bench", "--trace", "a", "--policies", "fifo,srtf,fifo"}, "fifo is named twice"},
		"unknown objective": {[]string{"tune", "--trace", "a", "--minimise", "speed"}, `no objective "speed"`},
		"no bench":          {[]string{"bench"}, "--trace (or --run) is missing"},
	} {
		code, stdout, stderr := command(t, tt.args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want 2, nothing and %q", name, code, stdout, stderr, tt.want)
		}
	}
}
