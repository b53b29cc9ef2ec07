package sim

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// JobStrategyID names the environment of [JobStrategy].
const JobStrategyID = "JobStrategy-v0"

// JobStrategy is the environment in which one action picks one candidate, a
// (job, strategy) pair, for the coming round, or stops, which lets the round
// pass. Action a is row a of the observation; row 0 is stop.
//
// Within a round only the mask changes: a pick masks all rows of its job and
// the rows that no longer fit (env.Budget). Stop is masked until a job was
// picked, unless no candidate is legal, so no round passes with runnable work
// and only idle GPUs. Picks take no time and have no reward; stop has those of
// the round ([Sim.Advance]).
type JobStrategy struct {
	sim     *Sim
	encoder encode.JobStrategy
	obs     env.Observation
	picks   env.Allocation
	budget  env.Budget
	unit    int       // parts of a GPU that every row takes a multiple of
	widest  [][]int32 // [T][units of the type + 1], first row that needs so many, or none
	sibling []int32   // [N], next row with the same type and number of units, or none
}

// NewJobStrategy returns JobStrategy-v0 on a simulator with this config.
func NewJobStrategy(cfg Config) (*JobStrategy, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &JobStrategy{sim: s, widest: make([][]int32, len(s.capacity))}, nil
}

// RegisterJobStrategy adds JobStrategy-v0 to r.
func RegisterJobStrategy(r *env.Registry[Config]) {
	r.Register(JobStrategyID, func(cfg Config) (env.Env, error) {
		e, err := NewJobStrategy(cfg)
		if err != nil {
			return nil, err // not e: a nil *JobStrategy is not a nil env.Env
		}
		return e, nil
	})
}

// Spec implements [env.Env].
func (e *JobStrategy) Spec() env.Spec {
	return env.Spec{ID: JobStrategyID, Encoder: encode.JobStrategyVersion, Space: encode.JobStrategySpace()}
}

// State returns the state that the observation encodes, borrowed as
// [Sim.State] is.
func (e *JobStrategy) State() *env.State { return e.sim.State() }

// Schedule returns what [Sim.Schedule] does.
func (e *JobStrategy) Schedule() metrics.Schedule { return e.sim.Schedule() }

// Reset implements [env.Env].
func (e *JobStrategy) Reset(seed uint64) (env.TimeStep, error) {
	if err := e.sim.Reset(seed); err != nil {
		return env.TimeStep{}, err
	}
	e.observe()
	return env.TimeStep{Observation: e.obs}, nil
}

// Step implements [env.Env].
func (e *JobStrategy) Step(a env.Action) (env.TimeStep, error) {
	if e.sim.Done() {
		return env.TimeStep{}, env.ErrNeedsReset
	}
	if a < 0 || int(a) >= e.obs.N() || !e.obs.Mask[a] {
		return env.TimeStep{}, fmt.Errorf("%w: %d of %d candidates in round %d", env.ErrInvalidAction, a, e.obs.N(), e.sim.state.Round)
	}
	if a > 0 {
		e.pick(int(a))
		return env.TimeStep{Observation: e.obs}, nil
	}
	out, err := e.sim.Advance(e.picks)
	if errors.Is(err, env.ErrInvalidAllocation) {
		return env.TimeStep{}, fmt.Errorf("sim: the mask allowed what the simulator refuses: %w", err)
	}
	if err != nil {
		return env.TimeStep{}, err
	}
	e.observe()
	return env.TimeStep{
		Observation: e.obs, Reward: out.Reward, Elapsed: out.Elapsed,
		Terminated: out.Terminated, Truncated: out.Truncated,
	}, nil
}

// observe encodes the state at the start of a round and files every row under
// what it needs, so that masking costs one visit per row and round.
func (e *JobStrategy) observe() {
	state := e.sim.State()
	e.encoder.Encode(&e.obs, state)
	e.picks = e.picks[:0]
	for range state.Jobs {
		e.picks = append(e.picks, env.Idle)
	}
	e.budget.Reset(state)
	e.unit = e.sim.ep.unit
	for t := range e.widest {
		e.widest[t] = e.widest[t][:0]
		for range e.budget.FreeParts(t)/e.unit + 1 {
			e.widest[t] = append(e.widest[t], none)
		}
	}
	e.sibling = append(e.sibling[:0], none)
	for row, c := range e.encoder.Candidates() {
		if row == 0 {
			continue
		}
		e.sibling = append(e.sibling, none)
		st := &state.Jobs[c.Job].Strategies[c.Strategy]
		if e.obs.Mask[row] {
			units := st.Parts() / e.unit
			e.sibling[row] = e.widest[st.Type][units]
			e.widest[st.Type][units] = int32(row)
		}
	}
}

// pick grants the candidate of row and masks what can no longer be picked.
func (e *JobStrategy) pick(row int) {
	rows := e.encoder.Candidates()
	c := rows[row]
	e.picks[c.Job] = int(c.Strategy)
	for r := row; r > 0 && rows[r].Job == c.Job; r-- {
		e.obs.Mask[r] = false
	}
	for r := row + 1; r < len(rows) && rows[r].Job == c.Job; r++ {
		e.obs.Mask[r] = false
	}
	job := &e.sim.state.Jobs[c.Job]
	st := &job.Strategies[c.Strategy]
	free := e.budget.FreeParts(st.Type) / e.unit
	for units := free; units > free-st.Parts()/e.unit; units-- {
		for r := e.widest[st.Type][units]; r != none; r = e.sibling[r] {
			e.obs.Mask[r] = false
		}
	}
	e.budget.Take(job, st)
	e.maskTenant(job.Tenant)
	e.obs.Mask[0] = true
}

// maskTenant masks the rows of a tenant's jobs that its quotas no longer allow.
func (e *JobStrategy) maskTenant(tenant string) {
	state := e.sim.State()
	if len(state.Quotas) == 0 {
		return
	}
	for row, c := range e.encoder.Candidates() {
		if !e.obs.Mask[row] || row == 0 {
			continue
		}
		if j := &state.Jobs[c.Job]; j.Tenant == tenant {
			e.obs.Mask[row] = e.budget.Fits(j, &j.Strategies[c.Strategy])
		}
	}
}
