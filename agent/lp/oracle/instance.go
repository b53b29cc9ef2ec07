package oracle

import (
	"math"
	"math/rand/v2"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// Kinds are the programs that the solver knows, by name.
var Kinds = []string{"sum", "values", "floors", "least", "maxmin", "base", "lag", "total"}

// Size bounds a random problem.
type Size struct{ Jobs, Candidates, Resources int }

// Random returns a problem of this kind with at most the size, a pure function of
// r. It draws the corners on purpose: no jobs and one, copies and near-copies,
// ties, candidates over several resources, no capacity, ample capacity, jobs
// without usable candidates, six decades of range, needs that cannot be met.
func Random(r *rand.Rand, kind string, size Size) *simplex.Problem {
	d := &draw{Rand: r, size: size, decades: pick(r, 0.0, 1, 1, 2, 6), ties: r.IntN(4) == 0, zeros: r.IntN(4) == 0}
	p := &simplex.Problem{Offsets: []int32{0}}
	d.resources(p)
	n := pick(r, 0, 1, r.IntN(size.Jobs+1), r.IntN(size.Jobs+1), r.IntN(size.Jobs+1), size.Jobs)
	for range n {
		d.job(p)
	}
	switch kind {
	case "sum":
	case "values":
		p.Value = d.values(p)
	case "floors":
		p.Floor = d.needs(p, 1.2)
		if r.IntN(2) == 0 {
			p.Value = d.values(p)
		}
	case "least":
		p.Value = d.values(p)
		p.Least = d.least(p)
		if r.IntN(2) == 0 {
			p.Floor = d.needs(p, 0.5)
		}
	case "total":
		p.Objective = simplex.Total
		p.Target = d.targets(n)
	default:
		p.Objective = simplex.MaxMin
		p.Target = d.targets(n)
		if kind != "maxmin" {
			d.shape(p, kind)
		}
	}
	return p
}

type draw struct {
	*rand.Rand
	size        Size
	decades     float64
	ties, zeros bool
}

func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

func (d *draw) resources(p *simplex.Problem) {
	k := 1 + d.IntN(d.size.Resources)
	for range k {
		c := math.Ceil(d.Float64() * float64(d.size.Jobs+1) * 1.5)
		switch {
		case d.zeros && d.IntN(3) == 0:
			c = 0
		case d.IntN(6) == 0:
			c = 1000
		}
		p.Capacity = append(p.Capacity, c)
	}
}

// job appends a job, often a copy or near-copy of another.
func (d *draw) job(p *simplex.Problem) {
	if n := p.Jobs(); n > 0 && d.IntN(3) == 0 {
		factor := 1 + pick(d.Rand, 0.0, 1e-7, 1e-4)*d.Float64()
		from := d.IntN(n)
		for i := p.Offsets[from]; i < p.Offsets[from+1]; i++ {
			p.Rate, p.Usage = append(p.Rate, p.Rate[i]*factor), append(p.Usage, p.Usage[i])
		}
	} else {
		for range d.IntN(d.size.Candidates + 1) {
			p.Rate = append(p.Rate, d.rate())
			p.Usage = append(p.Usage, int32(len(p.Usages)))
			p.Usages = append(p.Usages, d.usage(len(p.Capacity)))
		}
	}
	p.Offsets = append(p.Offsets, int32(len(p.Rate)))
}

func (d *draw) rate() float64 {
	switch {
	case d.zeros && d.IntN(5) == 0:
		return 0
	case d.ties:
		return float64(1 + d.IntN(3))
	}
	return math.Pow(10, d.decades*(d.Float64()-0.5))
}

func (d *draw) usage(resources int) simplex.Usage {
	first := d.IntN(resources)
	u := simplex.Usage{{Resource: int32(first), Amount: float64(int(1) << d.IntN(4))}}
	for k := range resources {
		if k != first && d.IntN(4) == 0 {
			u = append(u, simplex.Term{Resource: int32(k), Amount: float64(1 + d.IntN(4))})
		}
	}
	return u
}

// values are of any sign, more often above 0.
func (d *draw) values(p *simplex.Problem) []float64 {
	v := make([]float64, len(p.Rate))
	for i := range v {
		v[i] = d.rate() - 0.5*d.Float64()*d.rate()
	}
	return v
}

func (d *draw) targets(n int) []float64 {
	f := make([]float64, n)
	for j := range f {
		f[j] = math.Pow(10, d.decades*(d.Float64()-0.5))
	}
	return f
}

// needs are parts of the highest rates, now and then more than can be had.
func (d *draw) needs(p *simplex.Problem, most float64) []float64 {
	needs := make([]float64, p.Jobs())
	most *= pick(d.Rand, 0.1, 0.3, 1)
	for j := range needs {
		if d.IntN(3) == 0 {
			continue
		}
		for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
			needs[j] = max(needs[j], most*d.Float64()*p.Rate[i])
		}
	}
	return needs
}

func (d *draw) least(p *simplex.Problem) []float64 {
	least := make([]float64, len(p.Capacity))
	for k, c := range p.Capacity {
		least[k] = c * pick(d.Rand, 0.0, 0, 0.1, 0.5, 1)
	}
	return least
}

// shape gives a MaxMin bases or lags.
func (d *draw) shape(p *simplex.Problem, kind string) {
	if kind == "lag" {
		p.Lag = make([]float64, p.Jobs())
		for j := range p.Lag {
			p.Lag[j] = pick(d.Rand, 0.0, 1, d.Float64(), 10*d.Float64())
		}
	}
	if kind != "base" {
		return
	}
	p.Base = d.needs(p, 0.6)
	for j := range p.Target {
		if d.IntN(3) == 0 {
			p.Target[j] = 0
		}
	}
}
