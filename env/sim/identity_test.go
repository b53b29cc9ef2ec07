package sim

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
)

// variants are configurations that together use every switch.
func variants() map[string]Config {
	out := make(map[string]Config)
	add := func(name string, change func(*Config)) {
		cfg := smallConfig()
		change(&cfg)
		out[name] = cfg
	}
	add("default", func(*Config) {})
	add("estimate", func(c *Config) { c.Knowledge = env.Estimate })
	add("none", func(c *Config) { c.Knowledge = env.None })
	add("free", func(c *Config) { c.FreeRestarts, c.FreePlacement = true, true })
	add("long restarts", func(c *Config) { c.Candidates = &elastic{perNode: 4, restart: 1000 * time.Second} })
	add("bursts", func(c *Config) { c.Workload = poisson(60, 10*time.Second) })
	maps.Copy(out, switched())
	add("idle stretches", func(c *Config) { c.Workload = poisson(15, 8*time.Hour) })
	return out
}

// TestIdentities checks on random workloads under random allocations what must
// hold of every schedule.
func TestIdentities(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			s := mustNew(t, cfg)
			for seed := range uint64(10) {
				mustReset(t, s, seed)
				first := s.State().Now
				decide := randomly(rng.New(seed, "policy"))
				reward, elapsed := play(t, s, func(st *env.State, a env.Allocation) {
					if err := st.Validate(); err != nil || len(st.Jobs) == 0 {
						t.Fatalf("seed %d: a state with %d jobs: %v", seed, len(st.Jobs), err)
					}
					decide(st, a)
				})
				if got := s.State().Now - first; got != elapsed {
					t.Errorf("seed %d: %v elapsed, the clock moved by %v", seed, elapsed, got)
				}
				checkSchedule(t, s.Schedule(), reward)
			}
		})
	}
}

func checkSchedule(t *testing.T, schedule metrics.Schedule, reward float64) {
	t.Helper()
	summary, err := schedule.Summarize()
	if err != nil {
		t.Fatal(err)
	}
	total, service := 0.0, 0.0
	for i := range schedule.Jobs {
		j := &schedule.Jobs[i]
		total += j.Weight * j.JCT().Hours()
		service += j.Service
		if j.JCT() < j.Ideal-1 {
			t.Errorf("job %d: JCT %v beats its ideal %v", j.ID, j.JCT(), j.Ideal)
		}
	}
	if math.Abs(total+reward) > 1e-9*(1+total) {
		t.Errorf("-sum(reward) = %v h, total weighted JCT = %v h", -reward, total)
	}
	if math.Abs(service-schedule.BusyGPUSeconds) > 1e-9*(1+service) {
		t.Errorf("jobs attained %v GPU-s, %v were busy", service, schedule.BusyGPUSeconds)
	}
	if summary.Utilization <= 0 || summary.Utilization > 1 {
		t.Errorf("utilization is %v", summary.Utilization)
	}
}

// TestWorkIsConserved adds up the steps done round by round, from the speeds
// alone, and compares them with the work submitted.
func TestWorkIsConserved(t *testing.T) {
	cfg := smallConfig()
	cfg.FreeRestarts, cfg.FreePlacement = true, true
	s := mustNew(t, cfg)
	mustReset(t, s, 3)
	steps := make(map[int64]float64)
	last := make(map[int64]float64) // speed in the last round of each job
	decide := randomly(rng.New(3, "policy"))
	play(t, s, func(st *env.State, a env.Allocation) {
		decide(st, a)
		for i, k := range a {
			if k != env.Idle {
				last[st.Jobs[i].ID] = st.Jobs[i].Strategies[k].Throughput
				steps[st.Jobs[i].ID] += last[st.Jobs[i].ID] * st.RoundLen.Seconds()
			}
		}
	})
	jobs, _ := cfg.Workload(3)
	schedule := s.Schedule()
	for i := range jobs {
		// The round of the finish counted whole; take its idle end off.
		over := cfg.Round
		if over == 0 {
			over = DefaultRound
		}
		over -= schedule.Jobs[i].Finish % over
		got := steps[jobs[i].ID] - last[jobs[i].ID]*over.Seconds()
		if math.Abs(got-jobs[i].Work) > 1e-6*jobs[i].Work {
			t.Errorf("job %d: %v steps done, want %v", jobs[i].ID, got, jobs[i].Work)
		}
	}
}

// TestRenamingChangesNothing gives the jobs other IDs in the same order.
func TestRenamingChangesNothing(t *testing.T) {
	checkRenaming(t, smallConfig())
	checkRenaming(t, allOn())
}

func checkRenaming(t *testing.T, cfg Config) {
	t.Helper()
	a := scheduleOf(t, cfg, fifo())
	jobs := cfg.Workload
	cfg.Workload = func(seed uint64) ([]env.Job, error) {
		out, err := jobs(seed)
		for i := range out {
			out[i].ID = -1000 + 7*out[i].ID
		}
		return out, err
	}
	b := scheduleOf(t, cfg, fifo())
	for i := range b.Jobs {
		b.Jobs[i].ID = (b.Jobs[i].ID + 1000) / 7
	}
	if diff := gocmp.Diff(a, b); diff != "" {
		t.Errorf("renamed (-original +renamed):\n%s", diff)
	}
}

func scheduleOf(t *testing.T, cfg Config, decide decider) metrics.Schedule {
	t.Helper()
	s := mustNew(t, cfg)
	mustReset(t, s, 5)
	play(t, s, decide)
	return s.Schedule()
}

// TestStepsHaveNoUnit doubles the steps of every job and of every second.
func TestStepsHaveNoUnit(t *testing.T) {
	checkUnit(t, smallConfig(), &elastic{perNode: 4, restart: 45 * time.Second, scale: 2})
	checkUnit(t, allOn(), &sharingElastic{elastic{perNode: 4, restart: 45 * time.Second, scale: 2}})
}

func checkUnit(t *testing.T, cfg Config, faster Candidates) {
	t.Helper()
	a := scheduleOf(t, cfg, srtf())
	jobs := cfg.Workload
	cfg.Workload = func(seed uint64) ([]env.Job, error) {
		out, err := jobs(seed)
		for i := range out {
			out[i].Work *= 2
			out[i].Fails *= 2
		}
		return out, err
	}
	cfg.Candidates = faster
	if diff := gocmp.Diff(a, scheduleOf(t, cfg, srtf())); diff != "" {
		t.Errorf("with steps of half the size (-before +after):\n%s", diff)
	}
}

// TestScalingTime runs everything twice as fast: speeds doubled, submissions,
// rounds and restarts halved. Every time must halve.
func TestScalingTime(t *testing.T) {
	cfg := smallConfig()
	jobs := cfg.Workload
	even := func(scale time.Duration) Workload {
		return func(seed uint64) ([]env.Job, error) {
			out, err := jobs(seed)
			for i := range out {
				out[i].Submit = out[i].Submit / 2 * scale
			}
			return out, err
		}
	}
	cfg.Workload, cfg.Round = even(2), 360*time.Second
	a := scheduleOf(t, cfg, srtf())
	cfg.Workload, cfg.Round = even(1), 180*time.Second
	cfg.Candidates = &elastic{perNode: 4, restart: 22500 * time.Millisecond, scale: 2}
	b := scheduleOf(t, cfg, srtf())
	for i := range a.Jobs {
		if d := a.Jobs[i].Finish - 2*b.Jobs[i].Finish; d < -2 || d > 2 {
			t.Errorf("job %d finished at %v and at %v, want half", a.Jobs[i].ID, a.Jobs[i].Finish, b.Jobs[i].Finish)
		}
		if a.Jobs[i].Restarts != b.Jobs[i].Restarts {
			t.Errorf("job %d: %d and %d restarts", a.Jobs[i].ID, a.Jobs[i].Restarts, b.Jobs[i].Restarts)
		}
	}
}

// oneGPU returns jobs of whole rounds, all submitted at the beginning, on one
// GPU without any cost.
func oneGPU(rounds []int) Config {
	return Config{
		Cluster:      cluster(1, 1),
		FreeRestarts: true,
		Candidates:   &elastic{perNode: 1},
		Workload: func(uint64) ([]env.Job, error) {
			jobs := make([]env.Job, len(rounds))
			for i, n := range rounds {
				jobs[i] = env.Job{ID: int64(i), Model: "m", Batch: 1, GPUs: 1, Work: float64(n) * 8 * 360, Weight: 1}
			}
			return jobs, nil
		},
	}
}

// TestShortestFirstOnOneGPU compares with the closed form: the k-th shortest
// job delays itself and the n−k after it, so Σ JCT = Σ (n−k)·p[k], which no
// other schedule beats (Smith, 1956).
func TestShortestFirstOnOneGPU(t *testing.T) {
	r := rng.New(1, "one GPU")
	for range 20 {
		rounds := make([]int, 2+r.IntN(8))
		for i := range rounds {
			rounds[i] = 1 + r.IntN(20)
		}
		s := mustNew(t, oneGPU(rounds))
		mustReset(t, s, 0)
		shortest, _ := play(t, s, srtf())
		mustReset(t, s, 0)
		other, _ := play(t, s, randomly(r))
		slices.Sort(rounds)
		want := 0
		for k, p := range rounds {
			want += (len(rounds) - k) * p
		}
		if math.Abs(-shortest-float64(want)/10) > 1e-9 { // ten rounds an hour
			t.Errorf("rounds %v: Σ JCT = %v h, want %v", rounds, -shortest, float64(want)/10)
		}
		if other > shortest+1e-9 {
			t.Errorf("rounds %v: a random order has Σ JCT = %v h, less than the least %v", rounds, -other, -shortest)
		}
	}
}

// TestFasterGPUsNeverHurtFIFO doubles all speeds and nothing else on one GPU,
// where first come, first served cannot suffer from it.
func TestFasterGPUsNeverHurtFIFO(t *testing.T) {
	cfg := Config{
		Cluster: cluster(1, 1), FreeRestarts: true,
		Candidates: &elastic{perNode: 1, onlyOwn: true},
		Workload: func(seed uint64) ([]env.Job, error) {
			jobs, err := poisson(30, time.Hour)(seed)
			for i := range jobs {
				jobs[i].GPUs = 1
			}
			return jobs, err
		},
	}
	slow := scheduleOf(t, cfg, fifo())
	cfg.Candidates = &elastic{perNode: 1, onlyOwn: true, scale: 2}
	fast := scheduleOf(t, cfg, fifo())
	for i := range slow.Jobs {
		a, b := &slow.Jobs[i], &fast.Jobs[i]
		if b.JCT() > a.JCT() {
			t.Errorf("job %d: JCT %v became %v", a.ID, a.JCT(), b.JCT())
		}
		if d := a.Ideal - 2*b.Ideal; d < -2 || d > 2 {
			t.Errorf("job %d: ideal %v became %v, want half", a.ID, a.Ideal, b.Ideal)
		}
	}
}

// TestFinishIsExactAfterManyRounds runs one job for a year at speeds that no
// float64 sum of rounds hits exactly, and compares with rational arithmetic.
func TestFinishIsExactAfterManyRounds(t *testing.T) {
	for _, speed := range []float64{0.1, math.Pi, 1 / 3., 7.7e5} {
		job := env.Job{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: speed * 31_536_000.123456789, Weight: 1}
		s := mustNew(t, Config{
			Cluster: cluster(1, 1), FreeRestarts: true,
			Candidates: fixed{{GPUs: 1, Nodes: 1, Throughput: speed}},
			Workload:   func(uint64) ([]env.Job, error) { return []env.Job{job}, nil },
		})
		mustReset(t, s, 0)
		play(t, s, fifo())
		need := new(big.Rat).Quo(new(big.Rat).SetFloat64(job.Work*1e9), new(big.Rat).SetFloat64(speed))
		ns, _ := need.Float64() // a year is 3e16 ns: exact to 4 ns
		if got := float64(s.Schedule().Jobs[0].Finish); math.Abs(got-ns) > 32 {
			t.Errorf("at %v steps/s: finished at %.0f ns, want %.0f", speed, got, ns)
		}
	}
}

// TestScheduleIsOrderedAndOwned checks what Schedule promises.
func TestScheduleIsOrderedAndOwned(t *testing.T) {
	s := mustNew(t, smallConfig())
	mustReset(t, s, 1)
	play(t, s, srtf())
	a := s.Schedule()
	if !slices.IsSortedFunc(a.Jobs, func(x, y metrics.Job) int { return cmp.Compare(x.ID, y.ID) }) {
		t.Error("jobs are not ordered by ID")
	}
	a.Jobs[0].ID = 99
	if s.Schedule().Jobs[0].ID == 99 {
		t.Error("the schedule shares memory with the simulator")
	}
}
