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
	"github.com/yardmaster/yardmaster/env/metrics"
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
	began      *big.Rat  // done when it last started
	since      []stretch // what it did since then
	profiled   map[int]time.Duration
	factor     map[int]float64 // shown over true throughput by type, as first seen
	outcome    metrics.Outcome
	hits       int
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
	gpus     float64
}

// stretch is a time of progress at one rate.
type stretch struct {
	length time.Duration
	perNS  *big.Rat
}

// firstOf returns the steps of these stretches in their first d.
func firstOf(list []stretch, d time.Duration) *big.Rat {
	total := new(big.Rat)
	for _, x := range list {
		l := min(x.length, d)
		total.Add(total, new(big.Rat).Mul(x.perNS, big.NewRat(int64(l), 1)))
		d -= l
	}
	return total
}

func (a span) overlap(from, to time.Duration) time.Duration {
	return max(0, min(a.to, to)-max(a.from, from))
}

func newTwin(cfg Config, jobs []env.Job) *twin {
	cfg.fillDefaults()
	w := &twin{cfg: cfg}
	for i := range jobs {
		strategies, _ := cfg.Candidates.Strategies(&jobs[i], &cfg.Cluster)
		w.jobs = append(w.jobs, &twinJob{
			Job: jobs[i], strategies: strategies, done: new(big.Rat), current: env.Idle,
			profiled: make(map[int]time.Duration), factor: make(map[int]float64),
		})
	}
	for w.now < jobs[0].Submit {
		w.now += cfg.Round
	}
	w.settle()
	return w
}

// settle withdraws jobs and lets time pass until there is one to run.
func (w *twin) settle() {
	for {
		for _, j := range w.jobs {
			if !j.finished && j.Cancel > 0 && j.Cancel <= w.now {
				j.finished, j.finish, j.outcome, j.nodes = true, j.Cancel, metrics.Cancelled, nil
			}
		}
		if len(w.active()) > 0 || !slices.ContainsFunc(w.jobs, func(j *twinJob) bool { return !j.finished }) {
			return
		}
		w.now += w.cfg.Round
	}
}

// out reports whether a node is out of service at some time.
func (w *twin) out(node int, at time.Duration) bool {
	return slices.ContainsFunc(w.cfg.Failures.Outages, func(o Outage) bool { return o.Node == node && o.From <= at && at < o.To })
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
		j.began, j.since = new(big.Rat).Set(j.done), nil
		if j.ran != nil {
			j.restarts++
		}
		j.restart = j.strategies[a[i]].Restart
		if w.cfg.FreeRestarts {
			j.restart = 0
		}
	}
	slices.SortStableFunc(start, func(x, y *twinJob) int { // no placement of shared GPUs here
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
	w.settle()
}

// place takes whole nodes, emptiest first, until one node can hold the rest.
func (w *twin) place(j *twinJob) {
	if w.cfg.FreePlacement {
		return
	}
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
			if node.Type == st.Type && free > 0 && !w.out(n, w.now) {
				rooms = append(rooms, room{n, free})
			}
		}
		slices.SortStableFunc(rooms, func(x, y room) int { return cmp.Compare(x.free, y.free) })
		k := slices.IndexFunc(rooms, func(r room) bool { return r.free >= left })
		if k < 0 || w.cfg.Placement == Spread {
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
	held, hit := w.until(j)
	paid := min(j.restart, held)
	j.restart -= paid
	goal := j.Work
	if j.Fails > 0 && j.Fails < j.Work {
		goal = j.Fails
	}
	perNS := new(big.Rat).Quo(new(big.Rat).SetFloat64(rate), big.NewRat(1e9, 1))
	steps := new(big.Rat).Mul(perNS, big.NewRat(int64(held-paid), 1))
	left := new(big.Rat).Sub(new(big.Rat).SetFloat64(goal), j.done)
	if left.Cmp(steps) <= 0 && held > paid {
		need := new(big.Rat).Quo(left, perNS)
		ceil := new(big.Int).Add(need.Num(), new(big.Int).Sub(need.Denom(), big.NewInt(1)))
		held = paid + time.Duration(ceil.Quo(ceil, need.Denom()).Int64())
		j.finished, j.finish, j.nodes = true, w.now+held, nil
		if goal < j.Work {
			j.outcome = metrics.Failed
		}
	} else {
		j.done.Add(j.done, steps)
		j.since = append(j.since, stretch{held - paid, perNS})
		j.profiled[st.Type] += held - paid
		if hit {
			j.hit(w.cfg.Checkpoint)
		}
	}
	gpus := float64(st.GPUs)
	if st.Share > 1 {
		gpus /= float64(st.Share)
	}
	j.ran = append(j.ran, span{w.now, w.now + held, gpus})
}

// until returns how long j can run in this round, and whether a node that fails
// is why it is not longer.
func (w *twin) until(j *twinJob) (time.Duration, bool) {
	end, hit := w.now+w.cfg.Round, false
	for _, o := range w.cfg.Failures.Outages {
		if j.nodes[o.Node] > 0 && w.now < o.From && o.From <= end {
			end, hit = o.From, true
		}
	}
	if j.Cancel > 0 && j.Cancel <= end {
		end, hit = j.Cancel, false
	}
	return end - w.now, hit
}

// hit takes j back to its last checkpoint.
func (j *twinJob) hit(interval time.Duration) {
	var total time.Duration
	for _, x := range j.since {
		total += x.length
	}
	j.done.Add(j.began, firstOf(j.since, total/interval*interval))
	j.current, j.nodes = env.Idle, nil
	j.hits++
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
		if j.finished && j.ran != nil && from < j.finish && j.finish <= w.now {
			out.Completed++
			out.CompletedService += j.service()
			out.CompletedSquare += j.service() * j.service()
		}
		out.Queue += span{from: j.Submit, to: w.leaves(j)}.overlap(from, w.now).Seconds() / out.Length.Seconds()
		for _, r := range j.ran {
			share := r.overlap(from, w.now).Seconds() / out.Length.Seconds()
			out.Queue -= share
			out.Running += share
			out.BusyGPUs += r.gpus * share
		}
	}
	return out
}

func (j *twinJob) service() float64 {
	total := 0.0
	for _, r := range j.ran {
		total += r.gpus * (r.to - r.from).Seconds()
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
	if err := w.checkCluster(s); err != nil {
		return err
	}
	g, want := s.Recent, w.window()
	if g.Length != want.Length || g.Arrivals != want.Arrivals || g.ArrivedGPUs != want.ArrivedGPUs || g.Completed != want.Completed ||
		!near(g.CompletedService, want.CompletedService) || !near(g.CompletedSquare, want.CompletedSquare) ||
		math.Abs(g.Queue-want.Queue) > 1e-6 || !near(g.Running, want.Running) || !near(g.BusyGPUs, want.BusyGPUs) {
		return fmt.Errorf("recent at %v: got %+v, want %+v", w.now, g, want)
	}
	return nil
}

// checkCluster compares the nodes and quotas of a state, and the throughputs it
// shows, with the twin's.
func (w *twin) checkCluster(s *env.State) error {
	var down []int
	for n := range s.Cluster.Nodes {
		if w.out(n, w.now) {
			down = append(down, n)
		}
	}
	if !slices.Equal(s.Down, down) {
		return fmt.Errorf("down at %v: got %v, want %v", w.now, s.Down, down)
	}
	limits := make(map[env.Quota]int)
	for _, c := range w.cfg.Quotas {
		if c.At <= w.now {
			limits[env.Quota{Tenant: c.Tenant, Type: c.Type}] = c.GPUs
		}
	}
	for _, q := range s.Quotas {
		key := env.Quota{Tenant: q.Tenant, Type: q.Type}
		if limit, ok := limits[key]; !ok || limit != q.GPUs {
			return fmt.Errorf("quotas at %v: got %+v, want %d", w.now, q, limit)
		}
		delete(limits, key)
	}
	for key, limit := range limits {
		if limit != Unlimited {
			return fmt.Errorf("quotas at %v: none of %+v, want %d", w.now, key, limit)
		}
	}
	for i, j := range w.active() {
		if err := j.checkShown(&w.cfg, s.Jobs[i].Strategies); err != nil {
			return fmt.Errorf("job %d at %v: %w", j.ID, w.now, err)
		}
	}
	return nil
}

// checkShown compares the throughputs that a state shows: the truth on the types
// that j was profiled on, else the truth times one factor for each type, which
// never changes.
func (j *twinJob) checkShown(cfg *Config, shown []env.Strategy) error {
	for k, st := range j.strategies {
		got := shown[k].Throughput
		known := cfg.ThroughputSigma == 0 || j.profiled[st.Type] > 0 && j.profiled[st.Type] >= cfg.Profiling
		switch {
		case known && got != st.Throughput:
			return fmt.Errorf("strategy %d shows %v steps/s, want the true %v after %v", k, got, st.Throughput, j.profiled[st.Type])
		case known:
		case j.factor[st.Type] == 0:
			j.factor[st.Type] = got / st.Throughput
		case !near(got, st.Throughput*j.factor[st.Type]):
			return fmt.Errorf("strategy %d shows %v steps/s, want %v times %v", k, got, st.Throughput, j.factor[st.Type])
		}
		st.Throughput = got
		if shown[k] != st {
			return fmt.Errorf("strategy %d is %+v, want %+v", k, shown[k], st)
		}
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
	steps := j.Work
	switch j.outcome {
	case metrics.Failed:
		steps = j.Fails
	case metrics.Cancelled:
		return (j.finish - j.Submit).Seconds()
	}
	return steps / (rate / max(1, total))
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
		{"events", func(c *Config) { c.Workload = eventful(c.Workload) }},
		{"withdrawn soon", func(c *Config) { c.Workload = switched()["withdrawn soon"].Workload }},
		{"spread", func(c *Config) { c.Placement = Spread }},
		{"failures", func(c *Config) { c.Failures.Outages, c.Checkpoint = outagesOf(c, 9*time.Hour), 17*time.Minute }},
		{"failures and events", func(c *Config) {
			c.Failures.Outages, c.Checkpoint = outagesOf(c, 2*time.Hour), 4*time.Minute
			c.Workload = eventful(c.Workload)
		}},
		{"quotas", func(c *Config) { c.Workload, c.Quotas = eventful(c.Workload), quotas() }},
		{"noise", func(c *Config) { c.ThroughputSigma, c.Profiling = 0.7, 10*time.Minute }},
		{"noise, known at once", func(c *Config) { c.ThroughputSigma = 0.7 }},
		{"free sharing", func(c *Config) {
			c.FreePlacement = true
			c.Candidates = &sharingElastic{elastic{perNode: 4, restart: 45 * time.Second}}
		}},
		{"all but sharing", func(c *Config) {
			all := allOn()
			all.Candidates, all.Interference, all.Knowledge = c.Candidates, nil, env.Oracle
			all.Failures = Failures{Outages: outagesOf(c, 7*time.Hour)}
			*c = all
		}},
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
		start := j.finish
		if j.ran != nil {
			start = j.ran[0].from
		}
		if d := got.Finish - j.finish; d < -1 || d > 1 || got.Start != start || got.Restarts != j.restarts || !near(got.Service, j.service()) {
			return fmt.Errorf("job %d: got %+v, want finish %d, start %v, %d restarts, service %v", j.ID, *got, j.finish, start, j.restarts, j.service())
		}
		if got.Outcome != j.outcome || got.Interruptions != j.hits {
			return fmt.Errorf("job %d: %v after %d interruptions, want %v after %d", j.ID, got.Outcome, got.Interruptions, j.outcome, j.hits)
		}
		if want := w.isolated(j); math.Abs(got.Isolated.Seconds()-want) > 1e-6*want+1e-9 {
			return fmt.Errorf("job %d: isolated %v, want %v s", j.ID, got.Isolated, want)
		}
	}
	return nil
}
