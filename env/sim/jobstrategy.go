package sim

import (
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
// the rows whose GPU type has too few GPUs left. Stop is masked until a job was
// picked, unless no candidate is legal, so no round passes with runnable work
// and only idle GPUs. Picks take no time and have no reward; stop has those of
// the round ([Sim.Advance]).
type JobStrategy struct {
	sim     *Sim
	encoder encode.JobStrategy
	obs     env.Observation
	picks   env.Allocation
	free    []int     // GPUs of each type not picked yet, [T]
	widest  [][]int32 // [T][GPUs of the type + 1], first row that needs so many GPUs, or none
	sibling []int32   // [N], next row with the same type and number of GPUs, or none
}

// NewJobStrategy returns JobStrategy-v0 on a simulator with this config.
func NewJobStrategy(cfg Config) (*JobStrategy, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	e := &JobStrategy{sim: s, free: make([]int, len(s.capacity)), widest: make([][]int32, len(s.capacity))}
	for t, n := range s.capacity {
		e.widest[t] = make([]int32, n+1)
	}
	return e, nil
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
	if err != nil {
		return env.TimeStep{}, fmt.Errorf("sim: the mask allowed what the simulator refuses: %w", err)
	}
	e.observe()
	return env.TimeStep{
		Observation: e.obs, Reward: out.Reward, Elapsed: out.Elapsed,
		Terminated: out.Terminated, Truncated: out.Truncated,
	}, nil
}

// observe encodes the state at the start of a round and files every row under
// the GPUs it needs, so that masking costs one visit per row and round.
func (e *JobStrategy) observe() {
	state := e.sim.State()
	e.encoder.Encode(&e.obs, state)
	e.picks = e.picks[:0]
	for range state.Jobs {
		e.picks = append(e.picks, env.Idle)
	}
	copy(e.free, e.sim.capacity)
	for t := range e.widest {
		for g := range e.widest[t] {
			e.widest[t][g] = none
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
			e.sibling[row] = e.widest[st.Type][st.GPUs]
			e.widest[st.Type][st.GPUs] = int32(row)
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
	st := &e.sim.state.Jobs[c.Job].Strategies[c.Strategy]
	for range st.GPUs {
		for r := e.widest[st.Type][e.free[st.Type]]; r != none; r = e.sibling[r] {
			e.obs.Mask[r] = false
		}
		e.free[st.Type]--
	}
	e.obs.Mask[0] = true
}
