package env

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

var (
	// ErrNeedsReset is returned by Step before the first Reset and after the
	// end of an episode.
	ErrNeedsReset = errors.New("env: step before reset")
	// ErrInvalidAction is wrapped by the error of a Step that the mask forbids.
	ErrInvalidAction = errors.New("env: invalid action")
)

// Action is the index of a candidate: a row of Observation.Candidates.
type Action int

// Observation is the tensor view of a decision point. All its slices are
// borrowed from the environment that returned it: valid until its next Step or
// Reset. Use CopyTo to keep one.
type Observation struct {
	Global     []float32 // [G], G = len(Space.Global)
	Candidates []float32 // [N, F], row-major, F = len(Space.Candidate)
	Mask       []bool    // [N], true where the action is legal; at least one is
	// Epoch changes whenever Global or Candidates changed. While it stays the
	// same only Mask did, and scores of the candidates may be used again.
	Epoch int64
}

// N returns the number of candidates.
func (o *Observation) N() int { return len(o.Mask) }

// CopyTo copies o into dst, reusing dst's memory.
func (o *Observation) CopyTo(dst *Observation) {
	dst.Global = append(dst.Global[:0], o.Global...)
	dst.Candidates = append(dst.Candidates[:0], o.Candidates...)
	dst.Mask = append(dst.Mask[:0], o.Mask...)
	dst.Epoch = o.Epoch
}

// Feature names one column of an observation and bounds its values.
type Feature struct {
	Name      string
	Low, High float32
}

// Space describes all observations and actions of an environment. The number
// of candidates N varies from one decision to the next; actions are 0 to N-1.
type Space struct {
	Global    []Feature // [G]
	Candidate []Feature // [F]
	// MaxCandidates bounds N; 0 is no bound.
	MaxCandidates int
}

// Contains returns nil if o has the right shape, every value is finite and
// within its feature's bounds, and some action is legal.
func (s *Space) Contains(o *Observation) error {
	n, f := o.N(), len(s.Candidate)
	if len(o.Global) != len(s.Global) || len(o.Candidates) != n*f {
		return fmt.Errorf("env: observation has shapes [%d], [%d] for N = %d, want [%d], [%d]", len(o.Global), len(o.Candidates), n, len(s.Global), n*f)
	}
	if s.MaxCandidates > 0 && n > s.MaxCandidates {
		return fmt.Errorf("env: observation has %d candidates, want at most %d", n, s.MaxCandidates)
	}
	for i, x := range o.Global {
		if err := s.Global[i].check(x); err != nil {
			return fmt.Errorf("env: observation: global %w", err)
		}
	}
	for i, x := range o.Candidates {
		if err := s.Candidate[i%f].check(x); err != nil {
			return fmt.Errorf("env: observation: candidate %d: %w", i/f, err)
		}
	}
	for _, legal := range o.Mask {
		if legal {
			return nil
		}
	}
	return errors.New("env: observation: no action is legal")
}

func (f *Feature) check(x float32) error {
	if math.IsNaN(float64(x)) || x < f.Low || x > f.High {
		return fmt.Errorf("feature %s is %v, want %v to %v", f.Name, x, f.Low, f.High)
	}
	return nil
}

// Sample returns a legal action of o, each with the same probability.
// It panics if none is legal, which Contains forbids.
func (s *Space) Sample(o *Observation, r *rand.Rand) Action {
	legal := 0
	for _, ok := range o.Mask {
		if ok {
			legal++
		}
	}
	k := r.IntN(legal)
	for i, ok := range o.Mask {
		if ok {
			if k == 0 {
				return Action(i)
			}
			k--
		}
	}
	panic("unreachable: k < number of legal actions")
}

// Spec describes an environment; it never changes.
type Spec struct {
	ID      string // registered name with its version, such as JobStrategy-v0
	Encoder string // version of the State → Observation encoder
	Space   Space
}

// TimeStep is the result of Reset and Step.
type TimeStep struct {
	Observation Observation   // borrowed
	Reward      float64       // 0 after Reset
	Terminated  bool          // the episode reached its end: nothing follows
	Truncated   bool          // a limit outside the problem ended it: bootstrap
	Elapsed     time.Duration // simulated time that passed in this step
}

// Done reports whether the episode is over.
func (t *TimeStep) Done() bool { return t.Terminated || t.Truncated }

// Env is a Gym-style environment. Implementations are not safe for concurrent
// use and pass envtest.Check.
type Env interface {
	// Spec describes every observation and action; it never changes.
	Spec() Spec
	// Reset starts an episode that is a pure function of seed and of the
	// actions that follow.
	Reset(seed uint64) (TimeStep, error)
	// Step applies a. It returns ErrInvalidAction if the last mask forbids a,
	// leaving the episode as it was, and ErrNeedsReset after a TimeStep that
	// is Done. At the end of an episode the observation is that of the final
	// state; its mask may be all false.
	Step(a Action) (TimeStep, error)
}
