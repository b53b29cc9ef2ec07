package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// twin is the model of the package comment written down plainly: rational
// numbers for work, every job kept for good, every figure worked out from the
// whole history. It is slow, and shares no code with Sim.
type twin struct {
	cfg  Config
	jobs []*twinJob
	now  time.Duration
}

type twinJob struct {
	env.Job
	strategies []env.Strategy
	done       *big.Rat
	current    int
	nodes      map[int]int // GPUs per node
	restart    time.Duration
	restarts   int
	ran        []span // stretches on GPUs, in order
	finish     time.Duration
	finished   bool
}

type span struct {
	from, to time.Duration
	gpus     int
}

func (a span) overlap(from, to time.Duration) time.Duration {
	return max(0, min(a.to, to)-max(a.from, from))
}

func newTwin(cfg Config, jobs []env.Job) *twin {
	cfg.fillDefaults()
	w := &twin{cfg: cfg}
	for i := range jobs {
		strategies, _ := cfg.Candidates.Strategies(&jobs[i], &cfg.Cluster)
		w.jobs = append(w.jobs, &twinJob{Job: jobs[i], strategies: strategies, done: new(big.Rat), current: env.Idle})
	}
	for w.now < jobs[0].Submit {
		w.now += cfg.Round
	}
	return w
}

func (w *twin) active() []*twinJob {
	var out []*twinJob
	for _, j := range w.jobs {
		if j.Submit <= w.now && !j.finished {
			out = append(out, j)
		}
	}
	return out
}

// advance plays one round under a.
func (w *twin) advance(a env.Allocation) {
	active := w.active()
	var start []*twinJob
	for i, j := range active {
		if a[i] == j.current {
			continue
		}
		j.nodes, j.current = nil, a[i]
		if a[i] == env.Idle {
			continue
		}
		start = append(start, j)
		if j.ran != nil {
			j.restarts++
		}
		j.restart = j.strategies[a[i]].Restart
		if w.cfg.FreeRestarts {
			j.restart = 0
		}
	}
	slices.SortStableFunc(start, func(x, y *twinJob) int {
		return cmp.Compare(y.strategies[y.current].GPUs, x.strategies[x.current].GPUs)
	})
	for _, j := range start {
		w.place(j)
	}
	for _, j := range active {
		if j.current != env.Idle {
			w.run(j)
		}
	}
	w.now += w.cfg.Round
	for len(w.active()) == 0 && slices.ContainsFunc(w.jobs, func(j *twinJob) bool { return !j.finished }) {
		w.now += w.cfg.Round
	}
}

// place takes whole nodes, emptiest first, until one node can hold the rest.
func (w *twin) place(j *twinJob) {
	st := j.strategies[j.current]
	j.nodes = make(map[int]int)
	for left := st.GPUs; left > 0; {
		type room struct{ node, free int }
		var rooms []room
		for n, node := range w.cfg.Cluster.Nodes {
			free := node.GPUs
			for _, other := range w.jobs {
				free -= other.nodes[n]
			}
			if node.Type == st.Type && free > 0 {
				rooms = append(rooms, room{n, free})
			}
		}
		slices.SortStableFunc(rooms, func(x, y room) int { return cmp.Compare(x.free, y.free) })
		k := slices.IndexFunc(rooms, func(r room) bool { return r.free >= left })
		if k < 0 {
			most := rooms[len(rooms)-1].free
			k = slices.IndexFunc(rooms, func(r room) bool { return r.free == most })
		}
		taken := min(left, rooms[k].free)
		j.nodes[rooms[k].node] = taken
		left -= taken
	}
}

// run does one round's work of j.
func (w *twin) run(j *twinJob) {
	st := j.strategies[j.current]
	rate := st.Throughput
	if spread := float64(len(j.nodes)) / float64(st.Nodes); spread > 1 && !w.cfg.FreePlacement {
		rate *= math.Pow(w.cfg.SpreadSlowdown, math.Log2(spread))
	}
	paid := min(j.restart, w.cfg.Round)
	j.restart -= paid
	perNS := new(big.Rat).Quo(new(big.Rat).SetFloat64(rate), big.NewRat(1e9, 1))
	steps := new(big.Rat).Mul(perNS, big.NewRat(int64(w.cfg.Round-paid), 1))
	left := new(big.Rat).Sub(new(big.Rat).SetFloat64(j.Work), j.done)
	held := w.cfg.Round
	if left.Cmp(steps) <= 0 {
		need := new(big.Rat).Quo(left, perNS)
		ceil := new(big.Int).Add(need.Num(), new(big.Int).Sub(need.Denom(), big.NewInt(1)))
		held = paid + time.Duration(ceil.Quo(ceil, need.Denom()).Int64())
		j.finished, j.finish, j.nodes = true, w.now+held, nil
	} else {
		j.done.Add(j.done, steps)
	}
	j.ran = append(j.ran, span{w.now, w.now + held, st.GPUs})
}

// reward is −∫ Σ weights dt from the beginning until now.
func (w *twin) reward() float64 {
	total := 0.0
	for _, j := range w.jobs {
		total += j.Weight * span{from: j.Submit, to: w.leaves(j)}.overlap(0, w.now).Hours()
	}
	return -total
}

func (w *twin) leaves(j *twinJob) time.Duration {
	if j.finished {
		return j.finish
	}
	return math.MaxInt64
}

// window works State.Recent out from the history.
func (w *twin) window() env.Window {
	first := w.jobs[0].Submit / w.cfg.Round * w.cfg.Round
	rounds := (w.cfg.Window + w.cfg.Round - 1) / w.cfg.Round
	from := max(first, w.now-rounds*w.cfg.Round)
	out := env.Window{Length: w.now - from}
	if out.Length == 0 {
		return out
	}
	for _, j := range w.jobs {
		if from <= j.Submit && j.Submit < w.now {
			out.Arrivals++
			out.ArrivedGPUs += j.GPUs
		}
		if j.finished && from < j.finish && j.finish <= w.now {
			out.Completed++
			out.CompletedService += j.service()
			out.CompletedSquare += j.service() * j.service()
		}
		out.Queue += span{from: j.Submit, to: w.leaves(j)}.overlap(from, w.now).Seconds() / out.Length.Seconds()
		for _, r := range j.ran {
			share := r.overlap(from, w.now).Seconds() / out.Length.Seconds()
			out.Queue -= share
			out.Running += share
			out.BusyGPUs += float64(r.gpus) * share
		}
	}
	return out
}

func (j *twinJob) service() float64 {
	total := 0.0
	for _, r := range j.ran {
		total += float64(r.gpus) * (r.to - r.from).Seconds()
	}
	return total
}

// check compares a state with the twin's.
func (w *twin) check(s *env.State) error {
	active := w.active()
	if s.Now != w.now || len(s.Jobs) != len(active) {
		return fmt.Errorf("%d jobs at %v, want %d at %v", len(s.Jobs), s.Now, len(active), w.now)
	}
	for i, j := range active {
		got := &s.Jobs[i]
		done, _ := j.done.Float64()
		var ran time.Duration
		last := j.Submit
		for _, r := range j.ran {
			ran += r.to - r.from
			last = r.to
		}
		if got.ID != j.ID || got.Current != j.current || got.Restarts != j.restarts || got.Ran != ran || got.Waiting != w.now-last {
			return fmt.Errorf("job %d at %v: got %+v, want current %d, restarts %d, ran %v, waiting %v", j.ID, w.now, *got, j.current, j.restarts, ran, w.now-last)
		}
		if !near(got.Done, done) || !near(got.Remaining, j.Work-done) || !near(got.Service, j.service()) {
			return fmt.Errorf("job %d at %v: done %v, remaining %v, service %v, want %v, %v, %v", j.ID, w.now, got.Done, got.Remaining, got.Service, done, j.Work-done, j.service())
		}
	}
	g, want := s.Recent, w.window()
	if g.Length != want.Length || g.Arrivals != want.Arrivals || g.ArrivedGPUs != want.ArrivedGPUs || g.Completed != want.Completed ||
		!near(g.CompletedService, want.CompletedService) || !near(g.CompletedSquare, want.CompletedSquare) ||
		math.Abs(g.Queue-want.Queue) > 1e-6 || !near(g.Running, want.Running) || !near(g.BusyGPUs, want.BusyGPUs) {
		return fmt.Errorf("recent at %v: got %+v, want %+v", w.now, g, want)
	}
	return nil
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*(1+math.Abs(want)) }

// isolated is the package's fairness model, straight from the definition.
func (w *twin) isolated(j *twinJob) float64 {
	var area time.Duration
	for _, k := range w.jobs {
		area += span{from: k.Submit, to: k.finish}.overlap(j.Submit, j.finish)
	}
	n := max(1, float64(area)/float64(j.finish-j.Submit))
	speeds := make(map[int]float64)
	for _, st := range j.strategies {
		if st.GPUs == j.GPUs {
			speeds[st.Type] = max(speeds[st.Type], st.Throughput)
		}
	}
	total, rate := 0.0, 0.0
	for t, c := range w.cfg.Cluster.Capacity() {
		if speeds[t] > 0 {
			x := float64(c) / (n * float64(j.GPUs))
			total += x
			rate += x * speeds[t]
		}
	}
	return j.Work / (rate / max(1, total))
}

// TestSimAgreesWithItsSlowTwin plays random policies on random workloads with
// every switch and compares every state and every finish time.
func TestSimAgreesWithItsSlowTwin(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
	}{
		{"default", func(*Config) {}},
		{"long restarts", func(c *Config) { c.Candidates = &elastic{perNode: 4, restart: 800 * time.Second} }},
		{"free restarts", func(c *Config) { c.FreeRestarts = true }},
		{"free placement", func(c *Config) { c.FreePlacement = true }},
		{"slow spread", func(c *Config) { c.SpreadSlowdown = 0.5; c.Cluster = cluster(3, 9, 8, 4) }},
		{"short rounds", func(c *Config) { c.Round = 77 * time.Second; c.Window = 10 * time.Minute }},
		{"sparse", func(c *Config) { c.Workload = poisson(12, 5*time.Hour) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(3) {
				cfg := smallConfig()
				tt.change(&cfg)
				if err := playWithTwin(t, cfg, seed); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func playWithTwin(t *testing.T, cfg Config, seed uint64) error {
	s := mustNew(t, cfg)
	mustReset(t, s, seed)
	jobs, _ := cfg.Workload(seed)
	w := newTwin(cfg, jobs)
	decide := randomly(rng.New(seed, "policy"))
	reward := 0.0
	for !s.Done() {
		if err := w.check(s.State()); err != nil {
			return err
		}
		a := env.NewAllocation(len(s.State().Jobs))
		decide(s.State(), a)
		out, err := s.Advance(a)
		if err != nil {
			return err
		}
		w.advance(a)
		reward += out.Reward
		if !near(reward, w.reward()) {
			return fmt.Errorf("rewards until %v sum to %v, want %v", w.now, reward, w.reward())
		}
	}
	schedule := s.Schedule()
	if len(schedule.Jobs) != len(w.jobs) {
		return fmt.Errorf("%d jobs finished, want %d", len(schedule.Jobs), len(w.jobs))
	}
	for i, j := range w.jobs {
		got := &schedule.Jobs[i]
		if d := got.Finish - j.finish; d < -1 || d > 1 || got.Start != j.ran[0].from || got.Restarts != j.restarts || !near(got.Service, j.service()) {
			return fmt.Errorf("job %d: got %+v, want finish %d, start %v, %d restarts, service %v", j.ID, *got, j.finish, j.ran[0].from, j.restarts, j.service())
		}
		if want := w.isolated(j); math.Abs(got.Isolated.Seconds()-want) > 1e-6*want {
			return fmt.Errorf("job %d: isolated %v, want %v s", j.ID, got.Isolated, want)
		}
	}
	return nil
}
