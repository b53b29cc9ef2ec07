package lp

import (
	"context"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// Session solves one State after another, each from where the last one ended: with
// few changes between them that is several times faster. Identical jobs are merged
// as ever. Its answers are as good as the Policy's but not a function of the State
// alone, where several are best; it is not safe for concurrent use.
type Session struct {
	policy *Policy
	last   []*simplex.Result // of each program of the last decision
}

// NewSession returns a session of the policy of this name.
func NewSession(name string, c Config) (*Session, error) {
	p, err := New(name, c)
	if err != nil {
		return nil, err
	}
	return &Session{policy: p}, nil
}

// Solve is Policy.Solve from the last answer.
func (s *Session) Solve(ctx context.Context, state *env.State) (Solution, error) {
	a, stages, err := s.policy.decide(ctx, state, s.last)
	if err != nil {
		return Solution{}, err
	}
	s.last = s.last[:0]
	for _, stage := range stages {
		s.last = append(s.last, stage.Result)
	}
	return a.solution(), nil
}
