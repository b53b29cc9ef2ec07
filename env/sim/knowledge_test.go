package sim

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
)

// withWork returns the workload with the work of each job multiplied by a
// factor of its own, drawn from seed.
func withWork(w Workload, seed uint64) Workload {
	return func(episode uint64) ([]env.Job, error) {
		jobs, err := w(episode)
		r := rng.New(seed, "other work")
		for i := range jobs {
			jobs[i].Work *= math.Exp(r.NormFloat64())
			if jobs[i].Fails > 0 || i%7 == 0 {
				jobs[i].Fails = jobs[i].Work * r.Float64()
			}
			if jobs[i].Cancel > 0 || i%11 == 0 {
				jobs[i].Cancel = jobs[i].Submit + time.Duration(1+r.Int64N(int64(5*time.Hour)))
			}
		}
		return jobs, err
	}
}

// compareWhileAlike plays a and b with one policy until their completions
// differ, in who or when, and returns the number of rounds until then, in all of
// which the states must have been equal.
func compareWhileAlike(t *testing.T, a, b *Sim, decide decider) int {
	t.Helper()
	var oa, ob env.Observation
	var encoder encode.JobStrategy
	for rounds := 0; ; rounds++ {
		sa, sb := a.State(), b.State()
		if a.Done() || b.Done() || !slices.EqualFunc(a.finished, b.finished, sameFinish) {
			return rounds
		}
		if !reflect.DeepEqual(sa, sb) {
			t.Fatalf("round %d: states that only the true work tells apart differ:\n%s", rounds, gocmp.Diff(sa, sb))
		}
		encoder.Encode(&oa, sa)
		encoder.Encode(&ob, sb)
		if !reflect.DeepEqual(oa, ob) {
			t.Fatalf("round %d: observations differ", rounds)
		}
		choice := env.NewAllocation(len(sa.Jobs))
		decide(sa, choice)
		if _, err := a.Advance(choice); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Advance(choice); err != nil {
			t.Fatal(err)
		}
	}
}

func sameFinish(a, b metrics.Job) bool { return a.ID == b.ID && a.Finish == b.Finish }

// TestNoneTellsNothing plays two workloads that differ only in the true work:
// their states must be equal until their completions differ.
func TestNoneTellsNothing(t *testing.T) {
	checkTellsNothing(t, smallConfig())
	cfg := allOn()
	cfg.Quotas[2].At, cfg.Quotas[3].At = 30*time.Minute, 30*time.Minute
	checkTellsNothing(t, cfg)
}

func checkTellsNothing(t *testing.T, cfg Config) {
	t.Helper()
	total, workload := 0, cfg.Workload
	for seed := range uint64(40) {
		cfg.Knowledge, cfg.Workload = env.None, workload
		a := mustNew(t, cfg)
		cfg.Workload = withWork(cfg.Workload, seed)
		b := mustNew(t, cfg)
		mustReset(t, a, seed)
		mustReset(t, b, seed)
		total += compareWhileAlike(t, a, b, las())
	}
	if total < 60 {
		t.Errorf("only %d rounds were compared", total)
	}
}

// TestEstimateTellsOnlyTheEstimate starts two simulations from one state, with
// its estimates, and different true work.
func TestEstimateTellsOnlyTheEstimate(t *testing.T) {
	total := 0
	for seed := range uint64(20) {
		cfg := smallConfig()
		cfg.Knowledge = env.Estimate
		a, b := mustNew(t, cfg), mustNew(t, cfg)
		mustReset(t, a, seed)
		for range 15 {
			choice := env.NewAllocation(len(a.State().Jobs))
			srtf()(a.State(), choice)
			if _, err := a.Advance(choice); err != nil {
				t.Fatal(err)
			}
		}
		start := Start{State: a.State(), Remaining: a.Remaining(nil)}
		other := start
		other.Remaining = slices.Clone(start.Remaining)
		for i := range other.Remaining {
			other.Remaining[i] *= 3
		}
		if err := b.ResetTo(seed, other); err != nil {
			t.Fatal(err)
		}
		for i := range start.State.Jobs {
			if got, want := b.State().Jobs[i].Remaining, start.State.Jobs[i].Remaining; !near(got, want) {
				t.Errorf("seed %d: job %d: the estimate %v became %v", seed, start.State.Jobs[i].ID, want, got)
			}
		}
		// start.State is borrowed from a, which is about to be reset.
		start.State = clone(start.State)
		if err := a.ResetTo(seed, start); err != nil {
			t.Fatal(err)
		}
		total += compareWhileAlike(t, a, b, srtf())
	}
	if total < 60 {
		t.Errorf("only %d rounds were compared", total)
	}
}

func clone(s *env.State) *env.State {
	out := *s
	out.Jobs = slices.Clone(s.Jobs)
	out.Down = slices.Clone(s.Down)
	return &out
}

// TestEstimateRule checks the guess and what becomes of it.
func TestEstimateRule(t *testing.T) {
	cfg := smallConfig()
	cfg.Knowledge = env.Estimate
	cfg.Workload = poisson(2000, time.Minute)
	s := mustNew(t, cfg)
	mustReset(t, s, 9)
	var sum, square float64
	for i, job := range s.ep.jobs {
		z := math.Log(s.ep.expected[i] / job.Work)
		sum += z
		square += z * z
	}
	n := float64(len(s.ep.jobs))
	if mean, sigma := sum/n, math.Sqrt(square/n); math.Abs(mean) > 0.08 || math.Abs(sigma-DefaultEstimateSigma) > 0.05 {
		t.Errorf("log errors have mean %v and standard deviation %v, want 0 and %v", mean, sigma, DefaultEstimateSigma)
	}
	outlived := 0
	for range 300 {
		a := env.NewAllocation(len(s.State().Jobs))
		fifo()(s.State(), a)
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
		for i := range s.State().Jobs {
			j := &s.State().Jobs[i]
			guess := s.ep.expected[s.active[i].job]
			if want := max(guess-j.Done, j.Done/4); j.Remaining != want || want <= 0 {
				t.Fatalf("job %d did %v of a guess of %v: remaining %v, want %v", j.ID, j.Done, guess, j.Remaining, want)
			}
			if j.Done > guess {
				outlived++
			}
		}
	}
	if outlived == 0 {
		t.Error("no job outlived its estimate: the rule was not tested")
	}
}

// TestKnowledgeDoesNotChangeTheEpisode checks that knowledge changes no draw but
// its own: the same jobs under every mode.
func TestKnowledgeDoesNotChangeTheEpisode(t *testing.T) {
	var want string
	for _, k := range []env.Knowledge{env.Oracle, env.Estimate, env.None} {
		cfg := smallConfig()
		cfg.Knowledge = k
		got := fmt.Sprint(scheduleOf(t, cfg, fifo()))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("under %v the schedule of fifo differs from the oracle's", k)
		}
	}
}

// honest fails the test if it can see the true work.
type honest struct {
	elastic
	t *testing.T
}

func (h *honest) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	if j.Work != 1 {
		h.t.Errorf("job %d: candidates see its work, %v steps", j.ID, j.Work)
	}
	return h.elastic.Strategies(j, c)
}

func TestCandidatesDoNotSeeTheWork(t *testing.T) {
	cfg := smallConfig()
	cfg.Candidates = &honest{elastic{perNode: 4}, t}
	mustReset(t, mustNew(t, cfg), 1)
}
