package simplex

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

func sameObjective(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-8*math.Abs(want) {
		t.Errorf("%s: objective %v, want %v", what, got, want)
	}
}

// What must not matter does not, and what must does in proportion.
func TestSolveMetamorphic(t *testing.T) {
	r := rng.New(1, "metamorphic")
	forFamilies(t, 10, func(t *testing.T, p *Problem) {
		want := mustSolve(t, p, Options{}).Objective
		sameObjective(t, "jobs in another order", mustSolve(t, reversed(p), Options{}).Objective, want)

		faster := *p
		faster.Rate = scaled(p.Rate, 1e3)
		sameObjective(t, "rates × 1000", mustSolve(t, &faster, Options{}).Objective, 1e3*want)

		k := r.IntN(len(p.Capacity))
		factor := math.Exp(r.NormFloat64())
		sameObjective(t, "another unit of a resource", mustSolve(t, inUnit(p, k, factor), Options{}).Objective, want)

		more := *p
		more.Capacity = append([]float64(nil), p.Capacity...)
		more.Capacity[k] += 3
		if p.Objective == Sum { // in MaxMin a new capacity can make a job usable
			if got := mustSolve(t, &more, Options{}).Objective; got < want*(1-1e-8) {
				t.Errorf("more capacity: objective %v, before %v", got, want)
			}
		}
	})
}

// Identical jobs, which are merged, do as well as copies that differ in the last
// digits, which are not.
func TestSolveMerged(t *testing.T) {
	r := rng.New(1, "merged")
	forFamilies(t, 5, func(t *testing.T, p *Problem) {
		if p.Jobs() == 0 {
			return
		}
		same, near := repeated(p, 40, r, 0), repeated(p, 40, r, 1e-13)
		sameObjective(t, "merged", mustSolve(t, same, Options{}).Objective, mustSolve(t, near, Options{}).Objective)
	})
}

// Thousands of copies and near-copies are solved like any others.
func TestSolveDegenerate(t *testing.T) {
	r := rng.New(1, "degenerate")
	for _, o := range objectives {
		for _, kinds := range []int{1, 3} {
			p := cluster(o.objective, kinds, 9, 4)
			for _, noise := range []float64{0, 1e-14, 1e-9, 1e-3} {
				mustSolve(t, repeated(p, 2000/kinds, r, noise), Options{})
			}
		}
	}
}

// A basic answer to Sum has at most one job per resource that is not whole, and
// one to MaxMin at most that many that mix more than two candidates.
func TestSolveIsBasic(t *testing.T) {
	forFamilies(t, 20, func(t *testing.T, p *Problem) {
		shares := mustSolve(t, p, Options{}).Shares
		odd := 0
		for j := range p.Jobs() {
			n, total := 0, 0.0
			for len(shares) > 0 && shares[0].Candidate < p.Offsets[j+1] {
				n++
				total += shares[0].Weight
				shares = shares[1:]
			}
			if p.Objective == Sum && n > 0 && (n > 1 || total < 1-1e-9) || n > 2 {
				odd++
			}
		}
		if odd > len(p.Capacity) {
			t.Errorf("%d jobs, want at most %d\n%+v", odd, len(p.Capacity), p)
		}
	})
}

// Near the limits of the numbers, too, an answer is feasible and its status true.
func TestSolveExtremes(t *testing.T) {
	r := rng.New(1, "extremes")
	number := func() float64 {
		if r.IntN(5) == 0 {
			return 0
		}
		return math.Pow(10, 60*r.Float64()-30)
	}
	for range 2000 {
		p := families[5].random(r)
		p.Objective = Objective(r.IntN(2))
		p.Target = nil
		for i := range p.Rate {
			p.Rate[i] = number()
		}
		for k := range p.Capacity {
			p.Capacity[k] = number()
		}
		for _, u := range p.Usages {
			for i := range u {
				u[i].Amount = number()
			}
		}
		for range p.Jobs() {
			if p.Objective == MaxMin {
				p.Target = append(p.Target, max(1e-30, number()))
			}
		}
		if _, err := Solve(t.Context(), p, Options{}); err != nil {
			t.Errorf("%v\n%+v", err, p)
		}
	}
}

func scaled(x []float64, factor float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * factor
	}
	return out
}

func reversed(p *Problem) *Problem {
	q := &Problem{Objective: p.Objective, Capacity: p.Capacity, Usages: p.Usages, Offsets: []int32{0}}
	for j := p.Jobs() - 1; j >= 0; j-- {
		q.appendJob(p, j, func() float64 { return 1 })
	}
	return q
}

// inUnit returns p with resource k counted in units that are factor times smaller.
func inUnit(p *Problem, k int, factor float64) *Problem {
	q := *p
	q.Capacity = append([]float64(nil), p.Capacity...)
	q.Capacity[k] *= factor
	q.Usages = nil
	for _, u := range p.Usages {
		u = append(Usage(nil), u...)
		for i := range u {
			if int(u[i].Resource) == k {
				u[i].Amount *= factor
			}
		}
		q.Usages = append(q.Usages, u)
	}
	return &q
}

// repeated returns p n times over, its rates up to noise higher, with capacity
// for n of it.
func repeated(p *Problem, n int, r *rand.Rand, noise float64) *Problem {
	q := &Problem{Objective: p.Objective, Capacity: scaled(p.Capacity, float64(n)), Usages: p.Usages, Offsets: []int32{0}}
	for range n {
		for j := range p.Jobs() {
			q.appendJob(p, j, func() float64 { return 1 + noise*r.Float64() })
		}
	}
	return q
}

// appendJob appends job j of p, its rates times factor().
func (p *Problem) appendJob(from *Problem, j int, factor func() float64) {
	for i := from.Offsets[j]; i < from.Offsets[j+1]; i++ {
		p.Rate = append(p.Rate, from.Rate[i]*factor())
		p.Usage = append(p.Usage, from.Usage[i])
	}
	target := 1.0
	if p.Objective == MaxMin {
		target = from.Target[j]
	}
	p.endJob(target)
}
