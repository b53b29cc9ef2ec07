package neural

import (
	"context"
	"fmt"
	"sync"

	"github.com/yardmaster/yardmaster/agent/novelty"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/radix"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Policy is a learned agent.Policy. It is safe for concurrent use.
type Policy struct {
	scorer  *nn.Scorer
	novelty *novelty.Scorer // nil where the model has no statistics
	pool    sync.Pool       // of *decision
}

// decision is the memory of one decision.
type decision struct {
	encoder encode.JobStrategy
	obs     env.Observation
	scratch nn.Scratch
	scores  []float32
	order   []radix.Item
	sorter  radix.Sorter
	budget  env.Budget
}

// NewPolicy returns the policy of m. Its error wraps models.ErrIncompatible if
// m is of another kind or reads other features than encode computes.
func NewPolicy(m *models.Model) (*Policy, error) {
	if err := m.Manifest.CheckEncoder(models.JobStrategy, Encoder(encode.JobStrategyVersion, encode.JobStrategySpace())); err != nil {
		return nil, fmt.Errorf("neural: new policy: %w", err)
	}
	p := &Policy{scorer: nn.NewScorer(m.Params)}
	if n := m.Manifest.Novelty; n != nil {
		var err error
		if p.novelty, err = novelty.New(n.Clone()); err != nil {
			return nil, fmt.Errorf("neural: new policy: %w", err)
		}
	}
	p.pool.New = func() any { return new(decision) }
	return p, nil
}

// Decide implements agent.Policy. Its error wraps ErrNonFinite where the
// network overflowed.
func (p *Policy) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	return p.DecideInto(ctx, nil, s)
}

// DecideInto is Decide into the memory of a former result, dst, which it
// overwrites: with enough of it nothing is allocated.
func (p *Policy) DecideInto(ctx context.Context, dst env.Allocation, s *env.State) (env.Allocation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := p.pool.Get().(*decision)
	defer p.pool.Put(d)
	return p.decide(ctx, d, dst, s)
}

// DecideScored is Decide that also tells how far s is from the states of training,
// as novelty.Scorer does; -1 where the model does not know those.
func (p *Policy) DecideScored(ctx context.Context, s *env.State) (a env.Allocation, unlike float64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, -1, err
	}
	d := p.pool.Get().(*decision)
	defer p.pool.Put(d)
	if a, err = p.decide(ctx, d, nil, s); err != nil || p.novelty == nil {
		return a, -1, err
	}
	return a, p.novelty.Score(&d.obs), nil
}

// decide decides in the memory of d and dst.
func (p *Policy) decide(ctx context.Context, d *decision, dst env.Allocation, s *env.State) (env.Allocation, error) {
	if err := p.score(ctx, d, s); err != nil {
		return nil, err
	}
	return d.pick(dst, s), nil
}

// score encodes s and scores its rows in the memory of d.
func (p *Policy) score(ctx context.Context, d *decision, s *env.State) error {
	d.encoder.Encode(&d.obs, s)
	if err := ctx.Err(); err != nil {
		return err
	}
	d.scores = grow(d.scores, d.obs.N())
	p.scorer.Score(d.scores, d.obs.Global, d.obs.Candidates, d.obs.Mask, &d.scratch)
	return checkFinite(d.scores)
}

// grow returns a slice of length n, reusing s's memory where it is enough.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}
