package oracle

import (
	"math"
	"math/rand/v2"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Shape says what Cluster draws.
type Shape struct {
	Objective  simplex.Objective
	Jobs       int
	Candidates int // per job
	Types      int // K
	// Kinds is from how many jobs all are near-copies, with rates up to 1e-6
	// apart; 0 is that each is drawn on its own.
	Kinds int
	Seed  uint64
}

// Cluster returns a problem like a busy cluster's: jobs with candidates of 1, 2, 4
// or 8 GPUs of one type with near-linear speedup, and about one GPU per job. In
// MaxMin and Total the target of a job is the mean of its rates, so that capacity
// is what limits it.
func Cluster(s Shape) *simplex.Problem {
	r := rng.New(s.Seed, "oracle/cluster")
	p := &simplex.Problem{Objective: s.Objective, Offsets: []int32{0}}
	speed := make([]float64, s.Types)
	for t := range s.Types {
		p.Capacity = append(p.Capacity, math.Ceil(float64(s.Jobs)/float64(s.Types)*(0.5+r.Float64())))
		for g := range 4 {
			p.Usages = append(p.Usages, simplex.Usage{{Resource: int32(t), Amount: float64(int(1) << g)}})
		}
		speed[t] = 0.5 + 3*r.Float64()
	}
	for j := range s.Jobs {
		if s.Kinds > 0 && j >= s.Kinds {
			copyJob(p, r.IntN(s.Kinds), r)
		} else {
			drawJob(p, r, speed, s.Candidates)
		}
		p.Offsets = append(p.Offsets, int32(len(p.Rate)))
		if s.Objective == simplex.Sum {
			continue
		}
		total := 0.0
		for _, rate := range p.Rate[p.Offsets[j]:] {
			total += rate
		}
		p.Target = append(p.Target, total/float64(s.Candidates))
	}
	return p
}

func drawJob(p *simplex.Problem, r *rand.Rand, speed []float64, candidates int) {
	weight, efficiency := math.Exp(r.NormFloat64()), 0.7+0.3*r.Float64()
	for range candidates {
		t, g := r.IntN(len(speed)), r.IntN(4)
		p.Rate = append(p.Rate, weight*speed[t]*(0.7+0.6*r.Float64())*math.Pow(float64(int(1)<<g), efficiency))
		p.Usage = append(p.Usage, int32(4*t+g))
	}
}

func copyJob(p *simplex.Problem, from int, r *rand.Rand) {
	for i := p.Offsets[from]; i < p.Offsets[from+1]; i++ {
		p.Rate = append(p.Rate, p.Rate[i]*(1+1e-6*r.Float64()))
		p.Usage = append(p.Usage, p.Usage[i])
	}
}

// Change returns p with the rates of this part of its jobs changed, by up to a
// half.
func Change(p *simplex.Problem, part float64, seed uint64) *simplex.Problem {
	r := rng.New(seed, "oracle/change")
	q := *p
	q.Rate = append([]float64(nil), p.Rate...)
	n := p.Jobs()
	for range int(part * float64(n)) {
		j := r.IntN(n)
		for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
			q.Rate[i] *= 0.75 + 0.5*r.Float64()
		}
	}
	return &q
}
