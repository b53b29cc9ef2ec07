package guard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// aidShare is the share of the GPUs that jobs which are being helped may hold before
// another one is: the policy must not lose the cluster to its own backlog.
const aidShare = 0.25

// aid is the help for starving jobs in one decision: jobs that have to run, and
// what is left for the others.
type aid struct {
	pins []pin
	// The job that begins to be helped with this decision, and what made it so.
	fresh         bool
	waited, limit time.Duration
	rest          *env.State // without the pinned jobs and their GPUs; built when needed
	index         []int      // of rest's jobs in the state
	state         *env.State
}

// pin is a job that runs whatever else is decided.
type pin struct {
	job      int // index into the state's jobs
	strategy int
}

// helps returns the help that jobs of s need, nil where none does.
func (t *track) helps(cfg *Starvation, s *env.State) *aid {
	if cfg.Off {
		return nil
	}
	t.mu.Lock()
	leases := slices.Clone(t.leases)
	t.mu.Unlock()
	starving, waited, limit := mostStarved(cfg, s, leases)
	if len(leases) == 0 && starving < 0 {
		return nil
	}
	a := &aid{state: s}
	budget := env.NewBudget(s)
	held, all := 0.0, 0
	for _, n := range s.Capacity() {
		all += n
	}
	for i := range s.Jobs {
		if slices.ContainsFunc(leases, func(l lease) bool { return l.job == s.Jobs[i].ID }) {
			held += a.pin(budget, i)
		}
	}
	if starving >= 0 && (held == 0 || held < aidShare*float64(all)) && a.pin(budget, starving) > 0 {
		a.fresh, a.waited, a.limit = true, waited, limit
	}
	if len(a.pins) == 0 {
		return nil
	}
	return a
}

// mostStarved returns the job that waited longest among those that wait too long,
// are not helped already and could run, and for how long a job may wait; -1 is none.
func mostStarved(cfg *Starvation, s *env.State, leases []lease) (job int, waited, limit time.Duration) {
	some := false
	for i := range s.Jobs {
		some = some || s.Jobs[i].Waiting > cfg.AtLeast
	}
	if !some { // as nearly always: no need for the median
		return -1, 0, 0
	}
	limit = max(cfg.AtLeast, scale(cfg.Factor, medianRan(s.Jobs)))
	budget := env.NewBudget(s)
	job = -1
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Waiting <= limit || j.Waiting <= waited || slices.ContainsFunc(leases, func(l lease) bool { return l.job == j.ID }) {
			continue
		}
		if slices.ContainsFunc(j.Strategies, func(st env.Strategy) bool { return budget.Possible(j, &st) }) {
			job, waited = i, j.Waiting
		}
	}
	return job, waited, limit
}

// medianRan returns the median of the time that jobs ran, those left out that never
// did; 0 without any.
func medianRan(jobs []env.JobState) time.Duration {
	var ran []time.Duration
	for i := range jobs {
		if jobs[i].Ran > 0 {
			ran = append(ran, jobs[i].Ran)
		}
	}
	if len(ran) == 0 {
		return 0
	}
	slices.Sort(ran)
	return ran[len(ran)/2]
}

func scale(factor float64, d time.Duration) time.Duration {
	return time.Duration(min(factor*float64(d), math.MaxInt64/2))
}

// pin makes a job run in the strategy it runs in, or the one that gets most done
// for its GPUs, speed over √GPUs, among those that fit. It returns the GPUs that
// takes, 0 where none fits.
func (a *aid) pin(budget *env.Budget, job int) float64 {
	j := &a.state.Jobs[job]
	best, density := env.Idle, 0.0
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if !budget.Fits(j, st) {
			continue
		}
		if k == j.Current {
			best = k
			break
		}
		if d := st.Throughput / math.Sqrt(st.Held()); best == env.Idle || d > density {
			best, density = k, d
		}
	}
	if best == env.Idle {
		return 0
	}
	budget.Take(j, &j.Strategies[best])
	a.pins = append(a.pins, pin{job, best})
	return j.Strategies[best].Held()
}

// granted reports whether an allocation runs every job that is to be helped.
func (a *aid) granted(allocation env.Allocation) bool {
	return !slices.ContainsFunc(a.pins, func(p pin) bool { return allocation[p.job] == env.Idle })
}

// others returns the state without the pinned jobs and without what they take,
// rounded up to whole GPUs.
func (a *aid) others() *env.State {
	if a.rest != nil {
		return a.rest
	}
	rest := *a.state
	rest.Jobs = make([]env.JobState, 0, len(a.state.Jobs))
	for i := range a.state.Jobs {
		if !slices.ContainsFunc(a.pins, func(p pin) bool { return p.job == i }) {
			rest.Jobs = append(rest.Jobs, a.state.Jobs[i])
			a.index = append(a.index, i)
		}
	}
	taken := make([]int, len(rest.Cluster.Types)) // parts
	quotas := make([]int, len(rest.Quotas))
	for _, p := range a.pins {
		j := &a.state.Jobs[p.job]
		st := &j.Strategies[p.strategy]
		taken[st.Type] += st.Parts()
		for q := range rest.Quotas {
			if of := &rest.Quotas[q]; of.Tenant == j.Tenant && (of.Type == st.Type || of.Type == env.AnyType) {
				quotas[q] += st.Parts()
			}
		}
	}
	for t := range taken {
		taken[t] = wholeGPUs(taken[t])
	}
	rest.Cluster.Nodes, rest.Down = withoutGPUs(&rest, taken)
	rest.Quotas = slices.Clone(rest.Quotas)
	for q := range rest.Quotas {
		rest.Quotas[q].GPUs -= wholeGPUs(quotas[q])
	}
	a.rest = &rest
	return a.rest
}

func wholeGPUs(parts int) int { return (parts + env.PartsPerGPU - 1) / env.PartsPerGPU }

// withoutGPUs returns the nodes and those out of service after so many GPUs of each
// type are taken away.
func withoutGPUs(s *env.State, taken []int) (nodes []env.Node, down []int) {
	nodes = slices.Clone(s.Cluster.Nodes)
	for i := range nodes {
		n := &nodes[i]
		_, out := slices.BinarySearch(s.Down, i)
		switch take := taken[n.Type]; {
		case out:
			down = append(down, i)
		case take >= n.GPUs: // a node has at least one GPU, so it is out of service then
			taken[n.Type] -= n.GPUs
			down = append(down, i)
		default:
			n.GPUs -= take
			taken[n.Type] = 0
		}
	}
	return nodes, down
}

// with returns the allocation of the others together with the pinned jobs.
func (a *aid) with(others env.Allocation) (env.Allocation, error) {
	if len(others) != len(a.index) {
		return nil, fmt.Errorf("%w: %d entries for %d jobs", errInvalid, len(others), len(a.index))
	}
	all := env.NewAllocation(len(a.state.Jobs))
	for i, k := range others {
		all[a.index[i]] = k
	}
	for _, p := range a.pins {
		all[p.job] = p.strategy
	}
	return all, nil
}

// settle notes what became of the help: jobs keep their GPUs for some decisions,
// those that left are forgotten.
func (t *track) settle(cfg *Starvation, a *aid, source wire.Source) {
	if a == nil {
		if !cfg.Off {
			t.mu.Lock()
			t.leases = nil // the jobs that were helped are gone, or cannot run any more
			t.mu.Unlock()
		}
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	left := make(map[int64]int, len(t.leases))
	for _, l := range t.leases {
		left[l.job] = l.left - 1
	}
	t.leases = t.leases[:0]
	for i, p := range a.pins {
		id := a.state.Jobs[p.job].ID
		if n, had := left[id]; had {
			if n > 0 {
				t.leases = append(t.leases, lease{id, n})
			}
		} else if a.fresh && i == len(a.pins)-1 && source != wire.SourcePolicy && cfg.Lease > 1 {
			t.leases = append(t.leases, lease{id, cfg.Lease - 1})
		}
	}
}
