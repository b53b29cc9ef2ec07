package datasets

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// fixedSpeeds is a performance model small enough to check by hand: a model
// does speed × GPUs steps/s on a type.
type fixedSpeeds struct {
	models map[string]float64 // steps/s on one GPU of speed 1
	types  map[string]float64 // relative speed
	most   map[string]int     // most GPUs of a model, absent is no limit
}

func speeds() fixedSpeeds {
	return fixedSpeeds{
		models: map[string]float64{"small": 10, "large": 1, "single": 4},
		types:  map[string]float64{"fast": 2, "slow": 1},
		most:   map[string]int{"single": 1},
	}
}

func (f fixedSpeeds) Throughput(model string, batch int, gpuType string, gpus, nodes int) (float64, error) {
	speed, ok := f.types[gpuType]
	if !ok {
		return 0, fmt.Errorf("%w %q, have fast, slow", perf.ErrUnknownGPU, gpuType)
	}
	rate, ok := f.models[model]
	if !ok {
		return 0, fmt.Errorf("%w %q, have large, single, small", perf.ErrUnknownModel, model)
	}
	if most, limited := f.most[model]; limited && gpus > most {
		return 0, fmt.Errorf("%w for %s on %d GPUs", perf.ErrNoStrategy, model, gpus)
	}
	return rate * speed * float64(gpus), nil
}

func (f fixedSpeeds) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	var out []env.Strategy
	for t, n := range c.Capacity() {
		if j.GPUs > n {
			continue
		}
		throughput, err := f.Throughput(j.Model, j.Batch, c.Types[t].Name, j.GPUs, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, env.Strategy{Type: t, GPUs: j.GPUs, Nodes: 1, Throughput: throughput})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w for %d GPUs", perf.ErrNoStrategy, j.GPUs)
	}
	return out, nil
}

// testCluster has 4 fast and 8 slow GPUs.
func testCluster() env.Cluster {
	return env.Cluster{
		Types: []env.GPUType{{Name: "fast"}, {Name: "slow"}},
		Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 1, GPUs: 4}, {Type: 1, GPUs: 4}},
	}
}

func TestResolveWorkAndDefaults(t *testing.T) {
	j := &Jobs{Name: "t", Rows: []Row{
		{ID: 1, GPUs: 2, Duration: 10 * time.Second, Model: "small", Batch: 3},                                                                                              // on fast: 40 steps/s
		{ID: 2, GPUs: 2, Duration: 10 * time.Second, Model: "small", Batch: 3, ReferenceGPU: "slow"},                                                                        // 20 steps/s
		{ID: 3, Submit: time.Second, GPUs: 1, Steps: 7, Duration: time.Hour, Model: "large", Batch: 1, Tenant: "x", Weight: 2, Deadline: time.Minute, ReferenceGPU: "slow"}, // steps win
	}}
	got, report, err := Resolve(j, speeds(), ResolveConfig{Cluster: testCluster()})
	if err != nil {
		t.Fatal(err)
	}
	want := []env.Job{
		{ID: 1, Model: "small", Batch: 3, GPUs: 2, Work: 400, Weight: 1},
		{ID: 2, Model: "small", Batch: 3, GPUs: 2, Work: 200, Weight: 1},
		{ID: 3, Model: "large", Batch: 1, GPUs: 1, Work: 7, Weight: 2, Submit: time.Second, Tenant: "x", Deadline: time.Minute},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Report{Read: 3, Kept: 3, Dropped: []Count{}}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestResolveDropsAndCounts(t *testing.T) {
	choices := []ModelChoice{{"single", 1}}
	j := &Jobs{Rows: []Row{
		{ID: 1, GPUs: 9, Duration: time.Second, Model: "small", Batch: 1},  // more than either type has
		{ID: 2, GPUs: 2, Duration: time.Second, Model: "single", Batch: 1}, // not on any type
		{ID: 3, GPUs: 2, Duration: time.Second},                            // no choice fits
		{ID: 4, GPUs: 1, Duration: time.Hour, Model: "small", Batch: 1},    // too long
		{ID: 5, GPUs: 1, Steps: 20*59 + 0.5, Model: "small", Batch: 1},     // 59.025 s
		{ID: 6, GPUs: 8, Duration: time.Second, Model: "small", Batch: 1},  // on slow only
		{ID: 7, GPUs: 1, Steps: 20 * 3600, Model: "small", Batch: 1},       // too long, in steps
	}}
	got, report, err := Resolve(j, speeds(), ResolveConfig{Cluster: testCluster(), Models: choices, MaxDuration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, job := range got {
		ids = append(ids, job.ID)
	}
	if diff := cmp.Diff([]int64{5, 6}, ids); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	want := Report{Read: 7, Kept: 2, Dropped: []Count{{dropNoStrategy, 2}, {dropTooLong, 2}, {dropReference, 1}}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got, want := report.String(), "7 rows read, 2 kept, dropped: 2 fits no GPU type of the cluster, 2 longer than the maximum duration, 1 does not fit the reference GPU type"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestResolveNamesUnknownNames(t *testing.T) {
	tests := []struct {
		name string
		row  Row
		want RowError
	}{
		{"GPU type", Row{ID: 2, GPUs: 1, Duration: 1, Model: "small", Batch: 1, ReferenceGPU: "TPU"}, RowError{Row: 2, Column: "reference_gpu", Value: `"TPU"`, Fix: "have fast, slow"}},
		{"model", Row{ID: 2, GPUs: 1, Duration: 1, Model: "huge", Batch: 1}, RowError{Row: 2, Column: "model", Value: `"huge"`, Fix: "have large, single, small"}},
		{"no model and no choice", Row{ID: 2, GPUs: 1, Duration: 1}, RowError{Row: 2, Column: "model", Value: "null", Fix: "draw from"}},
		{"no batch and no choice", Row{ID: 2, GPUs: 1, Duration: 1, Model: "small"}, RowError{Row: 2, Column: "batch", Value: "null", Fix: "model small"}},
		{"batch without model", Row{ID: 2, GPUs: 1, Duration: 1, Batch: 9}, RowError{Row: 2, Column: "model", Value: "null", Fix: "batch 9"}},
		{"bad row", Row{ID: 2, GPUs: 0, Duration: 1}, RowError{Row: 2, Column: "gpus", Value: "0", Fix: "want 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := &Jobs{Name: "trace.parquet", Rows: []Row{{ID: 1, GPUs: 1, Duration: 1, Model: "small", Batch: 1}, test.row}}
			_, _, err := Resolve(j, speeds(), ResolveConfig{Cluster: testCluster()})
			checkRowError(t, err, "trace.parquet", test.want)
		})
	}
}

func TestResolveConfigReportsEverything(t *testing.T) {
	_, _, err := Resolve(example(), speeds(), ResolveConfig{Models: []ModelChoice{{"", 1}, {"small", 0}}, MaxDuration: -1})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 { // the cluster's are one
		t.Errorf("got %v, want the cluster, two models and the duration", err)
	}
}

// A job's model does not depend on what part of the trace is loaded.
func TestResolveDrawsByJobAlone(t *testing.T) {
	choices := []ModelChoice{{"small", 1}, {"large", 2}, {"single", 3}, {"small", 4}}
	rapid.Check(t, func(t *rapid.T) {
		j := &Jobs{}
		for i := range rapid.IntRange(2, 60).Draw(t, "rows") {
			j.Rows = append(j.Rows, Row{ID: int64(i), GPUs: rapid.Int32Range(1, 10).Draw(t, "gpus"), Duration: time.Hour})
		}
		cfg := ResolveConfig{Cluster: testCluster(), Models: choices, Seed: rapid.Uint64().Draw(t, "seed")}
		whole, report, err := Resolve(j, speeds(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if dropped := report.Read - report.Kept; dropped != sumOf(report.Dropped) {
			t.Fatalf("report %+v does not add up", report)
		}
		byID := make(map[int64]env.Job)
		for _, job := range whole {
			if job.GPUs > 1 && job.Model == "single" {
				t.Fatalf("job %+v got a model that does not fit", job)
			}
			byID[job.ID] = job
		}
		from := rapid.IntRange(0, len(j.Rows)-1).Draw(t, "from")
		part, _, err := Resolve(&Jobs{Rows: j.Rows[from:]}, speeds(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range part {
			if diff := cmp.Diff(byID[job.ID], job); diff != "" {
				t.Fatalf("job %d differs in a part (-whole +part):\n%s", job.ID, diff)
			}
		}
	})
}

func sumOf(counts []Count) int {
	n := 0
	for _, c := range counts {
		n += c.Rows
	}
	return n
}

func TestResolveDrawsEvenlyAndBySeed(t *testing.T) {
	choices := []ModelChoice{{"small", 1}, {"large", 2}, {"single", 3}}
	j := &Jobs{}
	const n = 30_000
	for i := range n {
		j.Rows = append(j.Rows, Row{ID: int64(i), GPUs: 1, Duration: time.Hour})
	}
	drawn := func(seed uint64) []env.Job {
		jobs, _, err := Resolve(j, speeds(), ResolveConfig{Cluster: testCluster(), Models: choices, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	a, b := drawn(1), drawn(2)
	counts := make(map[string]int)
	same := 0
	for i := range a {
		counts[a[i].Model]++
		if a[i].Model == b[i].Model {
			same++
		}
	}
	// Five standard deviations of a binomial count of probability 1/3.
	tolerance := 5 * math.Sqrt(n*2.0/9)
	for _, c := range choices {
		if got := float64(counts[c.Model]); math.Abs(got-n/3) > tolerance {
			t.Errorf("model %s was drawn %v times of %d, want a third", c.Model, got, n)
		}
	}
	if math.Abs(float64(same)-n/3) > tolerance {
		t.Errorf("seeds 1 and 2 agree on %d of %d jobs, want a third", same, n)
	}
}

// The real performance model satisfies the interface, and its errors are the
// ones that Resolve tells apart.
func TestResolveWithThePerformanceModel(t *testing.T) {
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=8,K80=8", 4)
	if err != nil {
		t.Fatal(err)
	}
	row := Row{ID: 1, GPUs: 2, Duration: time.Hour, Model: "ResNet-50", Batch: 32, ReferenceGPU: "V100"}
	jobs, _, err := Resolve(&Jobs{Rows: []Row{row}}, p, ResolveConfig{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	throughput, err := p.Throughput("ResNet-50", 32, "V100", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := jobs[0].Work, 3600*throughput; math.Abs(got-want) > 1e-9*want {
		t.Errorf("got work %v, want %v", got, want)
	}
	for column, edit := range map[string]func(*Row){
		"model":         func(r *Row) { r.Model = "no such model" },
		"reference_gpu": func(r *Row) { r.ReferenceGPU = "no such GPU" },
	} {
		bad := row
		edit(&bad)
		_, _, err := Resolve(&Jobs{Rows: []Row{bad}}, p, ResolveConfig{Cluster: cluster})
		if e, ok := errors.AsType[*RowError](err); !ok || e.Column != column || e.Row != 1 {
			t.Errorf("got %v, want a RowError for column %s", err, column)
		}
	}
	row.GPUs = 64
	if _, report, err := Resolve(&Jobs{Rows: []Row{row}}, p, ResolveConfig{Cluster: cluster}); err != nil || report.Kept != 0 {
		t.Errorf("64 GPUs on a cluster of 16: got %+v, %v, want it dropped", report, err)
	}
}

// How jobs ended changes nothing of what a simulator is given, and so of what a policy
// is told, whatever it knows of durations.
func TestResolveDoesNotTellHowJobsEnd(t *testing.T) {
	rows := []Row{
		{ID: 1, GPUs: 1, Duration: time.Hour, Status: "Pass"},
		{ID: 2, GPUs: 2, Duration: time.Minute, Status: "Failed"},
		{ID: 3, GPUs: 1, Duration: time.Hour, Status: "Killed"},
		{ID: 4, GPUs: 1, Duration: time.Hour},
	}
	cfg := ResolveConfig{Cluster: testCluster(), Models: []ModelChoice{{"small", 1}, {"large", 2}}, Seed: 3}
	told, _, err := Resolve(&Jobs{Rows: rows}, speeds(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i].Status = ""
	}
	blind, _, err := Resolve(&Jobs{Rows: rows}, speeds(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(blind, told); diff != "" {
		t.Errorf("jobs of a table without statuses and with them:\n%s", diff)
	}
}
