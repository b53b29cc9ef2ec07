package simplex

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// unsmoothed solves p by pivots alone, from samples.
func unsmoothed(t *testing.T, p *Problem) *Result {
	t.Helper()
	o := Options{}
	o.fillDefaults(p)
	s := &solver{p: p, full: newInstance(p), copies: true, budget: budget{ctx: t.Context(), limit: o.MaxPivots}}
	s.in, s.class = s.full.merge()
	r := s.solve(nil)
	if err := complete(p, r, o.Gap); err != nil {
		t.Fatal(err)
	}
	return r
}

// Pivots alone lead to the same objective, on hundreds of jobs of every kind.
func TestSmoothTwin(t *testing.T) {
	r := rng.New(1, "smooth/twin")
	for _, o := range objectives {
		for _, f := range families {
			f.objective, f.jobs = o.objective, 80*f.jobs
			for range 4 {
				p := f.random(r)
				want := unsmoothed(t, p)
				sameObjective(t, o.name, mustSolve(t, p, Options{}).Objective, want.Objective)
				warm := *want
				warm.Prices = append([]float64(nil), want.Prices...)
				for k := range warm.Prices {
					warm.Prices[k] *= 0.9 + 0.2*r.Float64()
				}
				sameObjective(t, o.name, mustSolve(t, p, Options{Warm: &warm}).Objective, want.Objective)
			}
		}
	}
}

// Smoothing leaves little to pivots, near-copies included.
func TestSmoothFewPivots(t *testing.T) {
	for _, o := range objectives {
		regular := cluster(o.objective, 10_000, 16, 16)
		copies := repeated(cluster(o.objective, 5, 9, 4), 21_000/5, rng.New(1, "copies"), 1e-6)
		for _, p := range []*Problem{regular, copies} {
			if r := mustSolve(t, p, Options{}); r.Pivots > p.Jobs()/20 {
				t.Errorf("%s: %d pivots for %d jobs", o.name, r.Pivots, p.Jobs())
			}
		}
	}
}

// units returns a smoothing of one job of which every candidate, n of them, takes a
// resource of its own, so that excess is x less the capacity, which is 1.
func units(n int) *smoothing {
	p := &Problem{Offsets: []int32{0, int32(n), int32(n)}}
	for k := range n {
		p.Capacity = append(p.Capacity, 1)
		p.Usages = append(p.Usages, Usage{{int32(k), 1}})
		p.Rate, p.Usage = append(p.Rate, 1), append(p.Usage, int32(k))
	}
	in := newInstance(p)
	return newSmoothing(newCore(in, sumPricer{in}, in.all(), make([]column, in.n), &budget{}), sumPricer{in})
}

// fixed is a chooser of which only the rate is asked.
type fixed struct {
	chooser
	rate float64
}

func (f fixed) target(int32) (rate, rise float64) { return f.rate, 1 }

// shares returns what a job with these choices takes of each, where rate > 0 so that
// it gets that rate.
func shares(s *smoothing, list []choice, w, rate float64) []float64 {
	clear(s.excess)
	clear(s.lift)
	clear(s.curve)
	s.choices = append(s.choices[:0], list...)
	if rate > 0 {
		s.jobs = fixed{rate: rate}
		s.mix(0, w)
	} else {
		s.divide(1, w)
	}
	return append([]float64(nil), s.excess...)
}

func randomChoices(r *rand.Rand, n int) []choice {
	list := make([]choice, n)
	for i := range list {
		list[i] = choice{vector: int32(i), rate: r.Float64(), loss: r.Float64()}
	}
	list[0].loss = 0
	return list
}

// A job's parts add up to 1, give the rate, and are the best: those that it takes
// are worth the same at the margin, and the others not more. How they change with
// losses and rate is what curve and lift say.
func TestSmoothShares(t *testing.T) {
	r := rng.New(1, "smooth/shares")
	for n := 2; n <= 6; n++ {
		s := units(n)
		for range 200 {
			list, w := randomChoices(r, n), 0.1+r.Float64()
			checkMargins(t, shares(s, list, w, 0), list, w)
			checkSlopes(t, s, list, w, 0)

			list[1].loss, list[0].rate, list[1].rate = 0, 0, 1
			rate := r.Float64()
			x := shares(s, list, w, rate)
			got := 0.0
			for i, c := range list {
				got += x[i] * c.rate
			}
			if math.Abs(got-rate) > 1e-9 {
				t.Errorf("rate %v, want %v", got, rate)
			}
			checkSlopes(t, s, list, w, rate)
		}
	}
}

func checkMargins(t *testing.T, x []float64, list []choice, w float64) {
	t.Helper()
	total, highest, lowest := 0.0, math.Inf(-1), math.Inf(1)
	for i, c := range list {
		total += x[i]
		if x[i] > 0 {
			highest = max(highest, c.loss+w*x[i])
		}
		lowest = min(lowest, c.loss+w*x[i])
	}
	if math.Abs(total-1) > 1e-9 || highest > lowest+1e-9 {
		t.Errorf("parts %v of %+v: sum %v, margins from %v to %v", x, list, total, lowest, highest)
	}
}

// checkSlopes compares curve and lift with differences, which kinks may spoil now
// and then.
func checkSlopes(t *testing.T, s *smoothing, list []choice, w, rate float64) {
	t.Helper()
	const h = 1e-7
	before := shares(s, list, w, rate)
	n := len(list)
	curve, lift := append([]float64(nil), s.curve...), append([]float64(nil), s.lift...)
	for i := range list {
		list[i].loss += h
		after := shares(s, list, w, rate)
		list[i].loss -= h
		for k := range after {
			if slope := (before[k] - after[k]) / h; math.Abs(slope-curve[k*n+i]) > 1e-4*(1/w) && sameSupport(before, after) {
				t.Errorf("x[%d] falls by %v with loss %d, curve says %v\n%+v", k, slope, i, curve[k*n+i], list)
			}
		}
	}
	if rate == 0 || rate > 1-h {
		return
	}
	after := shares(s, list, w, rate+h)
	for k := range after {
		if slope := (after[k] - before[k]) / h; math.Abs(slope-lift[k]) > 1e-4*math.Abs(lift[k])+1e-4 && sameSupport(before, after) {
			t.Errorf("x[%d] rises by %v with the rate, lift says %v\n%+v", k, slope, lift[k], list)
		}
	}
}

func sameSupport(a, b []float64) bool {
	for i := range a {
		if (a[i] == 0) != (b[i] == 0) {
			return false
		}
	}
	return true
}

// Nor does a warm start, round after round.
func TestSmoothWarmFewPivots(t *testing.T) {
	r := rng.New(3, "smooth/warm")
	for _, o := range objectives {
		p := cluster(o.objective, 10_000, 16, 4)
		var s Solver
		for round := range 6 {
			got, err := s.Solve(t.Context(), p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != Optimal || got.Pivots > p.Jobs()/20 {
				t.Errorf("%s, round %d: %v after %d pivots", o.name, round, got.Status, got.Pivots)
			}
			q := *p
			q.Rate = append([]float64(nil), p.Rate...)
			for range 100 {
				j := r.IntN(p.Jobs())
				for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
					q.Rate[i] *= 0.75 + 0.5*r.Float64()
				}
			}
			p = &q
		}
	}
}
