package synth

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// observed returns n jobs with a daily cycle of arrivals and work that depends
// on the model, submitted in [0, span).
func observed(seed uint64, n int, span time.Duration) []env.Job {
	r := rng.New(seed, "test/observed")
	jobs := make([]env.Job, n)
	for i := range jobs {
		var at time.Duration
		for {
			at = time.Duration(r.Float64() * float64(span))
			if hour := hourOf(at); hour >= 8 && hour < 20 || r.Float64() < 0.2 {
				break
			}
		}
		model, scale := "a", 100.0
		if r.Float64() < 0.3 {
			model, scale = "b", 1e6
		}
		jobs[i] = env.Job{
			ID: int64(i + 1), Model: model, Batch: 1 + r.IntN(2), GPUs: 1 << r.IntN(4), Work: scale * math.Exp(r.NormFloat64()),
			Submit: at, Tenant: fmt.Sprint("t", r.IntN(3)), Weight: 1,
		}
	}
	slices.SortFunc(jobs, func(a, b env.Job) int { return int(a.Submit - b.Submit) })
	return jobs
}

func fit(t *testing.T, jobs []env.Job, cfg FitConfig) *Workload {
	t.Helper()
	w, err := Fit(jobs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func future(t *testing.T, w *Workload, seed uint64, from, horizon time.Duration) []env.Job {
	t.Helper()
	jobs, err := w.Generate(seed, from, horizon)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// What is generated looks like what was observed: the number and the hours of
// arrivals, the joint shares of model, batch, GPUs and tenant, and work.
func TestFitThenGenerateKeepsTheStatistics(t *testing.T) {
	const span = 10 * day
	jobs := observed(1, 3000, span)
	w := fit(t, jobs, FitConfig{To: span})
	got := future(t, w, 1, span, 100*day)

	if mean := float64(len(got)) / 100; math.Abs(mean-300) > 5*math.Sqrt(300.0/100) {
		t.Errorf("%v jobs a day, want about 300", mean)
	}
	kind := func(j *env.Job) string { return fmt.Sprint(j.Model, j.Batch, j.GPUs, j.Tenant) }
	before, after := make(map[string]float64), make(map[string]float64)
	daytime := func(js []env.Job) (share float64) {
		for i := range js {
			if h := hourOf(js[i].Submit); h >= 8 && h < 20 {
				share += 1 / float64(len(js))
			}
		}
		return share
	}
	for i := range jobs {
		before[kind(&jobs[i])]++
	}
	for i := range got {
		after[kind(&got[i])]++
	}
	for k, n := range before {
		want := n / float64(len(jobs)) * float64(len(got))
		if math.Abs(after[k]-want) > 5*math.Sqrt(want) {
			t.Errorf("%v jobs of kind %s, want about %.0f", after[k], k, want)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d kinds of job, want the %d that were observed", len(after), len(before))
	}
	if a, b := daytime(jobs), daytime(got); math.Abs(a-b) > 0.03 {
		t.Errorf("%.3f of the jobs arrive in the daytime, want about %.3f", b, a)
	}
}

func TestSmoothingKeepsTheMeanAndSpread(t *testing.T) {
	jobs := observed(2, 2000, 10*day)
	w := fit(t, jobs, FitConfig{To: 10 * day})
	if w.bandwidth < 0.05 || w.bandwidth > 0.4 {
		t.Errorf("bandwidth %v, want about 0.9·2000^-0.2 = 0.2", w.bandwidth)
	}
	got := future(t, w, 2, 0, 100*day)
	for _, model := range []string{"a", "b"} {
		works := func(js []env.Job) (x, log []float64) {
			for _, j := range js {
				if j.Model == model {
					x = append(x, j.Work)
					log = append(log, math.Log(j.Work))
				}
			}
			return x, log
		}
		x, logX := works(jobs)
		y, logY := works(got)
		if a, b := stat.Mean(x, nil), stat.Mean(y, nil); math.Abs(a-b) > 5*stat.StdDev(y, nil)/math.Sqrt(float64(len(y))) {
			t.Errorf("model %s: mean work %v, want about %v", model, b, a)
		}
		want := math.Hypot(stat.StdDev(logX, nil), w.bandwidth)
		if s := stat.StdDev(logY, nil); math.Abs(s-want) > 0.02 {
			t.Errorf("model %s: deviation of log work %v, want about %v", model, s, want)
		}
		slices.Sort(logX)
		slices.Sort(logY)
		if d := stat.KolmogorovSmirnov(logX, nil, logY, nil); d > 0.05 {
			t.Errorf("model %s: KS distance of work %v, want at most 0.05", model, d)
		}
	}
}

func TestWithoutSmoothingOnlyObservedWorkAppears(t *testing.T) {
	jobs := observed(3, 50, day)
	w := fit(t, jobs, FitConfig{To: day, Bandwidth: -1})
	seen := make(map[float64]bool)
	for _, j := range jobs {
		seen[j.Work] = true
	}
	for _, j := range future(t, w, 3, day, 10*day) {
		if !seen[j.Work] {
			t.Fatalf("work %v was never observed", j.Work)
		}
	}
}

func TestFuturesAreValidAndApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := observed(rapid.Uint64().Draw(t, "data"), rapid.IntRange(2, 60).Draw(t, "n"), time.Duration(rapid.Int64Range(int64(time.Hour), int64(5*day)).Draw(t, "span")))
		if rapid.Bool().Draw(t, "deadlines") {
			for i := range jobs {
				jobs[i].Deadline = jobs[i].Submit + time.Minute
			}
		}
		w, err := Fit(jobs, FitConfig{})
		if err != nil {
			t.Fatal(err)
		}
		from := time.Duration(rapid.Int64Range(0, int64(10*day)).Draw(t, "from"))
		horizon := time.Duration(rapid.Int64Range(0, int64(2*day)).Draw(t, "horizon"))
		got, err := w.Generate(rapid.Uint64().Draw(t, "seed"), from, horizon)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			j := &got[i]
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			if j.Submit < from || j.Submit >= from+horizon {
				t.Fatalf("job %d arrives at %v, outside %v + %v", j.ID, j.Submit, from, horizon)
			}
			if i > 0 && (j.Submit < got[i-1].Submit || j.ID <= got[i-1].ID) {
				t.Fatalf("job %d is out of order", j.ID)
			}
			if j.ID <= int64(len(jobs)) {
				t.Fatalf("job %d has the ID of an observed job", j.ID)
			}
			if j.Deadline != 0 && j.Deadline-j.Submit != time.Minute {
				t.Fatalf("job %d has the slack %v, want that of an observed job", j.ID, j.Deadline-j.Submit)
			}
		}
	})
}

// The same seed takes the same uniform numbers whatever was fitted: job k is
// at the same quantile of the observed jobs, and gaps scale with the rate.
func TestFuturesShareRandomNumbers(t *testing.T) {
	jobs := observed(4, 400, day)
	scaled := slices.Clone(jobs)
	for i := range scaled {
		scaled[i].Work *= 1000
	}
	a := future(t, fit(t, jobs, FitConfig{To: day}), 5, day, day)
	b := future(t, fit(t, scaled, FitConfig{To: day}), 5, day, day)
	if len(a) != len(b) {
		t.Fatalf("%d and %d jobs, want as many", len(a), len(b))
	}
	for i := range a {
		if got := b[i].Work / a[i].Work; math.Abs(got-1000) > 1e-6 || a[i].GPUs != b[i].GPUs || a[i].Submit != b[i].Submit {
			t.Fatalf("job %d: %+v and %+v, want the same at 1000 times the work", i, a[i], b[i])
		}
	}
	// Twice the jobs in the same time: the first gaps halve.
	twice := slices.Concat(jobs, jobs)
	slices.SortStableFunc(twice, func(a, b env.Job) int { return int(a.Submit - b.Submit) })
	for i := range twice {
		twice[i].ID = int64(i + 1)
	}
	c := future(t, fit(t, twice, FitConfig{To: day}), 5, day, day)
	for i := range min(len(a), len(c), 100) {
		x, y := (a[i].Submit - day).Seconds(), (c[i].Submit - day).Seconds()
		if math.Abs(x-2*y) > 1e-6*(1+x) {
			t.Fatalf("job %d arrives after %v s and %v s, want half", i, x, y)
		}
		if a[i].GPUs != c[i].GPUs || a[i].Model != c[i].Model {
			t.Fatalf("job %d: %+v and %+v, want the same quantile", i, a[i], c[i])
		}
	}
}

func TestGenerateFutureIsAPureFunction(t *testing.T) {
	w := fit(t, observed(6, 200, 3*day), FitConfig{To: 3 * day})
	a, b := future(t, w, 7, day, day), future(t, w, 7, day, day)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if cmp.Equal(a, future(t, w, 8, day, day)) {
		t.Error("another seed gave the same future")
	}
	// A longer horizon begins with the shorter one.
	if diff := cmp.Diff(a, future(t, w, 7, day, 2*day)[:len(a)]); diff != "" {
		t.Errorf("two days do not begin with one:\n%s", diff)
	}
}

func TestProfileFollowsTheHours(t *testing.T) {
	jobs := observed(7, 20_000, 20*day)
	p := fitProfile(jobs, 0, 20*day, true)
	night, noon := p[3], p[12]
	if ratio := noon / night; ratio < 4.5 || ratio > 5.5 { // thinned to a fifth
		t.Errorf("rates %v at noon and %v at night: ratio %v, want about 5", noon, night, ratio)
	}
	if mean := p.mean() * 24 * 20; math.Abs(mean-20_000) > 1e-6 {
		t.Errorf("the profile expects %v jobs, want 20000", mean)
	}
}

// The walk through the profile is the inverse of its integral, added up here
// in small steps.
func TestClockAgainstSmallSteps(t *testing.T) {
	p := fitProfile(observed(8, 1000, 4*day), 0, 4*day, true)
	c := p.start(90 * time.Minute)
	at, area := 90*time.Minute, 0.0
	for _, target := range []float64{0.001, 0.5, 3, 20, 150} {
		got := c.advance(target)
		goal := area + target
		for area < goal {
			area += p[hourOf(at)] / 3600
			at += time.Second
		}
		if d := (got - at).Seconds(); math.Abs(d) > 2 {
			t.Errorf("advance by %v arrivals: %v, want %v", target, got, at)
		}
		area = goal // the sum overshoots by less than a step
		at = got
	}
}

func TestFitRefusesBadInput(t *testing.T) {
	jobs := observed(9, 10, day)
	invalid := slices.Clone(jobs)
	invalid[4].Work = math.NaN()
	tests := map[string]struct {
		jobs []env.Job
		cfg  FitConfig
	}{
		"no jobs": {nil, FitConfig{}}, "empty window": {jobs, FitConfig{From: day, To: day}},
		"job outside": {jobs, FitConfig{From: 0, To: time.Minute}}, "invalid job": {invalid, FitConfig{To: day}},
	}
	for name, test := range tests {
		if _, err := Fit(test.jobs, test.cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	w := fit(t, jobs, FitConfig{})
	for _, span := range [][2]time.Duration{{-1, day}, {0, -1}, {0, math.MaxInt64}, {math.MaxInt64, day}} {
		if _, err := w.Generate(1, span[0], span[1]); err == nil {
			t.Errorf("generate from %v for %v: got no error", span[0], span[1])
		}
	}
}

func TestFitOneJob(t *testing.T) {
	one := observed(10, 1, day)
	if _, err := Fit(one, FitConfig{}); err == nil {
		t.Error("one job without a window has no rate, want an error")
	}
	w := fit(t, one, FitConfig{From: one[0].Submit, To: one[0].Submit + time.Hour})
	if w.Rate() != 1 {
		t.Errorf("one job in an hour: rate %v, want 1", w.Rate())
	}
	if w.bandwidth != 0 {
		t.Errorf("one job: bandwidth %v, want 0", w.bandwidth)
	}
	if _, err := w.Generate(1, 0, datasets.MaxTime*2); err == nil {
		t.Error("a horizon of two centuries: got no error")
	}
}

func TestNormalQuantile(t *testing.T) {
	for u, want := range map[float64]float64{0.5: 0, 0.975: 1.959963984540054, 0.1: -1.2815515655446004} {
		if got := normalQuantile(u); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %v: got %v, want %v", u, got, want)
		}
	}
	for _, u := range []float64{0, math.Nextafter(1, 0)} {
		if got := normalQuantile(u); math.IsInf(got, 0) || math.IsNaN(got) {
			t.Errorf("quantile %v: got %v, want a finite number", u, got)
		}
	}
}
