package lp

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// program is the linear program of one State.
type program struct {
	state    *env.State
	capacity []int       // [T] GPUs of each type in service
	budget   *env.Budget // with nothing taken: says what is possible
	// quotas are the State's Quotas that have a row, in the order of the jobs
	// whose tenants they limit, so that the names of tenants mean nothing. Row
	// T+n of the problem is that of quotas[n].
	quotas   []int
	problem  simplex.Problem
	strategy []int32 // [M] index into the job's Strategies of each candidate
	// worth is what a candidate counts when GPUs are left over: its coefficient
	// in a sum, its normalized throughput in max-min; less what a restart costs.
	worth []float64 // [M]
	// goal says in words, with its unit, what the objective is.
	goal string
}

// chooser appends to dst, ascending, the strategies of j that a program
// considers. typical says which a rigid scheduler would take, as in normalize.go.
type chooser func(dst []int32, j *env.JobState, typical []int) []int32

// everything considers every strategy.
func everything(dst []int32, j *env.JobState, _ []int) []int32 {
	for k := range j.Strategies {
		dst = append(dst, int32(k))
	}
	return dst
}

// rigid considers one strategy on each GPU type, the typical one: Gavel knows a
// job by its throughput on each type.
func rigid(dst []int32, _ *env.JobState, typical []int) []int32 {
	for _, k := range typical {
		if k >= 0 {
			dst = append(dst, int32(k))
		}
	}
	slices.Sort(dst)
	return dst
}

// newProgram returns the program of s with all candidates that choose takes and
// the cluster and the tenant's quotas have GPUs for, their rates still 0.
func newProgram(s *env.State, objective simplex.Objective, choose chooser) *program {
	p := &program{state: s, capacity: s.Capacity(), budget: env.NewBudget(s)}
	q := &p.problem
	q.Objective = objective
	for _, gpus := range p.capacity {
		q.Capacity = append(q.Capacity, float64(gpus))
	}
	q.Offsets = append(make([]int32, 0, len(s.Jobs)+1), 0)
	u := newUsages(p)
	strategies := make([]int, len(p.capacity))
	var chosen []int32
	for i := range s.Jobs {
		j := &s.Jobs[i]
		tenant := u.tenant(j.Tenant)
		chosen = choose(chosen[:0], j, typical(strategies, j, p.budget))
		for _, k := range chosen {
			st := &j.Strategies[k]
			if !p.budget.Possible(j, st) {
				continue
			}
			q.Usage = append(q.Usage, u.of(st, tenant))
			p.strategy = append(p.strategy, k)
		}
		q.Offsets = append(q.Offsets, int32(len(p.strategy)))
	}
	q.Rate = make([]float64, len(p.strategy))
	p.worth = make([]float64, len(p.strategy))
	return p
}

// usages makes the distinct usage vectors of a program, and the rows of quotas.
type usages struct {
	p       *program
	known   map[usageKey]int32
	tenants map[string]int // number of those with quotas, or free
	rows    [][]int        // [tenants] rows of their quotas
}

type usageKey struct{ gpuType, parts, tenant int }

// free is the tenant that no quota limits.
const free = -1

func newUsages(p *program) *usages {
	return &usages{p: p, known: make(map[usageKey]int32), tenants: make(map[string]int)}
}

// tenant returns the number of a tenant, with rows for its quotas.
func (u *usages) tenant(name string) int {
	quotas := u.p.state.Quotas
	if len(quotas) == 0 {
		return free
	}
	if n, seen := u.tenants[name]; seen {
		return n
	}
	u.tenants[name] = free
	var rows []int
	for i := range quotas {
		if quotas[i].Tenant == name {
			rows = append(rows, len(u.p.problem.Capacity))
			u.p.problem.Capacity = append(u.p.problem.Capacity, float64(quotas[i].GPUs))
			u.p.quotas = append(u.p.quotas, i)
		}
	}
	if rows != nil {
		u.tenants[name] = len(u.rows)
		u.rows = append(u.rows, rows)
	}
	return u.tenants[name]
}

// of returns the vector of what a tenant's job takes with st.
func (u *usages) of(st *env.Strategy, tenant int) int32 {
	key := usageKey{st.Type, st.Parts(), tenant}
	id, ok := u.known[key]
	if ok {
		return id
	}
	usage := simplex.Usage{{Resource: int32(st.Type), Amount: st.Held()}}
	if tenant != free {
		for _, row := range u.rows[tenant] {
			quota := &u.p.state.Quotas[u.p.quotas[row-len(u.p.capacity)]]
			if quota.Type == st.Type || quota.Type == env.AnyType {
				usage = append(usage, simplex.Term{Resource: int32(row), Amount: st.Held()})
			}
		}
	}
	id = int32(len(u.p.problem.Usages))
	u.known[key] = id
	u.p.problem.Usages = append(u.p.problem.Usages, usage)
	return id
}

// setRates makes the rate of every candidate its throughput.
func (p *program) setRates() {
	for i := range p.state.Jobs {
		first, last := p.candidates(i)
		for n := first; n < last; n++ {
			p.problem.Rate[n] = within(p.strategyOf(i, n).Throughput)
		}
	}
}

// costOf returns what candidate i takes, at prices.
func (p *program) costOf(i int, prices []float64) float64 {
	cost := 0.0
	for _, t := range p.problem.Usages[p.problem.Usage[i]] {
		cost += float64(prices[t.Resource] * t.Amount)
	}
	return cost
}

// candidates returns the range of job j's candidates.
func (p *program) candidates(j int) (first, last int) {
	return int(p.problem.Offsets[j]), int(p.problem.Offsets[j+1])
}

// strategyOf returns the strategy of candidate i, which is one of job j.
func (p *program) strategyOf(j, i int) *env.Strategy {
	return &p.state.Jobs[j].Strategies[p.strategy[i]]
}

// The solver takes numbers up to 1e30. Real ones are nowhere near; a message
// may hold anything.
const largest, smallest = 1e30, 1e-30

// within returns x limited to what the solver takes, 0 included.
func within(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), largest)
}

// minShare is the least part of the horizon that counts as useful after a
// restart. It keeps a restart longer than the horizon from making a job
// impossible to start: it only makes moving it a bad idea.
const minShare = 0.1

// target returns x limited to what the solver takes as a target.
func target(x float64) float64 {
	if math.IsNaN(x) {
		return smallest
	}
	return min(max(x, smallest), largest)
}

// usefulShare returns the part of the horizon in which job j would work if it
// went on, or started, under strategy k: all of it where it runs already. It is
// HeteroSched's restart term, (1 − δ/horizon).
func (c *Config) usefulShare(s *env.State, j *env.JobState, k int) float64 {
	if k == j.Current {
		return 1
	}
	horizon := c.Horizon * s.RoundLen.Seconds()
	return max(minShare, 1-j.Strategies[k].Restart.Seconds()/horizon)
}
