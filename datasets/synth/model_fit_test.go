package synth

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	googlecmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/rng"
)

// process draws the times of submission of a tenant until the horizon.
type process func(r *rand.Rand, horizon time.Duration) []time.Duration

// poisson has a constant rate.
func poisson(perHour float64) process {
	return func(r *rand.Rand, horizon time.Duration) (times []time.Duration) {
		for at := seconds(r.ExpFloat64() / perHour * 3600); at < horizon; at += seconds(r.ExpFloat64() / perHour * 3600) {
			times = append(times, at)
		}
		return times
	}
}

// thinned keeps each time with the probability that rate says.
func thinned(p process, rate func(time.Duration) float64) process {
	return func(r *rand.Rand, horizon time.Duration) (times []time.Duration) {
		for _, at := range p(r, horizon) {
			if r.Float64() < rate(at) {
				times = append(times, at)
			}
		}
		return times
	}
}

// bursts is a cluster process: at the times of starts, a geometric number of jobs
// with the given mean, within seconds of each other.
func bursts(starts process, mean float64) process {
	return func(r *rand.Rand, horizon time.Duration) (times []time.Duration) {
		for _, at := range starts(r, horizon) {
			for {
				if at < horizon {
					times = append(times, at)
				}
				if r.Float64() < 1/mean {
					break
				}
				at += seconds(5 * r.ExpFloat64())
			}
		}
		slices.Sort(times)
		return times
	}
}

// beat submits every ten minutes, give or take a second, at all hours.
func beat(r *rand.Rand, horizon time.Duration) (times []time.Duration) {
	for at := 10 * time.Minute; at < horizon; at += 10*time.Minute + time.Duration(r.IntN(3)-1)*time.Second {
		times = append(times, at)
	}
	return times
}

// knownSizes have known shares.
var (
	knownSizes  = []int32{1, 2, 4, 8}
	knownShares = []float64{0.7, 0.1, 0.15, 0.05}
)

// known returns a table of independent jobs: sizes of known shares, durations
// log-normal with median 600 s × GPUs and σ = 1.
func known(seed uint64, horizon time.Duration, tenants map[string]process) *datasets.Jobs {
	j := &datasets.Jobs{Name: "known", Meta: datasets.Meta{Source: "known", Epoch: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}} // a Monday
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range tenants { // sorted
			if !yield(name) {
				return
			}
		}
	})
	for _, name := range names {
		r := rng.New(seed, "test/known/"+name)
		for _, at := range tenants[name](r, horizon) {
			gpus := knownSizes[pick(cumulate(knownShares), r.Float64())]
			run := seconds(600 * float64(gpus) * math.Exp(r.NormFloat64()))
			j.Rows = append(j.Rows, datasets.Row{Submit: at, GPUs: gpus, Duration: run, Tenant: name})
		}
	}
	slices.SortStableFunc(j.Rows, func(a, b datasets.Row) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range j.Rows {
		j.Rows[i].ID = int64(i) + 1
	}
	return j
}

func fitModel(t *testing.T, j *datasets.Jobs, cfg ModelConfig) *Model {
	t.Helper()
	m, err := FitModel(j, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func draw(t *testing.T, m *Model, run ModelRun) *datasets.Jobs {
	t.Helper()
	j, err := m.Generate(run)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// never forgets nothing.
var never = ModelConfig{ArrivalsHalfLife: -1, JobsHalfLife: -1}

// near fails unless got is within part of want.
func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*math.Abs(want) {
		t.Errorf("%s is %.4g, want %.4g within %g %%", what, got, want, 100*part)
	}
}

// What is generated from a fit to a Poisson process is one again: rate, variance
// of the counts, deviation of the gaps; sizes have the known shares and durations
// the known quantiles. So has a fit to what was generated.
func TestFitRecoversPoisson(t *testing.T) {
	const horizon = 60 * day
	j := known(1, horizon, map[string]process{"a": poisson(20)})
	observed := logDurations(j)
	for round := range 2 {
		m := fitModel(t, j, never)
		j = draw(t, m, ModelRun{Seed: uint64(round) + 1, Horizon: horizon})
		what := func(s string) string { return fmt.Sprintf("round %d: %s", round+1, s) }
		x := takeTraits(j)
		b := x.burstiness()
		near(t, what("rate"), b.PerHour, 20, 0.03)
		near(t, what("dispersion"), b.Dispersion, 1, 0.15)
		near(t, what("CV of gaps"), b.CV, 1, 0.03)
		near(t, what("KS distance of gaps")+" above 0", 1+ksDistance(x.gaps, func(s float64) float64 { return 1 - math.Exp(-s/180) }), 1, 0.015)
		if math.Abs(b.Persistence) > 0.1 || math.Abs(b.GapMemory) > 0.03 || math.Abs(b.Alike) > 0.03 {
			t.Errorf("round %d: correlations of counts, gaps and durations %.3f, %.3f, %.3f, want about 0", round+1, b.Persistence, b.GapMemory, b.Alike)
		}
		for k, size := range knownSizes {
			logs := logDurations(j)[k]
			near(t, what("share of size"), float64(len(logs))/float64(len(j.Rows)), knownShares[k], 0.06)
			for _, p := range []float64{0.1, 0.5, 0.9} {
				if got, want := percentile(logs, p), percentile(observed[k], p); math.Abs(got-want) > 0.1 {
					t.Errorf("round %d: %d GPUs: quantile %v of log duration %.3f, want %.3f as observed", round+1, size, p, got, want)
				}
			}
		}
	}
}

// logDurations returns the logarithms of duration/(600 s × GPUs), ascending, by size.
func logDurations(j *datasets.Jobs) (logs [4][]float64) {
	for _, r := range j.Rows {
		k := slices.Index(knownSizes, r.GPUs)
		logs[k] = append(logs[k], math.Log(r.Duration.Seconds()/600/float64(r.GPUs)))
	}
	for k := range logs {
		slices.Sort(logs[k])
	}
	return logs
}

// A cluster process: the index of dispersion of the counts of intervals that are
// long beside a burst is E[N²]/E[N], for a geometric N of mean 10 (190)/10 = 19
// (Daley and Vere-Jones, An Introduction to the Theory of Point Processes, 2003,
// section 6.3).
func TestFitRecoversBursts(t *testing.T) {
	const horizon = 120 * day
	j := known(2, horizon, map[string]process{"a": bursts(poisson(0.5), 10)})
	near(t, "dispersion observed", takeTraitsOf(j).Dispersion, 19, 0.15)
	made := takeTraitsOf(draw(t, fitModel(t, j, never), ModelRun{Seed: 1, Horizon: horizon}))
	near(t, "rate", made.PerHour, 5, 0.1)
	near(t, "dispersion", made.Dispersion, 19, 0.25)
	seen := takeTraitsOf(j)
	near(t, "CV of gaps", made.CV, seen.CV, 0.1)
}

func takeTraitsOf(j *datasets.Jobs) Burstiness {
	x := takeTraits(j)
	return x.burstiness()
}

// Hours of the day and weekdays come back, and a tenant that submits at fixed
// intervals day and night keeps doing so.
func TestFitRecoversTheClock(t *testing.T) {
	const horizon = 8 * 7 * day
	rate := func(at time.Duration) float64 {
		x := 0.5 * (1 + 0.8*math.Cos(2*math.Pi*(at.Hours()-15)/24))
		if at/(24*time.Hour)%7 >= 5 {
			x *= 0.3
		}
		return x
	}
	j := known(3, horizon, map[string]process{"people": thinned(poisson(40), rate), "program": beat})
	m := fitModel(t, j, never)
	made := draw(t, m, ModelRun{Seed: 1, Horizon: horizon})
	c, err := Compare(made, j)
	if err != nil {
		t.Fatal(err)
	}
	if c.HourOfDay > 0.03 || c.Tenants > 0.03 || c.InterArrival > 0.03 || c.Duration > 0.03 {
		t.Errorf("distances of hours, tenants, gaps, durations %.3f, %.3f, %.3f, %.3f, want at most 0.03", c.HourOfDay, c.Tenants, c.InterArrival, c.Duration)
	}
	weekend := func(j *datasets.Jobs) (share float64) {
		n := 0.0
		for _, r := range j.Rows {
			if r.Tenant == "people" {
				n++
				if r.Submit/(24*time.Hour)%7 >= 5 {
					share++
				}
			}
		}
		return share / n
	}
	near(t, "share of weekends", weekend(made), weekend(j), 0.1)
	last, gaps, even := time.Duration(-1), 0, 0
	for _, r := range made.Rows {
		if r.Tenant != "program" {
			continue
		}
		if last >= 0 {
			gaps++
			if d := r.Submit - last; d >= 599*time.Second && d <= 601*time.Second {
				even++
			}
		}
		last = r.Submit
	}
	if even < gaps*99/100 {
		t.Errorf("%d of %d gaps of the program are ten minutes, want all", even, gaps)
	}
}

// A tenant that left long ago hardly comes back, and one that came late is as busy
// as of late: rates follow what fades.
func TestForgettingFollowsTheTenants(t *testing.T) {
	const horizon = 40 * day
	until := func(p process, end time.Duration) process {
		return thinned(p, func(at time.Duration) float64 {
			if at < end {
				return 1
			}
			return 0
		})
	}
	from := func(p process, begin time.Duration) process {
		return thinned(p, func(at time.Duration) float64 {
			if at < begin {
				return 0
			}
			return 1
		})
	}
	j := known(4, horizon, map[string]process{"gone": until(poisson(30), 20*day), "new": from(poisson(10), 30*day), "steady": poisson(5)})
	count := func(cfg ModelConfig) map[string]float64 {
		perHour := make(map[string]float64)
		const seeds = 16
		m := fitModel(t, j, cfg)
		for seed := range uint64(seeds) {
			for _, r := range draw(t, m, ModelRun{Seed: seed, Horizon: horizon}).Rows {
				perHour[r.Tenant] += 1 / horizon.Hours() / seeds
			}
		}
		return perHour
	}
	quick := count(ModelConfig{ArrivalsHalfLife: 3 * day, JobsHalfLife: -1})
	near(t, "rate of the new tenant", quick["new"], 10*(1-math.Exp2(-10.0/3)), 0.2)
	near(t, "rate of the steady tenant", quick["steady"], 5, 0.1)
	if quick["gone"] > 3 {
		t.Errorf("the tenant that left submits %v jobs an hour, want few", quick["gone"])
	}
	slow := count(never)
	near(t, "rate of the new tenant, nothing forgotten", slow["new"], 2.5, 0.3)
	near(t, "rate of the one that left", slow["gone"], 15, 0.3)
}

// Jobs of one burst that are alike stay alike, and those of different ones do not.
func TestFitRecoversRepeats(t *testing.T) {
	const horizon = 60 * day
	j := known(5, horizon, map[string]process{"a": bursts(poisson(2), 10)})
	r := rng.New(5, "test/alike")
	last := -day
	run := time.Minute
	for i := range j.Rows {
		if j.Rows[i].Submit-last > 10*time.Minute {
			run = seconds(600 * math.Exp(2*r.NormFloat64()))
		}
		last = j.Rows[i].Submit
		j.Rows[i].GPUs, j.Rows[i].Duration = 1, run+time.Duration(r.IntN(10))*time.Second
	}
	seen := takeTraitsOf(j)
	made := takeTraitsOf(draw(t, fitModel(t, j, never), ModelRun{Seed: 1, Horizon: horizon}))
	if seen.Alike < 0.8 {
		t.Fatalf("the durations observed have a correlation of %v, want a strong one", seen.Alike)
	}
	near(t, "correlation of durations", made.Alike, seen.Alike, 0.1)
}

// Steps, models and batch sizes survive, also without durations.
func TestFitKeepsModels(t *testing.T) {
	table, err := Generate(Config{Jobs: 4000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		if r := &table.Rows[i]; i%2 == 0 {
			r.Steps, r.Duration, r.ReferenceGPU = 100*float64(r.Duration/time.Second), 0, ""
		}
	}
	made := draw(t, fitModel(t, table, never), ModelRun{Seed: 1, Jobs: 4000})
	kinds := func(j *datasets.Jobs) map[kindKey]bool {
		seen := make(map[kindKey]bool)
		for i := range j.Rows {
			seen[kindOf(&j.Rows[i])] = true
		}
		return seen
	}
	a, b := kinds(table), kinds(made)
	for k := range b { // order does not matter
		if !a[k] {
			t.Errorf("a job of the kind %+v, which was not observed", k)
		}
	}
	if len(b) < 100 {
		t.Errorf("%d kinds of job, want about the %d observed, of which a model keeps %d", len(b), len(a), maxKinds)
	}
}

// Rare kinds count as the nearest kept one by size.
func TestKeepKinds(t *testing.T) {
	var keys []kindKey
	var weights []float64
	for i := range 200 {
		keys = append(keys, kindKey{model: fmt.Sprint(i), gpus: 1})
		weights = append(weights, float64(200-i))
	}
	keys, weights = append(keys, kindKey{gpus: 64}), append(weights, 0.1)
	keep, home := keepKinds(keys, weights)
	if len(keep) != maxKinds || !slices.Contains(keep, 200) {
		t.Errorf("%d kinds kept, the only one of 64 GPUs among them: %v; want %d and true", len(keep), slices.Contains(keep, 200), maxKinds)
	}
	if got := keep[home[199]]; keys[got].gpus != 1 || got != 0 {
		t.Errorf("kind 199 counts as kind %d, want 0, the heaviest of one GPU", got)
	}
	for i := range keep {
		if home[keep[i]] != i {
			t.Errorf("a kept kind counts as another")
		}
	}
}

func TestFitModelRefusesBadInput(t *testing.T) {
	j := known(6, 3*day, map[string]process{"a": poisson(5)})
	once := &datasets.Jobs{Name: "once", Rows: []datasets.Row{{ID: 1, GPUs: 1, Duration: 1}, {ID: 2, GPUs: 1, Duration: 1}}}
	for name, test := range map[string]struct {
		j   *datasets.Jobs
		cfg ModelConfig
	}{
		"no jobs": {&datasets.Jobs{}, never}, "at once": {once, never}, "empty window": {j, ModelConfig{From: day, To: day}},
		"nothing in it": {j, ModelConfig{From: 5 * day, To: 6 * day}}, "backwards": {j, ModelConfig{From: 2 * day, To: day}}, "streams": {j, ModelConfig{Streams: -1}},
	} {
		if _, err := FitModel(test.j, test.cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// The same table gives the same file, whatever it is called, and the jobs that it
// was given stay as they are.
func TestFitModelIsAPureFunction(t *testing.T) {
	j := known(7, 40*day, map[string]process{"a": bursts(poisson(1), 5), "b": poisson(3)})
	before := slices.Clone(j.Rows)
	a, b := fitModel(t, j, ModelConfig{}), fitModel(t, j, ModelConfig{})
	if !bytes.Equal(a.Encode(), b.Encode()) {
		t.Error("two fits differ")
	}
	if diff := googlecmp.Diff(before, j.Rows); diff != "" {
		t.Errorf("the fit changed the jobs:\n%s", diff)
	}
}
