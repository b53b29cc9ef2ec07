package synth

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/perf"
)

func smallModel(t *testing.T) *Model {
	t.Helper()
	m, err := ReadModel(strings.NewReader(small), "small")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModelGenerateIsAPureFunction(t *testing.T) {
	m, err := PresetModel(PresetPhilly)
	if err != nil {
		t.Fatal(err)
	}
	run := ModelRun{Seed: 7, Horizon: 20 * day}
	a, b := draw(t, m, run), draw(t, m, run)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if draw(t, m, ModelRun{Seed: 8, Horizon: 20 * day}).Hash() == a.Hash() {
		t.Error("another seed gave the same jobs")
	}
	// A longer run begins with the shorter one, whatever ends it.
	longer := draw(t, m, ModelRun{Seed: 7, Horizon: 30 * day})
	if diff := cmp.Diff(a.Rows, longer.Rows[:len(a.Rows)]); diff != "" {
		t.Errorf("30 days do not begin with 20:\n%s", diff)
	}
	for _, n := range []int{1, 100, 2000} {
		counted := draw(t, m, ModelRun{Seed: 7, Jobs: n})
		if diff := cmp.Diff(a.Rows[:n], counted.Rows); diff != "" {
			t.Errorf("%d jobs are not the first of 20 days:\n%s", n, diff)
		}
	}
	both := draw(t, m, ModelRun{Seed: 7, Jobs: 50, Horizon: 20 * day})
	if diff := cmp.Diff(a.Rows[:50], both.Rows); diff != "" {
		t.Errorf("50 jobs in at most 20 days:\n%s", diff)
	}
}

// Pinned so that a change of the generator is noticed: it changes every experiment
// that names a seed.
func TestModelGenerateGolden(t *testing.T) {
	type row struct {
		Submit, Run time.Duration
		GPUs        int32
	}
	var got []row
	for _, r := range draw(t, smallModel(t), ModelRun{Seed: 42, Jobs: 4}).Rows {
		got = append(got, row{r.Submit, r.Duration, r.GPUs})
	}
	want := []row{
		{3*time.Minute + 30*time.Second, 3*time.Minute + 54*time.Second, 2},
		{4*time.Minute + 14*time.Second, 13*time.Minute + 7*time.Second, 2},
		{14*time.Minute + 23*time.Second, 5*time.Minute + 1*time.Second, 2},
		{16*time.Minute + 17*time.Second, 7*time.Minute + 58*time.Second, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// At time 0 the process is under way: the first hour has as many jobs as any other,
// on average over seeds.
func TestGenerationStartsInTheMiddle(t *testing.T) {
	m, err := PresetModel(PresetPhilly)
	if err != nil {
		t.Fatal(err)
	}
	m.Clock.ByHour, m.Clock.ByWeekday = nil, nil
	const seeds = 150
	first, rest := 0.0, 0.0
	for seed := range uint64(seeds) {
		// Not by Generate: half a day without a job is an error there.
		rows, err := m.merge(ModelRun{Seed: seed}, time.Time{}, 12*time.Hour, maxGenerated)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Submit < time.Hour {
				first += 1.0 / seeds
			} else {
				rest += 1.0 / seeds / 11
			}
		}
	}
	near(t, "jobs in the first hour", first, rest, 0.25)
}

// The long-run shares of the classes are those of the chain: solved by hand for two
// classes, π₁ = 0.1/(0.5 + 0.1).
func TestChainHasItsStationaryShares(t *testing.T) {
	m := smallModel(t)
	w := newWalk(m, 0, 1, newCalendar(&m.Clock, time.Time{}, time.UTC))
	w.begin()
	n := 0.0
	const steps = 100_000
	for range steps {
		w.gap()
		if w.class == 0 {
			n++
		}
	}
	near(t, "share of the first class", n/steps, 0.1/0.6, 0.03)
}

func TestModelGenerateRefuses(t *testing.T) {
	m := smallModel(t)
	for name, run := range map[string]ModelRun{
		"neither": {}, "negative jobs": {Jobs: -1}, "too many jobs": {Jobs: maxGenerated + 1}, "negative horizon": {Horizon: -1},
		"a century": {Horizon: datasets.MaxTime}, "no job": {Horizon: time.Nanosecond},
	} {
		if _, err := m.Generate(run); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	// The bound on the jobs of a horizon, here 1000 of them.
	if _, err := m.merge(ModelRun{Horizon: 365 * day}, time.Time{}, 365*day, 1000); err == nil || !strings.Contains(err.Error(), "more than 1000 jobs") {
		t.Errorf("a year: got the error %v, want one of more than 1000 jobs", err)
	}
}

// A generated table says where it comes from and is written and read.
func TestModelGenerateProvenance(t *testing.T) {
	j := known(1, 10*day, map[string]process{"a": poisson(3)})
	j.Meta.Licence, j.Meta.SourceSHA256, j.Meta.Zone = "CC-BY-4.0", "abc", "UTC"
	m := fitModel(t, j, ModelConfig{From: day, To: 8 * day})
	made := draw(t, m, ModelRun{Seed: 3, Horizon: 5 * day})
	if want := j.Meta.Epoch.Add(8 * day); !made.Meta.Epoch.Equal(want) {
		t.Errorf("time 0 is %v, want the end of the fit, %v", made.Meta.Epoch, want)
	}
	if made.Meta.Licence != "CC-BY-4.0" || made.Meta.SourceSHA256 != "abc" || made.Meta.Seed != 3 || !strings.Contains(made.Meta.Generator, j.Hash()) {
		t.Errorf("metadata %+v does not say what it was made from", made.Meta)
	}
	path := t.TempDir() + "/made.parquet"
	if err := datasets.Write(path, made); err != nil {
		t.Fatal(err)
	}
	back, err := datasets.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if back.Hash() != made.Hash() {
		t.Error("the table read back has other jobs")
	}
}

// Every preset that is a file is valid and reads without loss, names its source,
// and its jobs resolve on a cluster of the GPUs that it names.
func TestPresets(t *testing.T) {
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]string{PresetPhilly: "V100=256,P100=256", PresetLLM: "A100-80=1024"} {
		m, err := PresetModel(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(m.Source.Title, "preset "+name) || m.Source.Licence == "" {
			t.Errorf("preset %s has the source %+v", name, m.Source)
		}
		made := draw(t, m, ModelRun{Seed: 1, Jobs: 500})
		cluster, err := perf.Default().ParseCluster(spec, 8)
		if err != nil {
			t.Fatal(err)
		}
		_, report, err := datasets.Resolve(made, p, datasets.ResolveConfig{Cluster: cluster, Models: []datasets.ModelChoice{{Model: "ResNet-50", Batch: 64}}})
		if err != nil {
			t.Fatal(err)
		}
		if report.Kept != report.Read {
			t.Errorf("preset %s: %s, want nothing dropped", name, report)
		}
	}
	if _, err := PresetModel(PresetGavel); err == nil {
		t.Error("gavel has no workload file, want an error")
	}
	if _, err := PresetModel("other"); err == nil || !strings.Contains(err.Error(), "gavel, llm, philly-like") {
		t.Errorf("an unknown preset: got the error %v, want one that lists them", err)
	}
}

// Pretraining is few of the jobs and most of the work, on many GPUs.
func TestPresetLLM(t *testing.T) {
	m, err := PresetModel(PresetLLM)
	if err != nil {
		t.Fatal(err)
	}
	jobs, work, all := 0.0, 0.0, 0.0
	made := draw(t, m, ModelRun{Seed: 1, Horizon: 2 * 365 * day})
	for _, r := range made.Rows {
		hours := float64(r.GPUs) * r.Duration.Hours()
		all += hours
		if r.Tenant == "pretraining" {
			jobs++
			work += hours
			if r.GPUs < 64 || hours > 82_432*1.001 {
				t.Errorf("a pretraining job on %d GPUs takes %.0f GPU-hours, want at least 64 and at most 82432", r.GPUs, hours)
			}
		}
	}
	if share := jobs / float64(len(made.Rows)); math.Abs(share-0.06) > 0.015 {
		t.Errorf("%.3f of the jobs are pretraining, want about 0.06", share)
	}
	if share := work / all; share < 0.92 || share > 0.98 {
		t.Errorf("pretraining takes %.3f of the GPU time, want about 0.95", share)
	}
}
