package simplex

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yardmaster/yardmaster/env/rng"
)

// small returns a problem of jobs given by their rates on one or more resources,
// one unit of one resource per candidate.
func small(objective Objective, capacity []float64, rates ...[]float64) *Problem {
	p := &Problem{Objective: objective, Capacity: capacity, Offsets: []int32{0}}
	for k := range capacity {
		p.Usages = append(p.Usages, Usage{{int32(k), 1}})
	}
	for _, job := range rates {
		for k, rate := range job {
			p.Rate = append(p.Rate, rate)
			p.Usage = append(p.Usage, int32(k))
		}
		p.endJob(1)
	}
	return p
}

func TestSolveByHand(t *testing.T) {
	for _, c := range []struct {
		name      string
		p         *Problem
		objective float64
		shares    []Share
		prices    []float64
	}{
		{"the dearer job first", small(Sum, []float64{1.5}, []float64{3}, []float64{5}), 6.5, []Share{{0, 0.5}, {1, 1}}, []float64{3}},
		{"nearly two", small(Sum, []float64{1.75}, []float64{5}, []float64{3}), 7.25, []Share{{0, 1}, {1, 0.75}}, []float64{3}},
		{"fair halves", small(MaxMin, []float64{1}, []float64{2}, []float64{2}), 1, []Share{{0, 0.5}, {1, 0.5}}, []float64{1}},
		{"the slower job gets more", small(MaxMin, []float64{1}, []float64{1}, []float64{3}), 0.75, []Share{{0, 0.75}, {1, 0.25}}, []float64{0.75}},
		{"enough for all", small(Sum, []float64{2}, []float64{3}, []float64{5}), 8, []Share{{0, 1}, {1, 1}}, []float64{0}},
		{"the slowest is the ceiling", small(MaxMin, []float64{2}, []float64{1}, []float64{4}), 1, []Share{{0, 1}, {1, 0.25}}, []float64{0}},
		{"no jobs", small(Sum, []float64{1}), 0, nil, []float64{0}},
		{"no jobs to be fair to", small(MaxMin, []float64{1}), 0, nil, []float64{0}},
		{"nothing to share out", small(Sum, []float64{0}, []float64{3}), 0, nil, []float64{0}},
		{"nothing to be fair with", small(MaxMin, []float64{0}, []float64{3}), 0, nil, []float64{0}},
		{"a job that cannot progress counts for nothing", small(MaxMin, []float64{2, 0}, []float64{0, 7}, []float64{4, 0}), 4, []Share{{2, 1}}, []float64{0, 0}},
		{"no resources", &Problem{Usages: []Usage{{}}, Offsets: []int32{0, 2}, Rate: []float64{1, 2}, Usage: []int32{0, 0}}, 2, []Share{{1, 1}}, []float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustSolve(t, c.p, Options{})
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 6e-9 })
			if diff := cmp.Diff(c.objective, r.Objective, near); diff != "" {
				t.Errorf("objective: want - got +\n%s", diff)
			}
			if diff := cmp.Diff(c.shares, r.Shares, near); diff != "" {
				t.Errorf("shares: want - got +\n%s", diff)
			}
			if diff := cmp.Diff(c.prices, r.Prices, near); diff != "" {
				t.Errorf("prices: want - got +\n%s", diff)
			}
		})
	}
}

// Three jobs on a fast and a slow GPU, rates relative to what each would get from
// half its time on either. By hand: with shares (5/11, 0), (5/11, 1/11) and
// (1/11, 10/11) all three get 8/11, and both GPUs are full. Prices that prove it:
// λ = (24/55, 8/55), μ·f = (15/55, 16/55, 24/55).
func TestMaxMinByHand(t *testing.T) {
	p := small(MaxMin, []float64{1, 1}, []float64{40, 10}, []float64{12, 4}, []float64{100, 50})
	p.Target = []float64{25, 8, 75}
	r := mustSolve(t, p, Options{})
	want := []Share{{0, 5. / 11}, {2, 5. / 11}, {3, 1. / 11}, {4, 1. / 11}, {5, 10. / 11}}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 2e-9 })
	if diff := cmp.Diff(want, r.Shares, near); diff != "" {
		t.Errorf("shares: want - got +\n%s", diff)
	}
	if math.Abs(r.Objective-8./11) > 2e-9 {
		t.Errorf("objective %v, want 8/11", r.Objective)
	}
	if diff := cmp.Diff([]float64{24. / 55, 8. / 55}, r.Prices, near); diff != "" {
		t.Errorf("prices: want - got +\n%s", diff)
	}
	if diff := cmp.Diff([]float64{15. / 55 / 25, 16. / 55 / 8, 24. / 55 / 75}, r.JobPrices, near); diff != "" {
		t.Errorf("job prices: want - got +\n%s", diff)
	}
}

func TestSolveRefuses(t *testing.T) {
	nan := math.NaN()
	for name, change := range map[string]func(*Problem){
		"NaN capacity":        func(p *Problem) { p.Capacity[0] = nan },
		"negative capacity":   func(p *Problem) { p.Capacity[0] = -1 },
		"infinite rate":       func(p *Problem) { p.Rate[0] = math.Inf(1) },
		"NaN rate":            func(p *Problem) { p.Rate[0] = nan },
		"negative rate":       func(p *Problem) { p.Rate[1] = -1e-9 },
		"NaN amount":          func(p *Problem) { p.Usages[0][0].Amount = nan },
		"negative amount":     func(p *Problem) { p.Usages[0][0].Amount = -1 },
		"no such resource":    func(p *Problem) { p.Usages[0][0].Resource = 1 },
		"resource twice":      func(p *Problem) { p.Usages[0] = Usage{{0, 1}, {0, 1}} },
		"no such usage":       func(p *Problem) { p.Usage[1] = 1 },
		"usages missing":      func(p *Problem) { p.Usage = p.Usage[:1] },
		"offsets fall":        func(p *Problem) { p.Offsets = []int32{0, 3, 2} },
		"offsets end early":   func(p *Problem) { p.Offsets[2] = 1 },
		"offsets start late":  func(p *Problem) { p.Offsets[0] = 1 },
		"offsets missing":     func(p *Problem) { p.Offsets = nil },
		"targets missing":     func(p *Problem) { p.Target = nil },
		"target 0":            func(p *Problem) { p.Target[0] = 0 },
		"NaN target":          func(p *Problem) { p.Target[0] = nan },
		"no such objective":   func(p *Problem) { p.Objective = 3 },
		"number out of range": func(p *Problem) { p.Rate[0] = 1e31 },
	} {
		t.Run(name, func(t *testing.T) {
			p := small(MaxMin, []float64{1}, []float64{1}, []float64{2})
			change(p)
			if r, err := Solve(t.Context(), p, Options{}); !errors.Is(err, ErrProblem) {
				t.Errorf("got %+v, %v, want ErrProblem", r, err)
			}
			if err := Check(p, &Result{}, 0); !errors.Is(err, ErrProblem) {
				t.Errorf("check: got %v, want ErrProblem", err)
			}
		})
	}
	p := small(Sum, []float64{1}, []float64{1})
	for name, o := range map[string]Options{
		"negative budget": {MaxPivots: -1},
		"NaN gap":         {Gap: nan},
		"other resources": {Warm: &Result{Prices: []float64{1, 2}}},
		"NaN price":       {Warm: &Result{Prices: []float64{nan}}},
		"infinite price":  {Warm: &Result{Prices: []float64{math.Inf(1)}}},
	} {
		if _, err := Solve(t.Context(), p, o); !errors.Is(err, ErrProblem) {
			t.Errorf("%s: got %v, want ErrProblem", name, err)
		}
	}
}

// However small the budget, the answer is feasible and its bound holds.
func TestSolveBudget(t *testing.T) {
	for _, o := range objectives {
		p := cluster(o.objective, 300, 9, 4)
		best := mustSolve(t, p, Options{}).Objective
		for pivots := 1; pivots < 400; pivots = pivots*3/2 + 1 {
			r, err := Solve(t.Context(), p, Options{MaxPivots: pivots})
			if err != nil {
				t.Fatal(err)
			}
			if r.Objective > best*(1+1e-8) || r.Bound < best*(1-1e-8) {
				t.Errorf("%s, %d pivots: %v to %v, optimum %v", o.name, pivots, r.Objective, r.Bound, best)
			}
			if r.Pivots > pivots {
				t.Errorf("%s: %d pivots, want at most %d", o.name, r.Pivots, pivots)
			}
			if pivots == 1 && r.Status != Stopped {
				t.Errorf("%s: %v after one pivot", o.name, r.Status)
			}
			if r.Objective <= 0 || r.Gap >= 1 {
				t.Errorf("%s, %d pivots: objective %v, gap %v", o.name, pivots, r.Objective, r.Gap)
			}
		}
	}
}

// A search that is ended early makes a good answer of prices that are about right.
func TestSolvePatches(t *testing.T) {
	for _, o := range objectives {
		for seed, pivots := range []int{400, 700, 1000} {
			p := cluster(o.objective, 3000+seed, 12, 4)
			r, err := Solve(t.Context(), p, Options{MaxPivots: pivots})
			if err != nil {
				t.Fatal(err)
			}
			if most := []float64{0.05, 0.03, 0.02}[seed]; r.Gap > most {
				t.Errorf("%s: gap %v after %d pivots, want at most %v", o.name, r.Gap, pivots, most)
			}
		}
	}
}

// ending is a context that ends when it has been asked so many times.
type ending struct {
	context.Context
	asks int
}

func (e *ending) Err() error {
	if e.asks--; e.asks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestSolveContext(t *testing.T) {
	p := cluster(MaxMin, 300, 9, 4)
	if _, err := Solve(&ending{t.Context(), 0}, p, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended before: got %v, want the context's error", err)
	}
	r, err := Solve(&ending{t.Context(), 3}, p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != Stopped || r.Objective <= 0 || r.Pivots > 24 {
		t.Errorf("ended during: %v with %v after %d pivots, want a stopped answer", r.Status, r.Objective, r.Pivots)
	}
}

// A warm start gives the same optimum with less work, also from a bad guess.
func TestSolveWarm(t *testing.T) {
	for _, o := range objectives {
		p := cluster(o.objective, 1000, 9, 4)
		before := mustSolve(t, p, Options{})
		r := rng.New(3, "warm")
		for range 10 { // 1 % of the jobs change
			j := r.IntN(p.Jobs())
			for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
				p.Rate[i] *= 0.5 + r.Float64()
			}
		}
		cold := mustSolve(t, p, Options{})
		warm := mustSolve(t, p, Options{Warm: before})
		if math.Abs(warm.Objective-cold.Objective) > 1e-8*cold.Objective {
			t.Errorf("%s: warm %v, cold %v", o.name, warm.Objective, cold.Objective)
		}
		if warm.Pivots >= cold.Pivots {
			t.Errorf("%s: %d pivots warm, %d cold", o.name, warm.Pivots, cold.Pivots)
		}
		for k := range before.Prices {
			before.Prices[k] *= math.Exp(4 * r.NormFloat64())
		}
		before.Objective *= 100
		if bad := mustSolve(t, p, Options{Warm: before}); math.Abs(bad.Objective-cold.Objective) > 1e-8*cold.Objective {
			t.Errorf("%s: from a bad guess %v, cold %v", o.name, bad.Objective, cold.Objective)
		}
	}
}
