package lp

import (
	"math"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// program is the linear program of one State.
type program struct {
	state    *env.State
	capacity []int // [T] GPUs of each type in service
	problem  simplex.Problem
	strategy []int32 // [M] index into the job's Strategies of each candidate
	// worth is what a candidate counts when GPUs are left over: its coefficient
	// in a sum, its normalized throughput in max-min; less what a restart costs.
	worth []float64 // [M]
}

// newProgram returns the program of s with all candidates that the cluster has
// GPUs for, their rates still 0.
func newProgram(s *env.State, objective simplex.Objective) *program {
	p := &program{state: s, capacity: s.Capacity()}
	q := &p.problem
	q.Objective = objective
	for _, gpus := range p.capacity {
		q.Capacity = append(q.Capacity, float64(gpus))
	}
	q.Offsets = append(make([]int32, 0, len(s.Jobs)+1), 0)
	budget := env.NewBudget(s)
	type key struct{ gpuType, parts int }
	usages := make(map[key]int32)
	for i := range s.Jobs {
		for k := range s.Jobs[i].Strategies {
			st := &s.Jobs[i].Strategies[k]
			if !budget.Possible(&s.Jobs[i], st) {
				continue
			}
			id, ok := usages[key{st.Type, st.Parts()}]
			if !ok {
				id = int32(len(q.Usages))
				usages[key{st.Type, st.Parts()}] = id
				q.Usages = append(q.Usages, simplex.Usage{{Resource: int32(st.Type), Amount: st.Held()}})
			}
			q.Usage = append(q.Usage, id)
			p.strategy = append(p.strategy, int32(k))
		}
		q.Offsets = append(q.Offsets, int32(len(p.strategy)))
	}
	q.Rate = make([]float64, len(p.strategy))
	p.worth = make([]float64, len(p.strategy))
	return p
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
