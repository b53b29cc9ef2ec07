package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/metrics"
)

func simulateTrace(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	mustRun(t, "trace", "synth", "--jobs", "60", "--inter-arrival", "10m", "--max-duration", "10h", "--out", path)
	return path
}

func TestSimulate(t *testing.T) {
	trace, dir := simulateTrace(t), t.TempDir()
	page, picture, jobs := filepath.Join(dir, "out.html"), filepath.Join(dir, "out.svg"), filepath.Join(dir, "jobs.csv")
	args := []string{"simulate", "--trace", trace, "--policy", "srtf", "--cluster", "V100=8,K80=8", "--first", "10", "--count", "40", "--load", "1.2"}
	printed := mustRun(t, append(args, "--gantt", "--timeline", page)...)
	for _, want := range []string{"V100 n0", "GPUs held", "jobs finished  40 of 40", "mean JCT"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the output lacks %q:\n%s", want, printed)
		}
	}
	var first, second simulated
	for _, r := range []*simulated{&first, &second} {
		out := mustRun(t, append(args, "--json", "--timeline", picture, "--jobs", jobs)...)
		if err := json.Unmarshal([]byte(out), r); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(first.Summary, second.Summary); diff != "" {
		t.Errorf("the same command line gives two results:\n%s", diff)
	}
	if first.Summary.Jobs != 40 || first.Rounds == 0 || first.GPUs != 16 {
		t.Errorf("got %+v, want 40 jobs on 16 GPUs", first)
	}
	if got := meanOfColumn(t, jobs, "jct_s", 40); math.Abs(got-first.Summary.MeanJCT) > 1e-9*got {
		t.Errorf("the file's mean completion time is %v s, the summary's %v s", got, first.Summary.MeanJCT)
	}
	for path, want := range map[string]string{page: "<!doctype html>", picture: "<svg "} {
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("%s does not begin with %q: %v", path, want, err)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 3 {
		t.Errorf("the folder holds %v, want three files (%v)", names, err)
	}
}

func meanOfColumn(t *testing.T, path, column string, rows int) float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil || len(records) != 1+rows {
		t.Fatalf("%d records, want %d (%v)", len(records), 1+rows, err)
	}
	sum := 0.0
	for at, name := range records[0] {
		if name != column {
			continue
		}
		for _, r := range records[1:] {
			x, err := strconv.ParseFloat(r[at], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += x
		}
	}
	return sum / float64(rows)
}

func TestSimulateSaysThatItStopped(t *testing.T) {
	trace := simulateTrace(t)
	args := []string{"simulate", "--trace", trace, "--policy", "fifo", "--cluster", "V100=8", "--max-rounds"}
	if out := mustRun(t, append(args, "40")...); !strings.Contains(out, "stopped by --max-rounds") {
		t.Errorf("unfinished jobs are not mentioned:\n%s", out)
	}
	if code, _, err := command(t, append(args, "1")...); code != exitFailure || !strings.Contains(err, "use more --max-rounds") {
		t.Errorf("no job finished: exit code %d, stderr %q; want 1 and what to do", code, err)
	}
}

// Every switch reaches the simulator: it changes the figures, or the figures show
// it.
func TestSimulateSwitches(t *testing.T) {
	trace := simulateTrace(t)
	pairs, quotas := filepath.Join(t.TempDir(), "pairs.parquet"), filepath.Join(t.TempDir(), "quotas.parquet")
	tenancy := func(rate float64) datasets.Tenancy {
		return datasets.Tenancy{Model: "ResNet-50", Batch: 16, StepsPerSecond: rate, Isolated: 1}
	}
	err := errors.Join(
		datasets.WriteColocation(pairs, &datasets.ColocationTable{Meta: datasets.Meta{Source: "test"}, Rows: []datasets.ColocationRow{
			{Source: "test", GPUType: "V100", GPUs: 1, Quality: datasets.Measured, A: tenancy(0.1), B: tenancy(0.1)},
		}}),
		datasets.WriteQuotas(quotas, &datasets.QuotaTable{Meta: datasets.Meta{Source: "test"}, Rows: []datasets.QuotaRow{
			{Source: "test", Cluster: "c", GPUs: 2, Tenant: "nobody"}, {Source: "test", Cluster: "d", GPUs: 2, Tenant: "nobody"},
		}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	figures := func(args ...string) metrics.Summary {
		t.Helper()
		out := mustRun(t, append([]string{"simulate", "--trace", trace, "--policy", "las", "--cluster", "V100=8,K80=8", "--load", "1.5", "--json"}, args...)...)
		var r simulated
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r.Summary
	}
	plain, random, shared := figures(), figures("--policy", "random"), figures("--policy", "random", "--share", "2,4")
	if shared == random {
		t.Error("--share changes nothing")
	}
	if measured := figures("--policy", "random", "--share", "2,4", "--colocation", pairs); measured == shared {
		t.Error("--colocation changes nothing")
	}
	if failing := figures("--mtbf", "20h", "--mttr", "2h", "--checkpoint", "30m"); failing.Interruptions == 0 {
		t.Error("--mtbf interrupts nothing")
	}
	if same := figures("--quotas", quotas, "--quota-cluster", "d"); same != plain {
		t.Error("quotas of a tenant without jobs change the figures")
	}
	for _, args := range [][]string{
		{"--free-restarts"},
		{"--free-placement"},
		{"--placement", "spread"},
		{"--spread-slowdown", "0.5", "--placement", "spread", "--gpus-per-node", "1"},
		{"--throughput-sigma", "0.5", "--profiling", "30m"},
	} {
		if figures(args...) == plain {
			t.Errorf("%v changes nothing", args)
		}
	}
}

func TestSimulateRefuses(t *testing.T) {
	trace := simulateTrace(t)
	for name, tt := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"no trace":       {nil, exitUsage, []string{"--trace is missing"}},
		"all at once":    {[]string{"--trace", trace, "--first", "-1", "--count", "-2", "--load", "-3", "--jobs", "200", "--timeline", "x.png"}, exitUsage, []string{"--first", "--count", "--load", "--jobs is 200", "--timeline is x.png"}},
		"unknown policy": {[]string{"--trace", trace, "--policy", "sjf"}, exitUsage, []string{"sjf", "srtf"}},
		"learned":        {[]string{"--trace", trace, "--policy", "learned"}, exitUsage, []string{"needs --run"}},
		"two outputs":    {[]string{"--trace", trace, "--gantt", "--json"}, exitUsage, []string{"--timeline"}},
		"unknown GPU":    {[]string{"--trace", trace, "--cluster", "V1000=8"}, exitFailure, []string{"V1000"}},
		"far beyond it":  {[]string{"--trace", trace, "--first", "9223372036854775807", "--count", "1"}, exitUsage, []string{"has 60 jobs"}},
		"more than all":  {[]string{"--trace", trace, "--first", "1", "--count", "9223372036854775807"}, exitUsage, []string{"has 60 jobs"}},
		"too wide":       {[]string{"--trace", trace, "--gantt", "--width", "1000000000"}, exitUsage, []string{"--width is 1000000000, want 1 to 100000"}},
		"endless rounds": {[]string{"--trace", trace, "--round", "2562047h"}, exitFailure, []string{"Round is 2562047h0m0s, want > 0 and at most 8760h"}},
		"beyond the end": {[]string{"--trace", trace, "--first", "50", "--count", "20"}, exitUsage, []string{"has 60 jobs"}},
		"switches":       {[]string{"--trace", trace, "--placement", "best", "--colocation", "x", "--quota-cluster", "c"}, exitUsage, []string{"--placement", "--share", "--quotas"}},
		"bad MTBF":       {[]string{"--trace", trace, "--mtbf", "-1h"}, exitFailure, []string{"MTBF"}},
		"no such file":   {[]string{"--trace", "nowhere.parquet"}, exitFailure, []string{"nowhere.parquet"}},
		"no such folder": {[]string{"--trace", trace, "--timeline", filepath.Join(t.TempDir(), "no", "out.html")}, exitFailure, []string{"out.html"}},
	} {
		code, out, err := command(t, append([]string{"simulate"}, tt.args...)...)
		if code != tt.code || out != "" {
			t.Errorf("%s: exit code %d, stdout %q; want %d and nothing", name, code, out, tt.code)
		}
		for _, want := range tt.want {
			if !strings.Contains(err, want) {
				t.Errorf("%s: the message does not name %q: %s", name, want, err)
			}
		}
	}
}
