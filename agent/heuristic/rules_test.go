package heuristic

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
)

func must[T agent.Policy](t *testing.T) func(T, error) agent.Policy {
	return func(p T, err error) agent.Policy {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// due returns j with a deadline so many seconds after the tests' clock.
func due(j env.JobState, seconds int) env.JobState {
	j.Deadline = time.Hour + time.Duration(seconds)*time.Second
	return j
}

func TestSRSF(t *testing.T) {
	// Four GPUs need 100 s, 400 GPU-seconds; one GPU needs 300 s, 300 of them.
	wantDecision(t, SRSF{}, stateOf(waiting(4, 800), waiting(1, 600), waiting(4, 900)), slow, fast, idle)
}

func TestDeadlineRules(t *testing.T) {
	// Times needed on the fast type: 1000 s, 100 s, 10 s.
	s := stateOf(due(waiting(4, 8000), 1500), due(waiting(4, 800), 1000), waiting(4, 80))
	t.Run("earliest deadline first", func(t *testing.T) { wantDecision(t, EDF{}, s, slow, fast, idle) })
	t.Run("least laxity: 500 before 900 s", func(t *testing.T) { wantDecision(t, LeastLaxity{}, s, fast, slow, idle) })
	late := stateOf(due(waiting(4, 8), -3000), due(waiting(4, 8), 3000), waiting(4, 8))
	t.Run("what is late comes first", func(t *testing.T) { wantDecision(t, EDF{}, late, fast, slow, idle) })
	none := stateOf(waiting(4, 9), waiting(4, 1), waiting(4, 5))
	t.Run("without deadlines by submission", func(t *testing.T) { wantDecision(t, LeastLaxity{}, none, fast, slow, idle) })
	running := stateOf(due(running(4, 8000, slow), 1500), due(waiting(4, 8000), 1490), due(waiting(4, 80), 20))
	t.Run("a running job keeps its place for a round", func(t *testing.T) { wantDecision(t, LeastLaxity{}, running, slow, idle, fast) })
}

func TestTardinessRule(t *testing.T) {
	p := must[*Tardiness](t)(NewTardiness(TardinessConfig{Density: plain}))
	// Both need 1000 s, so that K × mean is 2000 s; slacks of 0 and 3000 s make
	// e^1.5 = 4.5 of the first.
	pressing := stateOf(due(waiting(4, 8000), 4000), due(waiting(4, 8000), 1000))
	t.Run("the pressing job first", func(t *testing.T) { wantDecision(t, p, pressing, slow, fast) })
	heavy := stateOf(due(waiting(4, 8000), 4000), due(waiting(4, 8000), 1000))
	heavy.Jobs[0].Weight = 5
	t.Run("unless the other weighs more than that", func(t *testing.T) { wantDecision(t, p, heavy, fast, slow) })
	free := stateOf(waiting(4, 800), waiting(4, 400), due(waiting(4, 8000), 0))
	t.Run("without deadlines by time, after those with", func(t *testing.T) { wantDecision(t, p, free, idle, slow, fast) })
	for _, k := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := NewTardiness(TardinessConfig{K: k}); err == nil || !strings.Contains(err.Error(), "K is") {
			t.Errorf("K = %v: got %v, want an error that names it", k, err)
		}
	}
}

func TestAlloX(t *testing.T) {
	t.Run("the longer job gains most from the fast type", func(t *testing.T) {
		wantDecision(t, AlloX{}, stateOf(waiting(4, 8000), waiting(4, 800)), fast, slow)
	})
	t.Run("what runs is kept", func(t *testing.T) {
		wantDecision(t, AlloX{}, stateOf(running(4, 8000, fast), waiting(4, 800)), fast, slow)
	})
	t.Run("waits for the fast type where it is far faster", func(t *testing.T) {
		// Ten times as fast: one after the other beats one on each type.
		a, b := waiting(4, 8000), waiting(4, 8800)
		for _, j := range []*env.JobState{&a, &b} {
			j.Strategies = []env.Strategy{on(fast, 4, 8), on(slow, 4, 0.8)}
		}
		wantDecision(t, AlloX{}, stateOf(a, b), fast, idle)
	})
}

// An empty cluster of thousands of GPUs is filled in little memory: the matching of
// all jobs to all machines at once would take 128 MB here, and the cube of the jobs
// in time. A context that ends is honoured on the way.
func TestAlloXOnALargeCluster(t *testing.T) {
	const n = 2000
	jobs := make([]env.JobState, n)
	for i := range jobs {
		jobs[i] = waiting(1, float64(100+i%7))
	}
	s := stateOf(jobs...)
	s.Now = n * time.Second
	s.Cluster.Nodes = []env.Node{{Type: fast, GPUs: n / 2}, {Type: slow, GPUs: n / 2}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := AlloX{}.Decide(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
		t.Errorf("%d MB for %d jobs, want at most 64", mb, n)
	}
	if err := got.Validate(s); err != nil {
		t.Error(err)
	}
	if runs := len(slices.DeleteFunc(slices.Clone(got), func(k int) bool { return k == env.Idle })); runs < n/2 {
		t.Errorf("%d of %d jobs run on as many GPUs, want at least the half that is fast", runs, n)
	}
	if _, err := (AlloX{}).Decide(&endsLater{t.Context(), 3}, s); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended after three turns: %v, want its error", err)
	}
}

// endsLater is a context that has ended when it was asked so many times.
type endsLater struct {
	context.Context
	asks int
}

func (e *endsLater) Err() error {
	if e.asks--; e.asks < 0 {
		return context.Canceled
	}
	return nil
}

// TestAlloXIsBestOfAll compares the sum of completion times with that of every
// order of every split, for jobs of one GPU on one GPU of each type.
func TestAlloXIsBestOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "jobs")
		jobs := make([]env.JobState, n)
		for i := range jobs {
			jobs[i] = waiting(1, rapid.Float64Range(1, 1000).Draw(t, "work"))
			jobs[i].Strategies = []env.Strategy{
				{Type: fast, GPUs: 1, Nodes: 1, Throughput: rapid.Float64Range(0.5, 5).Draw(t, "fast")},
				{Type: slow, GPUs: 1, Nodes: 1, Throughput: rapid.Float64Range(0.5, 5).Draw(t, "slow")},
			}
		}
		s := stateOf(jobs...)
		s.Cluster.Nodes = []env.Node{{Type: fast, GPUs: 1}, {Type: slow, GPUs: 1}}
		got, err := AlloX{}.Decide(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		best, ours := math.Inf(1), math.Inf(1)
		for split := range 1 << n {
			total, forced := 0.0, 0.0
			for kind := range 2 {
				var times []float64
				first := -1 // in times, of the job that was started
				for i := range n {
					if split>>i&1 == kind {
						if got[i] == kind {
							first = len(times)
						}
						times = append(times, jobs[i].Remaining/jobs[i].Strategies[kind].Throughput)
					} else if got[i] == kind {
						forced = math.Inf(1) // the job that was started is on the other side
					}
				}
				if len(times) > 0 && first < 0 {
					forced = math.Inf(1) // nobody was started, but this side has jobs
				}
				total += sumOfCompletions(times, -1)
				forced += sumOfCompletions(times, first)
			}
			best, ours = min(best, total), min(ours, forced)
		}
		if ours > best*(1+1e-12) {
			t.Errorf("got %v, with which the completion times sum to %v at best, want %v", got, ours, best)
		}
	})
}

// sumOfCompletions returns the sum of the completion times of jobs one after the
// other, shortest first, but for the first-th, if any, which comes before them.
func sumOfCompletions(times []float64, first int) float64 {
	sum := 0.0
	rest := slices.Clone(times)
	if first >= 0 {
		sum = times[first] * float64(len(times))
		rest = slices.Delete(rest, first, first+1)
	}
	slices.Sort(rest)
	for place, x := range rest {
		sum += x * float64(len(rest)-place)
	}
	return sum
}

func TestThemis(t *testing.T) {
	p := must[*Themis](t)(NewThemis(ThemisConfig{}))
	// All came at about the same time and have as much to do, but the first has
	// done most of its work: its ρ is least.
	progress := func(done float64) env.JobState {
		j := waiting(4, 10_000-done)
		j.Done = done
		return j
	}
	t.Run("the worst off first", func(t *testing.T) {
		wantDecision(t, p, stateOf(progress(9000), progress(10), progress(500)), idle, fast, slow)
	})
	leased := progress(9000)
	leased.Current, leased.Ran = slow, 12*time.Minute
	t.Run("a lease in force", func(t *testing.T) {
		wantDecision(t, p, stateOf(leased, progress(10), progress(500)), slow, fast, idle)
	})
	leased.Ran = 24 * time.Minute // the last round passed the end of the first lease
	t.Run("a lease that is over", func(t *testing.T) {
		wantDecision(t, p, stateOf(leased, progress(10), progress(500)), slow, fast, idle)
	})
	s := stateOf(leased, progress(10), progress(500))
	all := must[*Themis](t)(NewThemis(ThemisConfig{Fairness: 0.01}))
	t.Run("and with GPUs offered to all", func(t *testing.T) { wantDecision(t, all, s, idle, fast, slow) })
	if _, err := NewThemis(ThemisConfig{Lease: -1, Fairness: 1}); err == nil || !strings.Contains(err.Error(), "Lease") || !strings.Contains(err.Error(), "Fairness") {
		t.Errorf("got %v, want an error that names Lease and Fairness", err)
	}
}

func TestRhoByHand(t *testing.T) {
	// Two jobs: half of 4 fast and 4 slow GPUs. On 2 of 4 fast GPUs half the time
	// at 8 steps/s and half the time at 4: 6 steps/s.
	s := stateOf(waiting(4, 4000), waiting(4, 1))
	s.Jobs[0].Done = 2000
	got := newIsolation(s).rho(&s.Jobs[0])
	if want := (3600 + 4000/8.) / (6000 / 6.); math.Abs(got-want) > 1e-12 {
		t.Errorf("ρ = %v, want %v", got, want)
	}
}

func TestGandiva(t *testing.T) {
	p := must[*Gandiva](t)(NewGandiva(GandivaConfig{}))
	ran := func(j env.JobState, minutes int) env.JobState {
		j.Ran = time.Duration(minutes) * time.Minute
		return j
	}
	waited := func(j env.JobState, minutes int) env.JobState {
		j.Waiting = time.Duration(minutes) * time.Minute
		return j
	}
	t.Run("slices: who waited longest takes the place of who ran out of his, the other migrates", func(t *testing.T) {
		wantDecision(t, p, stateOf(ran(running(4, 1, fast), 33), ran(running(4, 1, slow), 50), waited(waiting(4, 1), 5), waited(waiting(4, 1), 9)),
			idle, fast, idle, slow)
	})
	t.Run("a new job goes where most is free", func(t *testing.T) {
		wantDecision(t, p, stateOf(ran(running(1, 1, fast), 20), waiting(1, 1)), fast, slow)
	})
	t.Run("and migrates after its trial", func(t *testing.T) {
		wantDecision(t, p, stateOf(ran(running(1, 1, fast), 20), ran(running(1, 1, slow), 12)), fast, fast)
	})
	half := func(j env.JobState, together float64) env.JobState {
		alone := j.Strategies[fast]
		part := alone
		part.Share, part.Throughput = 2, alone.Throughput*together/2
		j.Strategies = append(slices.Clone(j.Strategies), part)
		return ran(j, 20)
	}
	packs := half(waiting(4, 1), 1.5)
	t.Run("packs where it is crowded", func(t *testing.T) { wantDecision(t, p, stateOf(packs, packs, packs), 2, 2, slow) })
	t.Run("not where it is not", func(t *testing.T) { wantDecision(t, p, stateOf(packs), fast) })
	hurts := half(waiting(4, 1), 0.9)
	t.Run("nor where sharing hurts", func(t *testing.T) { wantDecision(t, p, stateOf(hurts, hurts, hurts), fast, slow, idle) })
}

// scaling returns the strategies of an elastic job: speeds at 1, 2 and 4 GPUs of
// the fast type.
func scaling(j env.JobState, speeds ...float64) env.JobState {
	j.Strategies = nil
	for i, x := range speeds {
		j.Strategies = append(j.Strategies, on(fast, 1<<i, x))
	}
	return j
}

func TestElasticRules(t *testing.T) {
	linear, flat := scaling(waiting(1, 1000), 1, 2, 4), scaling(waiting(1, 900), 1, 1.1, 1.2)
	for name, p := range map[string]agent.Policy{"optimus": Optimus{}, "afs": AFS{}, "elasticflow": ElasticFlow{}} {
		t.Run(name+": everyone gets something first", func(t *testing.T) {
			wantDecision(t, p, stateOf(linear, linear, linear, linear), 0, 0, 0, 0)
		})
		t.Run(name+": then who scales", func(t *testing.T) {
			wantDecision(t, p, stateOf(flat, linear, flat), 0, 1, 0)
		})
		t.Run(name+": alone all there is", func(t *testing.T) { wantDecision(t, p, stateOf(linear), 2) })
		// Growing back to what it runs on costs nothing, a move would.
		back := linear
		back.Current, back.Remaining = 1, 950
		t.Run(name+": who runs larger keeps it", func(t *testing.T) {
			wantDecision(t, p, stateOf(flat, linear, back), 0, 0, 1)
		})
	}
	// Equal gains: Optimus saves most time where most is left; AFS lets the
	// shorter job go first.
	long, short := scaling(waiting(1, 4000), 1, 2), scaling(waiting(1, 1000), 1, 2)
	two := scaling(waiting(1, 10), 1)
	t.Run("optimus gives to the longer", func(t *testing.T) { wantDecision(t, Optimus{}, stateOf(two, short, long), 0, 0, 1) })
	t.Run("afs gives to the shorter", func(t *testing.T) { wantDecision(t, AFS{}, stateOf(two, short, long), 0, 1, 0) })
}

func TestElasticFlowMeetsDeadlines(t *testing.T) {
	// The first needs all four GPUs: 1000 s at 4 steps/s with 36 s to start. The
	// second would scale as well and is shorter.
	urgent, other := due(scaling(waiting(1, 4000), 1, 2, 4), 1040), scaling(waiting(1, 100), 1, 2, 4)
	t.Run("the least that does", func(t *testing.T) { wantDecision(t, ElasticFlow{}, stateOf(urgent, other), 2, idle) })
	relaxed := due(scaling(waiting(1, 4000), 1, 2, 4), 2040)
	t.Run("no more than that", func(t *testing.T) { wantDecision(t, ElasticFlow{}, stateOf(relaxed, other), 1, 1) })
	lost := due(scaling(waiting(1, 4000), 1, 2, 4), 1030)
	t.Run("nothing special where it is lost", func(t *testing.T) { wantDecision(t, ElasticFlow{}, stateOf(lost, other), 1, 1) })
}

// TestUseOfKnowledge: these policies say that they need no durations, so that
// true and false ones decide alike.
func TestUseOfKnowledge(t *testing.T) {
	blind := []string{"fifo", "las", "las-migrate", "tiresias", "gittins", "gandiva", "edf", "random"}
	all := policies(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		if s.Knowledge == env.None {
			return
		}
		other := *s
		other.Jobs = slices.Clone(s.Jobs)
		for i := range other.Jobs {
			other.Jobs[i].Remaining *= float64(1 + i%7)
		}
		for _, name := range blind {
			if a, b := decide(t, all[name], s), decide(t, all[name], &other); !slices.Equal(a, b) {
				t.Errorf("%s: %v with other durations, before %v", name, b, a)
			}
		}
	})
}
