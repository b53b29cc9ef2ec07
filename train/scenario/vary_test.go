package scenario

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/envtest"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/eval"
)

// vary loads a small scenario with this variation.
func vary(t testing.TB, v Vary) *Loaded {
	t.Helper()
	l, err := Load(Scenario{Trace: writeTrace(t, 600), Jobs: 20, Cluster: "V100=8,P100=16", Knowledge: env.Estimate, Vary: v})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func episode(t testing.TB, l *Loaded, seed uint64) (sim.Config, []env.Job) {
	t.Helper()
	cfg, err := l.Episode(seed)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := cfg.Workload(seed)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, jobs
}

func offered(t testing.TB, l *Loaded, jobs []env.Job, c env.Cluster) float64 {
	t.Helper()
	load, err := datasets.MeasureLoad(jobs, &c, l.Performance)
	if err != nil {
		t.Fatal(err)
	}
	return load.Offered
}

func TestVaryOffChangesNothing(t *testing.T) {
	l := vary(t, Vary{})
	for seed := range uint64(5) {
		cfg, jobs := episode(t, l, seed)
		want, err := l.Sim(Train).Workload(seed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, jobs); diff != "" {
			t.Errorf("seed %d (-part +episode):\n%s", seed, diff)
		}
		if !cmp.Equal(cfg.Cluster, l.Cluster) || cfg.EstimateSigma != l.Scenario.EstimateSigma {
			t.Errorf("seed %d: cluster %v and sigma %v", seed, cfg.Cluster, cfg.EstimateSigma)
		}
	}
	seeds, err := l.TrainSeeds(t.Context(), 100, nil)
	if err != nil || len(seeds) != 100 || seeds[99] != 99 {
		t.Errorf("training seeds %v, %v, want 0 to 99", seeds, err)
	}
}

// Arrivals are squeezed so that an episode's own load is multiplied by a factor of the
// range; the jobs stay what they are.
func TestVaryLoad(t *testing.T) {
	plain := vary(t, Vary{})
	l := vary(t, Vary{Load: [2]float64{0.5, 2}})
	low, high := math.Inf(1), 0.0
	for seed := range uint64(40) {
		_, before := episode(t, plain, seed)
		cfg, after := episode(t, l, seed)
		factor := offered(t, l, after, cfg.Cluster) / offered(t, plain, before, plain.Cluster)
		low, high = min(low, factor), max(high, factor)
		for i := range before {
			before[i].Submit = after[i].Submit
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("seed %d: more than arrivals changed:\n%s", seed, diff)
		}
	}
	if low < 0.499 || low > 0.7 || high > 2.001 || high < 1.5 {
		t.Errorf("factors from %v to %v, want the range from 0.5 to 2", low, high)
	}
}

// With Grow the factor follows the seed and stays where it ends.
func TestVaryLoadGrows(t *testing.T) {
	v := Vary{Load: [2]float64{0.5, 2}, Grow: 10}
	for seed, want := range map[uint64]float64{0: 0.5, 5: 1, 10: 2, 500: 2} {
		if got := v.loadFactor(seed); math.Abs(got-want) > 1e-9 {
			t.Errorf("seed %d: factor %v, want %v", seed, got, want)
		}
	}
}

// Each GPU type gets a number of nodes of its own, within the range; the load stays what
// it was, and only jobs that fit are left.
func TestVaryNodes(t *testing.T) {
	plain := vary(t, Vary{})
	l := vary(t, Vary{Nodes: [2]float64{0.5, 2}})
	mixes := map[[2]int]bool{}
	for seed := range uint64(30) {
		_, before := episode(t, plain, seed)
		cfg, after := episode(t, l, seed)
		capacity := cfg.Cluster.Capacity()
		if capacity[0] < 4 || capacity[0] > 16 || capacity[1] < 8 || capacity[1] > 32 {
			t.Errorf("seed %d: capacity %v, want half to twice of 8 and 16", seed, capacity)
		}
		mixes[[2]int(capacity)] = true
		if err := cfg.Cluster.Validate(); err != nil {
			t.Fatal(err)
		}
		if len(after) == len(before) {
			a, b := offered(t, plain, before, plain.Cluster), offered(t, l, after, cfg.Cluster)
			if math.Abs(a/b-1) > 1e-6 {
				t.Errorf("seed %d: load %v on the scenario's cluster, %v on %v GPUs", seed, a, b, capacity)
			}
		}
		for i := range after {
			if _, err := l.Performance.Strategies(&after[i], &cfg.Cluster); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
	if len(mixes) < 5 {
		t.Errorf("only %d mixes of GPUs in 30 episodes", len(mixes))
	}
}

// Strategies are left out with the chance that is asked for, the same ones each time, and
// never all.
func TestVaryMissing(t *testing.T) {
	plain := vary(t, Vary{})
	l := vary(t, Vary{Missing: 0.4})
	all, left := 0, 0
	for seed := range uint64(20) {
		cfg, jobs := episode(t, l, seed)
		for i := range jobs {
			whole, err := plain.Performance.Strategies(&jobs[i], &cfg.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			some, err := cfg.Candidates.Strategies(&jobs[i], &cfg.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			again, err := cfg.Candidates.Strategies(&jobs[i], &cfg.Cluster)
			if err != nil || !cmp.Equal(some, again) {
				t.Errorf("job %d: %v, then %v, %v", jobs[i].ID, some, again, err)
			}
			if len(some) == 0 {
				t.Errorf("job %d has no strategy left", jobs[i].ID)
			}
			for k := range some {
				if !slices.Contains(whole, some[k]) {
					t.Errorf("job %d has a strategy that it did not have: %v", jobs[i].ID, some[k])
				}
			}
			if len(whole) > 1 { // one of them always stays
				all, left = all+len(whole)-1, left+len(some)-1
			}
		}
	}
	if share := 1 - float64(left)/float64(all); share < 0.35 || share > 0.45 {
		t.Errorf("%v of the strategies are missing, want 0.4", share)
	}
}

func TestVarySigma(t *testing.T) {
	l := vary(t, Vary{Sigma: [2]float64{0.3, 1.5}})
	seen := map[float64]bool{}
	for seed := range uint64(20) {
		cfg, _ := episode(t, l, seed)
		again, _ := episode(t, l, seed)
		if s := cfg.EstimateSigma; s < 0.3 || s > 1.5 || s != again.EstimateSigma {
			t.Errorf("seed %d: sigma %v, then %v, want 0.3 to 1.5", seed, s, again.EstimateSigma)
		}
		seen[cfg.EstimateSigma] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d values in 20 episodes", len(seen))
	}
}

// everything varies.
var everything = Vary{Load: [2]float64{0.7, 1.4}, Nodes: [2]float64{0.5, 2}, Sigma: [2]float64{0.4, 1.2}, Missing: 0.2}

func newJobStrategy(cfg sim.Config) (env.Env, error) { return sim.NewJobStrategy(cfg) }

// The environment whose every episode has a simulator of its own keeps the contract.
func TestVariedEnvContract(t *testing.T) {
	l := vary(t, everything)
	newEnv := func() (env.Env, error) { return l.NewEnv(newJobStrategy) }
	if err := envtest.Check(newEnv, []uint64{1, 2}, 30_000); err != nil {
		t.Error(err)
	}
	e, err := newEnv()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(4); err != nil {
		t.Fatal(err)
	}
	cfg, _ := episode(t, l, 4)
	if got := e.(*varied).State().Cluster; !cmp.Equal(got, cfg.Cluster) {
		t.Errorf("the state is of cluster %v, the episode's is %v", got, cfg.Cluster)
	}
	if _, err := vary(t, Vary{}).NewEnv(newJobStrategy); err != nil {
		t.Error(err)
	}
}

// An episode's simulator is for its seed alone.
func TestEpisodeRefusesOtherSeeds(t *testing.T) {
	cfg, _ := episode(t, vary(t, everything), 4)
	if _, err := cfg.Workload(5); err == nil || !strings.Contains(err.Error(), "episode 4") {
		t.Errorf("got %v, want an error that names the episode", err)
	}
}

// The filter takes the episodes within its band, by their seeds in order, whatever the
// number of cores.
func TestFilter(t *testing.T) {
	v := Vary{Load: [2]float64{0.8, 2}, Filter: [2]float64{1.02, 1.5}}
	l := vary(t, v)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	seeds, err := l.TrainSeeds(t.Context(), 12, nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GOMAXPROCS(2)
	if again, err := l.TrainSeeds(t.Context(), 12, nil); err != nil || !slices.Equal(seeds, again) {
		t.Errorf("got %v with one core and %v, %v with two", seeds, again, err)
	}
	if !slices.IsSorted(seeds) || len(seeds) != 12 {
		t.Errorf("got %v, want 12 ascending seeds", seeds)
	}
	for seed := range seeds[11] + 1 {
		ratio := jct(t, l, heuristic.FIFO{}, seed) / jct(t, l, heuristic.SRTF{}, seed)
		if in := ratio >= 1.02 && ratio <= 1.5; in != slices.Contains(seeds, seed) {
			t.Errorf("seed %d has ratio %v; taken: %v", seed, ratio, seeds)
		}
	}
	if seeds[11] == 11 {
		t.Error("the filter took every episode: the test shows nothing")
	}
	l.Scenario.Vary.Filter = [2]float64{1e5, 1e6}
	if _, err := l.TrainSeeds(t.Context(), 2, nil); err == nil || !strings.Contains(err.Error(), "takes 0 of the first 40") {
		t.Errorf("an impossible filter: got %v", err)
	}
}

func jct(t testing.TB, l *Loaded, p interface {
	Decide(context.Context, *env.State) (env.Allocation, error)
}, seed uint64,
) float64 {
	t.Helper()
	cfg, _ := episode(t, l, seed)
	e, err := eval.Play(t.Context(), cfg, p, seed)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Schedule.Summarize()
	if err != nil {
		t.Fatal(err)
	}
	return s.MeanJCT
}

// Slack and patience of a job move with its submission.
func TestStretchKeepsSlack(t *testing.T) {
	jobs := []env.Job{
		{ID: 1, Submit: 0, Deadline: time.Hour},
		{ID: 2, Submit: 2 * time.Hour, Cancel: 3 * time.Hour},
	}
	stretch(jobs, 0.5)
	want := []env.Job{
		{ID: 1, Submit: 0, Deadline: time.Hour},
		{ID: 2, Submit: time.Hour, Cancel: 2 * time.Hour},
	}
	if diff := cmp.Diff(want, jobs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVaryIsChecked(t *testing.T) {
	_, err := Load(Scenario{Trace: "x", Vary: Vary{
		Load: [2]float64{2, 1}, Grow: -1, Nodes: [2]float64{0, 1}, Sigma: [2]float64{1, math.NaN()}, Missing: 1, Filter: [2]float64{-1, 2},
	}})
	for _, field := range []string{"vary.load", "vary.grow", "vary.nodes", "vary.sigma", "vary.missing", "vary.filter"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
	_, err = Load(Scenario{Trace: "x", Vary: Vary{Grow: 3}})
	if err == nil || !strings.Contains(err.Error(), "vary.grow") {
		t.Errorf("growing without a load: got %v", err)
	}
}

// What policies are chosen and tested on does not vary.
func TestVaryLeavesHeldOutPartsAlone(t *testing.T) {
	plain, l := vary(t, Vary{}), vary(t, everything)
	for _, p := range []Part{Validation, Test} {
		want, got := plain.Sim(p), l.Sim(p)
		for seed := range uint64(3) {
			a, err := want.Workload(seed)
			if err != nil {
				t.Fatal(err)
			}
			b, err := got.Workload(seed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%v, episode %d (-plain +varied):\n%s", p, seed, diff)
			}
		}
		if !cmp.Equal(want.Cluster, got.Cluster) || want.EstimateSigma != got.EstimateSigma || got.Candidates != sim.Candidates(l.Performance) {
			t.Errorf("%v: another cluster, error of estimates or set of strategies", p)
		}
	}
}
