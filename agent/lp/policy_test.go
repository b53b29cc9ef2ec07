package lp

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// forPolicies runs check on every registered policy.
func forPolicies(t *testing.T, check func(t *testing.T, p *Policy)) {
	t.Helper()
	var r agent.Registry
	Register(&r)
	if n := len(r.Entries()); n != len(formulations) || n < 20 {
		t.Fatalf("%d policies of %d", n, len(formulations))
	}
	for _, e := range r.Entries() {
		t.Run(e.Name, func(t *testing.T) {
			p, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			check(t, p.(*Policy))
		})
	}
}

func TestContract(t *testing.T) {
	forPolicies(t, func(t *testing.T, p *Policy) {
		if err := agenttest.Check(p, []uint64{1}); err != nil {
			t.Error(err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	if _, err := New("lp:none", Config{}); err == nil {
		t.Error("an unknown name gave no error")
	}
	_, err := New("lp:srpt", Config{Horizon: math.NaN(), MaxPivots: -1})
	if err == nil || !strings.Contains(err.Error(), "Horizon") || !strings.Contains(err.Error(), "MaxPivots") {
		t.Errorf("got %v, want both problems", err)
	}
}

// randomStates calls check with n random states, every other one with quotas, nodes
// out of service and parts of GPUs.
func randomStates(n int, check func(s *env.State)) {
	r := rng.New(1, "lp")
	for i := range n {
		check(agenttest.RandomState(r, agenttest.Options{Constrained: i%2 == 1}))
	}
}

// The answer is optimal, says so, and is feasible in terms of the State.
func TestSolve(t *testing.T) {
	forPolicies(t, func(t *testing.T, p *Policy) {
		randomStates(50, func(s *env.State) {
			got, err := p.Solve(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if !approximate[p.formulation.name] && (got.Status != simplex.Optimal || got.Gap > 1e-6) || got.Gap < -1e-9 || got.Gap > 1 {
				t.Errorf("%v: %v to %v, gap %v", got.Status, got.Objective, got.Bound, got.Gap)
			}
			if len(got.Prices) != len(s.Cluster.Types) {
				t.Errorf("%d prices for %d types", len(got.Prices), len(s.Cluster.Types))
			}
			checkShares(t, s, got.Shares)
		})
	})
}

func checkShares(t *testing.T, s *env.State, shares []Share) {
	t.Helper()
	used, time := make([]float64, len(s.Cluster.Types)), make([]float64, len(s.Jobs))
	for _, x := range shares {
		st := &s.Jobs[x.Job].Strategies[x.Strategy]
		used[st.Type] += x.Weight * st.Held()
		if time[x.Job] += x.Weight; time[x.Job] > 1+1e-9 {
			t.Errorf("job %d has shares of %v", x.Job, time[x.Job])
		}
	}
	for k, gpus := range s.Capacity() {
		if used[k] > float64(gpus)*(1+1e-9) {
			t.Errorf("%v of %d GPUs of type %d used", used[k], gpus, k)
		}
	}
}

// No GPUs are left that a job which got none could use in a strategy that the
// program considers.
func TestMaximal(t *testing.T) {
	forPolicies(t, func(t *testing.T, p *Policy) {
		randomStates(60, func(s *env.State) {
			a, _, err := p.decide(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			budget := env.NewBudget(s)
			for i, k := range a.allocation {
				if k != env.Idle {
					budget.Take(&s.Jobs[i], &s.Jobs[i].Strategies[k])
				}
			}
			for i, k := range a.allocation {
				first, last := a.program.candidates(i)
				for n := first; n < last; n++ {
					if st := a.program.strategyOf(i, n); k == env.Idle && budget.Fits(&s.Jobs[i], st) {
						t.Errorf("job %d waits, %d GPUs of type %d are free for its strategy %d", i, budget.Free(st.Type), st.Type, a.program.strategy[n])
					}
				}
			}
		})
	})
}

// Other units of work, and other units of weight, change nothing. The factors are
// powers of two, so that for the policies with one best answer not even the last
// digits do. Where many are as good, the objective is the same but for its unit.
func TestUnits(t *testing.T) {
	forPolicies(t, func(t *testing.T, p *Policy) {
		name := p.formulation.name
		exact := name == "lp:throughput" || name == "lp:srpt" || name == "lp:maxmin"
		randomStates(40, func(s *env.State) {
			want, err := p.Solve(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Solve(t.Context(), inOtherUnits(s, name != "lp:hetero-cost")) // weighs work against dollars
			if err != nil {
				t.Fatal(err)
			}
			if !exact {
				if !isPowerOfTwo(got.Objective/want.Objective, want.Gap+got.Gap) && want.Objective != 0 {
					t.Errorf("objective %v, in other units %v", want.Objective, got.Objective)
				}
				return
			}
			for i := range got.Allocation {
				if got.Allocation[i] != want.Allocation[i] {
					t.Fatalf("job %d: strategy %d, in other units %d", i, want.Allocation[i], got.Allocation[i])
				}
			}
		})
	})
}

func isPowerOfTwo(x, gap float64) bool {
	_, part := math.Modf(math.Log2(x))
	return math.Abs(part) < 1e-6+2*gap || 1-math.Abs(part) < 1e-6+2*gap
}

// inOtherUnits returns s with work in eighths of a step, and weights in quarters
// if weighted.
func inOtherUnits(s *env.State, weighted bool) *env.State {
	scaled := *s
	scaled.Jobs = append([]env.JobState(nil), s.Jobs...)
	for i := range scaled.Jobs {
		j := &scaled.Jobs[i]
		if weighted {
			j.Weight *= 4
		}
		j.Done *= 8
		if j.Remaining != env.Unknown {
			j.Remaining *= 8
		}
		j.Strategies = append([]env.Strategy(nil), j.Strategies...)
		for k := range j.Strategies {
			j.Strategies[k].Throughput *= 8
		}
	}
	return &scaled
}

// Numbers that are valid in a State but absurd give a valid allocation.
func TestAbsurdNumbers(t *testing.T) {
	r := rng.New(2, "absurd")
	absurd := func() float64 { return math.Pow(10, 600*r.Float64()-300) }
	forPolicies(t, func(t *testing.T, p *Policy) {
		randomStates(60, func(s *env.State) {
			for i := range s.Jobs {
				j := &s.Jobs[i]
				j.Weight, j.Done = absurd(), absurd()
				if j.Remaining != env.Unknown {
					j.Remaining = absurd()
				}
				j.Strategies = append([]env.Strategy(nil), j.Strategies...)
				for k := range j.Strategies {
					j.Strategies[k].Throughput = absurd()
				}
			}
			a, err := p.Decide(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Validate(s); err != nil {
				t.Error(err)
			}
		})
	})
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

// A context that ends before Solve is an error; one that ends during it gives a
// valid allocation from Solve, with its gap, and an error from Decide.
func TestContextEnds(t *testing.T) {
	s := busyState(300, 9)
	forPolicies(t, func(t *testing.T, p *Policy) {
		if _, err := p.Solve(&ending{t.Context(), 0}, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended before: %v", err)
		}
		got, err := p.Solve(&ending{t.Context(), 2}, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Allocation.Validate(s); err != nil {
			t.Error(err)
		}
		atOnce := got.Status == simplex.Optimal && got.Pivots == 0 // the start was the end
		if !atOnce && (got.Status != simplex.Stopped || got.Gap <= 0) || got.Pivots > 8 {
			t.Errorf("ended during: %v with gap %v after %d pivots", got.Status, got.Gap, got.Pivots)
		}
		if _, err := p.Decide(&ending{t.Context(), 2}, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("decide: got %v, want the context's error", err)
		}
	})
}

// A budget of pivots that ends any of a decision's programs leaves a valid
// allocation, within the budget, and numbers that say how good it is.
func TestPivotBudget(t *testing.T) {
	r := rng.New(5, "lp/budget")
	for n := range 24 {
		s := agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(60), Constrained: n%2 == 0})
		for _, f := range formulations {
			for _, pivots := range []int{1, 7, 40} {
				p, err := New(f.name, Config{MaxPivots: pivots, Columns: 1 + n%3, Partitions: n % 4, Nodes: 1 + n%9})
				if err != nil {
					t.Fatal(err)
				}
				got, err := p.Solve(t.Context(), s)
				if err != nil {
					t.Fatalf("%s, %d pivots: %v", f.name, pivots, err)
				}
				if err := got.Allocation.Validate(s); err != nil {
					t.Errorf("%s, %d pivots: %v", f.name, pivots, err)
				}
				if !(got.Gap >= -1e-9 && got.Gap <= 1) || math.IsNaN(got.Objective+got.Bound) || got.Pivots > pivots {
					t.Errorf("%s, %d pivots: objective %v, bound %v, gap %v after %d", f.name, pivots, got.Objective, got.Bound, got.Gap, got.Pivots)
				}
				checkShares(t, s, got.Shares)
			}
		}
	}
}
