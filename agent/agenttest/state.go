package agenttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Busy says how many GPUs the jobs of a random state hold already.
type Busy uint8

const (
	SomeBusy Busy = iota // any share, drawn at random
	NoneBusy             // every job is idle
	AllBusy              // jobs hold every GPU that any of them can use
)

// Options narrows what RandomState draws. The zero value leaves it all open.
type Options struct {
	Jobs      int             // number of jobs; 0 is 1 to 200, more often few
	Busy      Busy            // share of the GPUs in use
	Knowledge []env.Knowledge // one of these; empty is all three
	// Feasible leaves out the strategies that need more GPUs than the cluster
	// has, which a state holds after a failure of nodes.
	Feasible bool
	// Constrained adds what few states have: nodes out of service, quotas of
	// tenants, strategies that share GPUs.
	Constrained bool
}

// RandomState returns a valid state, a pure function of the stream and of o.
// It draws the corners on purpose: ties in everything but the ID, restarts
// longer than the round, jobs of extreme lengths and weights, strategies that
// exceed the cluster. Current strategies together fit the cluster. The caller
// owns the result; jobs of one class share their strategies.
func RandomState(r *rand.Rand, o Options) *env.State {
	s := &env.State{
		Cluster:   randomCluster(r),
		Now:       time.Duration(r.Int64N(int64(1000 * time.Hour))),
		Round:     r.Int64N(10_000),
		RoundLen:  oneOf(r, time.Second, time.Minute, 6*time.Minute, time.Hour),
		Knowledge: oneOf(r, env.Oracle, env.Estimate, env.None),
	}
	if len(o.Knowledge) > 0 {
		s.Knowledge = oneOf(r, o.Knowledge...)
	}
	n := o.Jobs
	if n == 0 {
		n = 1 + int(199*math.Pow(r.Float64(), 2))
	}
	var classes [][]env.Strategy
	for range 1 + r.IntN(6) {
		classes = append(classes, randomStrategies(r, s, o.Feasible))
	}
	s.Jobs = make([]env.JobState, n)
	id := r.Int64N(1000)
	for i := range s.Jobs {
		id += 1 + r.Int64N(3)
		s.Jobs[i] = randomJob(r, s, i, oneOf(r, classes...))
		s.Jobs[i].ID = id
	}
	shuffleIDs(r, s.Jobs)
	if o.Constrained {
		constrain(r, s)
	}
	occupy(r, s, o.Busy)
	s.Recent = randomWindow(r, s)
	return s
}

func oneOf[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// logUniform returns a value between low and high, evenly on a log scale.
func logUniform(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}

func randomCluster(r *rand.Rand) env.Cluster {
	var c env.Cluster
	for t := range 1 + r.IntN(4) {
		c.Types = append(c.Types, env.GPUType{
			Name:         fmt.Sprintf("type-%d", t),
			MemoryGiB:    float64(8 * (1 + r.IntN(10))),
			PricePerHour: r.Float64() * 4,
		})
		perNode := oneOf(r, 1, 2, 4, 8)
		for range 1 + r.IntN(8) {
			c.Nodes = append(c.Nodes, env.Node{Type: t, GPUs: perNode})
		}
	}
	return c
}

// randomStrategies returns the candidates of one class of jobs: up to three
// sizes on each type, with diminishing returns; at least one. The first GPU
// count is that of a request.
func randomStrategies(r *rand.Rand, s *env.State, feasible bool) []env.Strategy {
	capacity := s.Cluster.Capacity()
	request := oneOf(r, 1, 1, 1, 2, 4, 8)
	speed := logUniform(r, 0.01, 100)
	restart := time.Duration(r.Int64N(int64(5 * time.Minute)))
	var list []env.Strategy
	for t := range s.Cluster.Types {
		relative := 0.1 + r.Float64()
		for _, gpus := range []int{request, request / 2, 2 * request} {
			if gpus == 0 || feasible && gpus > capacity[t] || len(list) > 0 && r.IntN(4) == 0 {
				continue
			}
			list = append(list, strategy(t, gpus, speed*relative, restart))
		}
	}
	if len(list) == 0 {
		list = append(list, strategy(0, 1, speed, restart))
	}
	return list
}

func strategy(t, gpus int, speed float64, restart time.Duration) env.Strategy {
	return env.Strategy{
		Type: t, GPUs: gpus, Nodes: 1,
		Plan:       env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: 1},
		Throughput: speed * math.Pow(float64(gpus), 0.8),
		Restart:    restart,
	}
}

// randomJob draws the i-th job, often equal to the one before in all but its ID.
func randomJob(r *rand.Rand, s *env.State, i int, strategies []env.Strategy) env.JobState {
	if i > 0 && r.IntN(4) == 0 {
		return s.Jobs[i-1]
	}
	submit := time.Duration(r.Int64N(int64(s.Now) + 1))
	if i > 0 { // between the job before and now, often at the same time
		before := s.Jobs[i-1].Submit
		submit = before
		if r.IntN(3) > 0 {
			submit += time.Duration(r.Int64N(int64(s.Now-before)/8 + 1))
		}
	} else {
		submit /= 4
	}
	j := env.JobState{
		Model:      oneOf(r, "ResNet-50", "LM", "Transformer"),
		Batch:      oneOf(r, 16, 64, 256),
		GPUs:       strategies[0].GPUs,
		Tenant:     oneOf(r, "", "a", "b", "c"),
		Weight:     oneOf(r, 1, 1, 1, logUniform(r, 1e-3, 1e3)),
		Submit:     submit,
		Remaining:  oneOf(r, 1000, logUniform(r, 1e-6, 1e12)),
		Current:    env.Idle,
		Waiting:    s.Now - submit,
		Strategies: strategies,
	}
	if s.Knowledge == env.None {
		j.Remaining = env.Unknown
	}
	if r.IntN(4) == 0 {
		j.Deadline = submit + time.Duration(logUniform(r, 1, 1e6)*float64(time.Second))
	}
	if r.IntN(2) == 0 { // it ran before
		j.Ran = time.Duration(r.Int64N(int64(j.Waiting) + 1))
		j.Waiting = time.Duration(r.Int64N(int64(j.Waiting-j.Ran) + 1))
		j.Service = j.Ran.Seconds() * float64(j.GPUs)
		j.Done = j.Ran.Seconds() * strategies[0].Throughput
		j.Restarts = r.IntN(5)
	}
	return j
}

// shuffleIDs permutes the IDs among jobs with different submission times: an
// ID says nothing about the order of submission, only ties go by it.
func shuffleIDs(r *rand.Rand, jobs []env.JobState) {
	for range len(jobs) {
		a, b := r.IntN(len(jobs)), r.IntN(len(jobs))
		if lonely(jobs, a) && lonely(jobs, b) {
			jobs[a].ID, jobs[b].ID = jobs[b].ID, jobs[a].ID
		}
	}
}

// lonely reports whether no neighbour was submitted at the same time.
func lonely(jobs []env.JobState, i int) bool {
	return (i == 0 || jobs[i-1].Submit != jobs[i].Submit) &&
		(i == len(jobs)-1 || jobs[i+1].Submit != jobs[i].Submit)
}

// occupy makes jobs run, in a random order, within the cluster's capacity.
func occupy(r *rand.Rand, s *env.State, busy Busy) {
	budget := env.NewBudget(s)
	share := r.Float64()
	for _, i := range r.Perm(len(s.Jobs)) {
		if busy == NoneBusy || busy == SomeBusy && r.Float64() > share {
			continue
		}
		j := &s.Jobs[i]
		for _, k := range r.Perm(len(j.Strategies)) {
			st := &j.Strategies[k]
			if !budget.Fits(j, st) {
				continue
			}
			budget.Take(j, st)
			j.Current, j.Waiting = k, 0
			j.Ran = min(j.Ran+s.RoundLen, s.Now-j.Submit)
			j.Service += s.RoundLen.Seconds() * st.Held()
			j.Done += s.RoundLen.Seconds() * st.Throughput
			break
		}
	}
}

func randomWindow(r *rand.Rand, s *env.State) env.Window {
	if r.IntN(4) == 0 {
		return env.Window{} // before the first window
	}
	w := env.Window{
		Length:    time.Hour,
		Arrivals:  r.IntN(50),
		Completed: r.IntN(50),
		Queue:     100 * r.Float64(),
		Running:   50 * r.Float64(),
		BusyGPUs:  r.Float64() * float64(s.Cluster.GPUs()),
	}
	w.ArrivedGPUs = w.Arrivals * (1 + r.IntN(4))
	mean := logUniform(r, 100, 1e6)
	w.CompletedService = float64(w.Completed) * mean
	w.CompletedSquare = float64(w.Completed) * mean * mean * (1 + r.Float64())
	return w
}
