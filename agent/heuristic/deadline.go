package heuristic

import (
	"context"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// EDF runs the jobs with the earliest deadline first, ties by ID; those without
// one come last, in the order of submission. It is optimal on one machine where
// all deadlines can be met (Liu and Layland 1973) and degrades badly where they
// cannot: jobs that are late already keep their place before those that could
// still be in time. It needs no knowledge of durations.
type EDF struct{}

// Decide implements agent.Policy.
func (EDF) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.fillInOrder(func(j *env.JobState) float64 {
		if j.Deadline == 0 {
			return withoutDeadline(s, j)
		}
		return (j.Deadline - s.Now).Seconds()
	})
	return p.given, nil
}

// withoutDeadline is the key of a job without a deadline: after all others, in
// the order of submission.
func withoutDeadline(s *env.State, j *env.JobState) float64 {
	const after = 1e12 // seconds; deadlines are below 2^63 ns < 1e10 s
	return after - (s.Now - j.Submit).Seconds()
}

// LeastLaxity runs the jobs with the least laxity first, which is the time to
// the deadline less the time that the job still needs in its fastest strategy
// (Mok 1983), ties by ID; jobs without a deadline come last, in the order of
// submission. Laxity falls while a job waits, so jobs of like laxity would take
// turns: a running job keeps its place until it is a round behind.
//
// Where nothing is known about the remaining work it is taken to be the work
// done so far and one round at full speed.
type LeastLaxity struct{}

// Decide implements agent.Policy.
func (LeastLaxity) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.fillInOrder(func(j *env.JobState) float64 {
		if j.Deadline == 0 {
			return withoutDeadline(s, j)
		}
		laxity := (j.Deadline - s.Now).Seconds() - timeLeft(s, j)
		if j.Current != env.Idle {
			laxity -= s.RoundLen.Seconds()
		}
		// Work may be endless; a deadline still goes before none.
		return max(min(laxity, 1e11), -1e11)
	})
	return p.given, nil
}

// TardinessConfig holds the parameters of [Tardiness]. The zero value is the
// default.
type TardinessConfig struct {
	// K is the look-ahead k: a job begins to press when its slack is about K
	// mean remaining times. 0 means 2, in the middle of the 1 to 3 that Vepsalainen
	// and Morton recommend.
	K float64
	// Density are the parameters of the greedy below it; its bonus, penalty, γ
	// and elastic terms mean the same.
	Density DensityConfig
}

// Tardiness is the apparent tardiness cost rule for weighted tardiness
// (Vepsalainen and Morton, Management Science 1987): candidates by
//
//	weight / remaining time × exp(−max(0, slack) / (K × mean remaining time)),
//
// in place of weight / remaining time in [Density], where slack is the time to
// the deadline less the remaining time in the fastest strategy. A late job
// counts in full; one without a deadline as one whose deadline is far away, so
// that such jobs go by weight over time among themselves. Its strategies are
// those of all sizes unless Density.Rigid is set.
type Tardiness struct {
	k       float64
	density *Density
}

// NewTardiness returns a Tardiness policy.
func NewTardiness(cfg TardinessConfig) (*Tardiness, error) {
	k := cfg.K
	if k == 0 {
		k = 2
	}
	if !(k > 0) || math.IsInf(k, 1) {
		return nil, errK(k)
	}
	d, err := NewDensity(cfg.Density)
	if err != nil {
		return nil, err
	}
	return &Tardiness{k, d}, nil
}

// farAway is the cost in the score, in nats, of a slack that is long: what is
// far off counts e^-12 of what is late, and no less, so that ties stay apart.
const farAway = 12

// Decide implements agent.Policy.
func (t *Tardiness) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.greedy(t.scores(p))
	return p.given, nil
}

// scores returns the score of every candidate, shape [jobs][strategies].
func (t *Tardiness) scores(p *pool) [][]float64 {
	s := p.state
	left := t.density.expectation(s)
	scores := t.density.scores(p, left)
	sum := 0.0
	for i := range s.Jobs {
		best := fastest(&s.Jobs[i])
		sum += left(&s.Jobs[i], best) / best.Throughput
	}
	scale := t.k * sum / float64(max(1, len(s.Jobs)))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		best := fastest(j)
		away := float64(farAway)
		if j.Deadline != 0 {
			slack := (j.Deadline - s.Now).Seconds() - left(j, best)/best.Throughput
			away = min(farAway, max(0, slack)/scale)
		}
		for k := range scores[i] {
			scores[i][k] -= away
		}
	}
	return scores
}

func errK(k float64) error {
	return fmt.Errorf("heuristic: tardiness: K is %v, want finite and > 0", k)
}
