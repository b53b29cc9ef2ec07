package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Random tries all candidates in a random order and runs what fits: a maximal
// allocation, the floor of every comparison. Its stream is seeded by the round,
// so it is a function of the state like any other policy.
type Random struct{}

// Decide implements agent.Policy.
func (Random) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	type pick struct{ job, strategy int }
	var picks []pick
	for i := range s.Jobs {
		for k := range s.Jobs[i].Strategies {
			picks = append(picks, pick{i, k})
		}
	}
	r := rng.New(uint64(s.Round), "heuristic/random")
	r.Shuffle(len(picks), func(a, b int) { picks[a], picks[b] = picks[b], picks[a] })
	for _, c := range picks {
		if p.full() {
			break
		}
		if p.given[c.job] == env.Idle && p.fits(&s.Jobs[c.job], &s.Jobs[c.job].Strategies[c.strategy]) {
			p.give(c.job, c.strategy)
		}
	}
	return p.given, nil
}
