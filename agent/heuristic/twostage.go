package heuristic

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// TwoStage is [Density] and a second stage that trades GPU types between the
// jobs that the first picked: pairs swap as long as that raises the sum over
// running jobs of
//
//	√(weight × best speed / remaining) × speed / best speed × share of the round left by a restart
//
// The root keeps a job that is nearly done from outbidding any number of others
// for the type it likes best. Among the rules measured for the mean completion
// time on several GPU types the strongest, or equal to it (shared design note on
// headroom); nothing of it is published that we know of.
//
// By default it is rigid. Its elastic form takes Density's terms for other
// numbers of GPUs, its Gittins form the Gittins index; see [DensityConfig].
type TwoStage struct{ first *Density }

// NewTwoStage returns a TwoStage policy whose first stage is that of cfg.
func NewTwoStage(cfg DensityConfig) (*TwoStage, error) {
	d, err := NewDensity(cfg)
	if err != nil {
		return nil, err
	}
	return &TwoStage{d}, nil
}

// Decide implements agent.Policy.
func (t *TwoStage) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	left := t.first.expectation(s)
	p.greedy(t.first.scores(p, left))
	p.exchange(func(job, k int) float64 {
		j := &s.Jobs[job]
		best := fastest(j)
		return math.Sqrt(j.Weight*(best.Throughput/left(j, best))) * (j.Strategies[k].Throughput / best.Throughput) * p.share(j, k)
	})
	return p.given, nil
}

// passes bounds the sweeps over all pairs of types: the second finds little, a
// fourth nothing that matters.
const passes = 3

// trade is a job that could change types, and what that would gain.
type trade struct {
	gain float64
	id   int64
	job  int
	to   int // strategy there
}

// exchange swaps the GPU types of pairs of running jobs that hold as many GPUs,
// the largest gain first, as long as the sum of value(job, strategy) rises. What
// is taken of each type stays the same. Under quotas only jobs of one tenant
// swap, since quotas may differ by type.
func (p *pool) exchange(value func(job, k int) float64) {
	types := len(p.state.Cluster.Types)
	for range passes {
		moved := false
		for _, c := range p.classes() {
			for a := range types {
				for b := a + 1; b < types; b++ {
					moved = p.swap(p.trades(c, a, b, value), p.trades(c, b, a, value)) || moved
				}
			}
		}
		if !moved {
			return
		}
	}
}

// class is what jobs must have in common to swap.
type class struct {
	gpus, share int
	tenant      string
}

// classOf returns the class of job in its strategy k.
func (p *pool) classOf(job, k int) class {
	j := &p.state.Jobs[job]
	c := class{gpus: j.Strategies[k].GPUs, share: j.Strategies[k].Share}
	if len(p.state.Quotas) > 0 {
		c.tenant = j.Tenant
	}
	return c
}

// classes lists the classes of the running jobs.
func (p *pool) classes() []class {
	seen := make(map[class]bool)
	var list []class
	for i, k := range p.given {
		if k == env.Idle {
			continue
		}
		if c := p.classOf(i, k); !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	return list
}

// trades lists the jobs of class c that run on type from and could run on type
// to, the largest gain first, ties by ID.
func (p *pool) trades(c class, from, to int, value func(job, k int) float64) []trade {
	var list []trade
	for i, k := range p.given {
		if k == env.Idle || p.state.Jobs[i].Strategies[k].Type != from || p.classOf(i, k) != c {
			continue
		}
		j := &p.state.Jobs[i]
		best := trade{gain: math.Inf(-1), id: j.ID, job: i}
		for other := range j.Strategies {
			if j.Strategies[other].Type == to && p.classOf(i, other) == c {
				if gain := value(i, other) - value(i, k); gain > best.gain {
					best.gain, best.to = gain, other
				}
			}
		}
		if !math.IsInf(best.gain, -1) {
			list = append(list, best)
		}
	}
	slices.SortFunc(list, func(a, b trade) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.id, b.id))
	})
	return list
}

// swap lets the jobs of both lists trade places, pair by pair, while that gains,
// and reports whether any did.
func (p *pool) swap(there, back []trade) bool {
	moved := false
	for i := range min(len(there), len(back)) {
		a, b := &there[i], &back[i]
		// A gain within rounding is none: without this two equal jobs could
		// trade places in every sweep.
		if a.gain+b.gain <= 1e-12*(math.Abs(a.gain)+math.Abs(b.gain)) {
			break
		}
		p.given[a.job], p.given[b.job] = a.to, b.to
		moved = true
	}
	return moved
}
