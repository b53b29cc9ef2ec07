package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// cluster returns three types of GPU, fast to slow, with these numbers of GPUs
// on nodes of perNode.
func cluster(perNode int, gpus ...int) env.Cluster {
	var c env.Cluster
	for t, n := range gpus {
		c.Types = append(c.Types, env.GPUType{Name: string(rune('A' + t)), MemoryGiB: 16, PricePerHour: float64(3 - t)})
		for ; n > 0; n -= perNode {
			c.Nodes = append(c.Nodes, env.Node{Type: t, GPUs: min(n, perNode)})
		}
	}
	return c
}

// elastic is a fake performance model: half, all and twice the requested GPUs
// of each type, type t half as fast as type t−1, speed growing as GPUs^0.9.
type elastic struct {
	perNode int
	restart time.Duration
	scale   float64 // of all throughputs; 0 is 1
	cache   map[int][]env.Strategy
	onlyOwn bool // the requested number of GPUs only
}

func (e *elastic) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	if s, ok := e.cache[j.GPUs]; ok {
		return s, nil
	}
	scale := e.scale
	if scale == 0 {
		scale = 1
	}
	var out []env.Strategy
	for t, capacity := range c.Capacity() {
		for _, g := range []int{j.GPUs / 2, j.GPUs, j.GPUs * 2} {
			if g == 0 || g > capacity || e.onlyOwn && g != j.GPUs {
				continue
			}
			out = append(out, env.Strategy{
				Type: t, GPUs: g, Nodes: (g + e.perNode - 1) / e.perNode,
				Throughput: scale * 8 * math.Pow(0.5, float64(t)) * math.Pow(float64(g), 0.9),
				Restart:    e.restart,
			})
		}
	}
	if e.cache == nil {
		e.cache = make(map[int][]env.Strategy)
	}
	e.cache[j.GPUs] = out
	return out, nil
}

// poisson returns n jobs of 1 to 8 GPUs with log-uniform work of 3 minutes to 5
// hours of one fast GPU and exponential gaps between them.
func poisson(n int, gap time.Duration) Workload {
	return func(seed uint64) ([]env.Job, error) {
		r := rng.New(seed, "workload")
		jobs := make([]env.Job, n)
		at := 0.0
		for i := range jobs {
			at += r.ExpFloat64() * gap.Seconds()
			g := []int{1, 1, 1, 2, 4, 8}[r.IntN(6)]
			jobs[i] = env.Job{
				ID: int64(i + 1), Model: "m", Batch: 32, GPUs: g,
				Work:   8 * float64(g) * 180 * math.Pow(100, r.Float64()),
				Submit: time.Duration(at * 1e9), Weight: []float64{1, 1, 2, 0.5}[r.IntN(4)], Tenant: "t",
			}
			if r.IntN(3) == 0 {
				jobs[i].Deadline = jobs[i].Submit + time.Duration(r.IntN(20_000))*time.Second
			}
		}
		return jobs, nil
	}
}

func smallConfig() Config {
	return Config{
		Cluster:    cluster(4, 8, 8, 4),
		Workload:   poisson(40, 10*time.Minute),
		Candidates: &elastic{perNode: 4, restart: 45 * time.Second},
	}
}

func mustNew(t testing.TB, cfg Config) *Sim {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustReset(t testing.TB, s *Sim, seed uint64) {
	t.Helper()
	if err := s.Reset(seed); err != nil {
		t.Fatal(err)
	}
}

// decider is a policy for tests: it fills a for s.
type decider func(s *env.State, a env.Allocation)

// randomly keeps about three running jobs in four where they are and gives the
// others a random strategy or none.
func randomly(r *rand.Rand) decider {
	var budget env.Budget
	return func(s *env.State, a env.Allocation) {
		budget.Reset(s)
		for i := range s.Jobs {
			j := &s.Jobs[i]
			a[i] = j.Current
			if a[i] == env.Idle || r.IntN(4) == 0 {
				a[i] = r.IntN(len(j.Strategies)+1) - 1
			}
			if a[i] == env.Idle {
				continue
			}
			st := &j.Strategies[a[i]]
			if !budget.Fits(j, st) {
				a[i] = env.Idle
				continue
			}
			budget.Take(j, st)
		}
	}
}

// greedily gives each job in the order of key its first strategy that fits,
// trying the one it runs first. It is a pure function of the state.
func greedily(key func(j *env.JobState) float64) decider {
	return func(s *env.State, a env.Allocation) {
		order := make([]int, len(s.Jobs))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(x, y int) int {
			if key(&s.Jobs[x]) < key(&s.Jobs[y]) {
				return -1
			}
			if key(&s.Jobs[x]) > key(&s.Jobs[y]) {
				return 1
			}
			return 0
		})
		budget := env.NewBudget(s)
		for _, i := range order {
			j := &s.Jobs[i]
			a[i] = env.Idle
			take := func(k int) bool {
				if k == env.Idle || !budget.Fits(j, &j.Strategies[k]) {
					return false
				}
				budget.Take(j, &j.Strategies[k])
				a[i] = k
				return true
			}
			if take(j.Current) {
				continue
			}
			for k := range j.Strategies {
				if take(k) {
					break
				}
			}
		}
	}
}

func fifo() decider { return greedily(func(*env.JobState) float64 { return 0 }) }
func srtf() decider { return greedily(func(j *env.JobState) float64 { return j.Remaining }) }
func las() decider  { return greedily(func(j *env.JobState) float64 { return j.Service }) }

// play runs decide until the episode is over and returns the sum of rewards and
// of elapsed times.
func play(t testing.TB, s *Sim, decide decider) (reward float64, elapsed time.Duration) {
	t.Helper()
	var a env.Allocation
	for rounds := 0; !s.Done(); rounds++ {
		if rounds > 200_000 {
			t.Fatal("the episode does not end")
		}
		a = slices.Grow(a[:0], len(s.State().Jobs))[:len(s.State().Jobs)]
		decide(s.State(), a)
		out, err := s.Advance(a)
		if err != nil {
			t.Fatal(err)
		}
		reward += out.Reward
		elapsed += out.Elapsed
	}
	return reward, elapsed
}
