package bc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Demonstration is a decision point and what is right there: the first Set
// actions of Picks in any order, then the rest of them, or, where Target is not
// empty, a distribution over the rows.
type Demonstration struct {
	Observation env.Observation
	Picks       picks.Sequence
	Set         int
	Target      []float64 // [N], sums to 1 over the legal rows
}

// Stateful is an environment whose observations encode a State: a policy over
// states can play it. sim.JobStrategy is one.
type Stateful interface {
	env.Env
	State() *env.State // at the start of the round, borrowed
}

// RecordConfig says how demonstrations are recorded.
type RecordConfig struct {
	NewEnv  func() (env.Env, error) // makes Stateful environments in which row 0 is stop
	Teacher agent.Policy
	Seeds   []uint64 // one episode each
	// Keep and KeepChanged are the shares of the rounds that are recorded where
	// the teacher leaves every job as it is and where it changes something; both
	// > 0 and <= 1. Most rounds change nothing; learnt in proportion they teach
	// to copy the present (causal confusion, de Haan et al., NeurIPS 2019).
	Keep, KeepChanged float64
	Seed              uint64 // of what is drawn
	Stream            string // name of the random streams

	// Student plays the share Mix of the rounds, the teacher the others; the
	// teacher is what is recorded in all (DAgger, Ross et al., AISTATS 2011), so
	// that it is also seen where only the student's faults lead. nil plays none.
	Student agent.Policy
	Mix     float64

	// Order ranks the members of a set: by its scores, highest first. It decides
	// which rows are still legal at later picks.
	Order *nn.Params
}

func (c *RecordConfig) validate() error {
	var errs []error
	if c.NewEnv == nil || c.Teacher == nil || c.Order == nil {
		errs = append(errs, errors.New("bc: record: NewEnv, Teacher and Order are required"))
	}
	if !(c.Keep > 0 && c.Keep <= 1) || !(c.KeepChanged > 0 && c.KeepChanged <= 1) {
		errs = append(errs, fmt.Errorf("bc: record: Keep is %v and KeepChanged %v, want both > 0 and <= 1", c.Keep, c.KeepChanged))
	}
	if !(c.Mix >= 0 && c.Mix <= 1) || c.Mix > 0 && c.Student == nil {
		errs = append(errs, fmt.Errorf("bc: record: Mix is %v, want 0 to 1, and 0 without a student", c.Mix))
	}
	return errors.Join(errs...)
}

// Record plays one episode per seed and returns the demonstrations in the order
// of seeds and rounds. It uses all processors; the result does not depend on
// their number.
func Record(ctx context.Context, cfg RecordConfig) ([]Demonstration, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	bySeed, errs := make([][]Demonstration, len(cfg.Seeds)), make([]error, len(cfg.Seeds))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(cfg.Seeds)) {
		wg.Go(func() {
			r := &recorder{cfg: &cfg, actor: neural.NewActor(cfg.Order)}
			for i := int(next.Add(1)) - 1; i < len(cfg.Seeds); i = int(next.Add(1)) - 1 {
				bySeed[i], errs[i] = r.episode(ctx, cfg.Seeds[i], i)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("bc: record seed %d: %w", cfg.Seeds[i], err)
		}
	}
	return slices.Concat(bySeed...), nil
}

// recorder plays episodes one after the other.
type recorder struct {
	cfg    *RecordConfig
	env    Stateful
	actor  *neural.Actor
	chance *rand.Rand
	demos  []Demonstration
}

func (r *recorder) episode(ctx context.Context, seed uint64, slot int) ([]Demonstration, error) {
	if r.env == nil {
		e, err := r.cfg.NewEnv()
		if err != nil {
			return nil, err
		}
		stateful, ok := e.(Stateful)
		if !ok {
			return nil, fmt.Errorf("bc: environment %s has no State method: a teacher cannot play it", e.Spec().ID)
		}
		r.env = stateful
	}
	r.demos = nil
	r.chance = rng.New(r.cfg.Seed, "bc/"+r.cfg.Stream+"/"+strconv.Itoa(slot))
	step, err := r.env.Reset(seed)
	for err == nil && !step.Done() {
		if err = ctx.Err(); err == nil {
			step, err = r.round(ctx, &step.Observation)
		}
	}
	return r.demos, err
}

// round asks the teacher where the round is recorded or its to play, and plays.
func (r *recorder) round(ctx context.Context, o *env.Observation) (env.TimeStep, error) {
	u, student := r.chance.Float64(), r.chance.Float64() < r.cfg.Mix
	var actions []env.Action
	if u < max(r.cfg.Keep, r.cfg.KeepChanged) || !student {
		allocation, err := r.cfg.Teacher.Decide(ctx, r.env.State())
		if err != nil {
			return env.TimeStep{}, fmt.Errorf("teacher: %w", err)
		}
		if actions, err = r.actions(allocation, o); err != nil {
			return env.TimeStep{}, fmt.Errorf("teacher: %w", err)
		}
		if u < r.share(allocation) && playable(actions, o) {
			d, err := newDemonstration(r.env.State(), o, actions)
			if err != nil {
				return env.TimeStep{}, err
			}
			r.demos = append(r.demos, d)
		}
	}
	if student {
		allocation, err := r.cfg.Student.Decide(ctx, r.env.State())
		if err != nil {
			return env.TimeStep{}, fmt.Errorf("student: %w", err)
		}
		if actions, err = r.actions(allocation, o); err != nil {
			return env.TimeStep{}, fmt.Errorf("student: %w", err)
		}
	}
	return r.play(o, actions)
}

// share returns the share of the rounds like this one that are recorded.
func (r *recorder) share(taught env.Allocation) float64 {
	for i := range r.env.State().Jobs {
		if taught[i] != r.env.State().Jobs[i].Current {
			return r.cfg.KeepChanged
		}
	}
	return r.cfg.Keep
}

// actions returns the actions of an allocation, ranked by the scores of Order.
func (r *recorder) actions(a env.Allocation, o *env.Observation) ([]env.Action, error) {
	s := r.env.State()
	if err := a.Validate(s); err != nil {
		return nil, err
	}
	if _, err := r.actor.Begin(o); err != nil {
		return nil, err
	}
	actions, scores := neural.Actions(s, a), r.actor.Scores()
	slices.SortStableFunc(actions[:len(actions)-1], func(a, b env.Action) int { return cmp.Compare(scores[b], scores[a]) })
	return actions, nil
}

// playable reports whether actions are legal: a policy that idles every job
// where some could run cannot be played, since stop is not legal there.
func playable(actions []env.Action, o *env.Observation) bool { return o.Mask[actions[0]] }

// play steps the environment through a round. Where actions are not playable it
// runs the candidate that Order prefers.
func (r *recorder) play(o *env.Observation, actions []env.Action) (env.TimeStep, error) {
	if !playable(actions, o) {
		best, err := r.actor.Best(o.Mask)
		if err != nil {
			return env.TimeStep{}, err
		}
		actions = []env.Action{best, stop}
	}
	var step env.TimeStep
	var err error
	for _, a := range actions {
		if step, err = r.env.Step(a); err != nil {
			return step, err
		}
	}
	return step, nil
}

// stop is the row that ends a round.
const stop = 0

// newDemonstration records that actions, of which only the last is stop, are
// right at o, the observation of s.
func newDemonstration(s *env.State, o *env.Observation, actions []env.Action) (Demonstration, error) {
	d := Demonstration{Set: len(actions) - 1}
	o.CopyTo(&d.Observation)
	d.Picks.Reset(o.N())
	mask, budget := slices.Clone(o.Mask), env.NewBudget(s)
	for _, a := range actions {
		if err := d.Picks.Add(a, mask); err != nil {
			return d, fmt.Errorf("bc: teacher's action: %w", err)
		}
		if a != stop {
			pick(s, a, mask, budget)
		}
	}
	return d, nil
}

// pick changes mask and budget as JobStrategy-v0 does when row a is picked.
func pick(s *env.State, a env.Action, mask []bool, budget *env.Budget) {
	first := 1
	for j := range s.Jobs { // the rows of the picked job
		n := len(s.Jobs[j].Strategies)
		if k := int(a) - first; k >= 0 && k < n {
			budget.Take(&s.Jobs[j], &s.Jobs[j].Strategies[k])
			clear(mask[first : first+n])
		}
		first += n
	}
	row := 1
	for j := range s.Jobs { // the rows that no longer fit
		for k := range s.Jobs[j].Strategies {
			mask[row] = mask[row] && budget.Fits(&s.Jobs[j], &s.Jobs[j].Strategies[k])
			row++
		}
	}
	mask[stop] = true
}
