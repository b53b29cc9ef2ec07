package simplex

import (
	"math"
	"math/rand/v2"
)

// family says what random problems look like.
type family struct {
	objective Objective
	jobs      int // at most
	cands     int // per job, at most
	resources int
	decades   float64 // range of rates and targets, in powers of ten
	copies    bool    // many jobs are copies or near-copies of others
	ties      bool    // rates are small integers
	several   bool    // candidates take several resources
	zeros     bool    // some capacities and rates are 0
	ample     bool    // some capacities suffice for all
}

// random returns a problem of the family.
func (f family) random(r *rand.Rand) *Problem {
	n := r.IntN(f.jobs + 1)
	p := &Problem{Objective: f.objective, Offsets: []int32{0}}
	for range f.resources {
		c := math.Ceil(r.Float64() * float64(n+1) * 1.5)
		if f.zeros && r.IntN(4) == 0 {
			c = 0
		}
		if f.ample && r.IntN(2) == 0 {
			c = 100
		}
		p.Capacity = append(p.Capacity, c)
	}
	for j := range n {
		if f.copies && j > 0 && r.IntN(2) == 0 {
			p.copyJob(r.IntN(j), 1+1e-7*float64(r.IntN(2))*r.Float64())
			continue
		}
		for range r.IntN(f.cands + 1) {
			p.Rate = append(p.Rate, f.rate(r))
			p.Usage = append(p.Usage, int32(len(p.Usages)))
			p.Usages = append(p.Usages, f.usage(r))
		}
		p.endJob(math.Pow(10, f.decades*(r.Float64()-0.5)))
	}
	return p
}

func (f family) rate(r *rand.Rand) float64 {
	switch {
	case f.zeros && r.IntN(6) == 0:
		return 0
	case f.ties:
		return float64(1 + r.IntN(3))
	}
	return math.Pow(10, f.decades*(r.Float64()-0.5))
}

func (f family) usage(r *rand.Rand) Usage {
	first := r.IntN(f.resources)
	u := Usage{{int32(first), float64(int(1) << r.IntN(4))}}
	if f.several {
		for k := range f.resources {
			if k != first && r.IntN(3) == 0 {
				u = append(u, Term{int32(k), float64(1 + r.IntN(4))})
			}
		}
	}
	return u
}

// copyJob appends a job like job j with rates times factor.
func (p *Problem) copyJob(j int, factor float64) {
	for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
		p.Rate = append(p.Rate, p.Rate[i]*factor)
		p.Usage = append(p.Usage, p.Usage[i])
	}
	target := 1.0
	if p.Objective == MaxMin {
		target = p.Target[j]
	}
	p.endJob(target)
}

// endJob makes the candidates appended since the last call a job.
func (p *Problem) endJob(target float64) {
	p.Offsets = append(p.Offsets, int32(len(p.Rate)))
	if p.Objective != Sum {
		p.Target = append(p.Target, target)
	}
}
