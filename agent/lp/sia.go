package lp

import (
	"math"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// Constants of Sia's artifact (SOSP 2023, simulator/policies/sia.py).
const (
	siaPower = -0.5 // p
	siaIdle  = 1.1  // λ_n: what an idle job costs; |λ_n| > 1 makes any allocation better than none
	siaMost  = 3000 // no cost is higher
)

// siaProgram is the relaxation of Sia's integer program
//
//	min Σ_i Σ_c A[i,c]·x[i,c] + λ·(N - Σ x),  x in {0, 1}
//
// with A = G^p, where G[i,c] is the job's throughput in a configuration relative
// to its lowest, times the GPUs of its smallest, and for configurations that it
// does not run in, times the restart factor
//
//	r[i] = max(age - restarts·S, 0) / (age + S),  1 where age < S,
//
// S being the time of a restart. Sia's goodput is a throughput times a statistical
// efficiency; at the fixed batch of a State they are in proportion. It rounds A
// to two digits, which is left out. As a maximisation the values are λ - A.
func siaProgram(s *env.State, _ *Config) *program {
	p := newProgram(s, simplex.Sum, everything)
	p.goal = "sum over running jobs of what they save of the cost of idling (λ less a power of relative goodput)"
	for i := range s.Jobs {
		j := &s.Jobs[i]
		lowest, smallest := math.Inf(1), math.Inf(1)
		first, last := p.candidates(i)
		for n := first; n < last; n++ {
			st := p.strategyOf(i, n)
			lowest, smallest = min(lowest, st.Throughput), min(smallest, st.Held())
		}
		age := (s.Now - j.Submit).Seconds()
		for n := first; n < last; n++ {
			st := p.strategyOf(i, n)
			g := st.Throughput / lowest * smallest
			if int(p.strategy[n]) != j.Current {
				g *= restartFactor(age, float64(j.Restarts), st.Restart.Seconds())
			}
			cost := min(math.Pow(g, siaPower), siaMost) // +Inf where g is 0
			p.worth[n] = within(siaIdle - cost)
		}
	}
	p.problem.Rate = p.worth
	return p
}

func restartFactor(age, restarts, restart float64) float64 {
	if age < restart || age+restart == 0 {
		return 1
	}
	return max(age-restarts*restart, 0) / (age + restart)
}

// solveSia solves the relaxation, rounds it, and then searches by branch and
// bound, depth first, for Config.Nodes programs at most. The answer is whole; its
// gap is to the best bound left.
func solveSia(r *run) (*program, *simplex.Result, error) {
	p := siaProgram(r.state, r.config)
	root, err := r.solve(p, nil)
	if err != nil {
		return nil, nil, err
	}
	b := newBranching(r, p)
	b.offer(whole(p, root))
	if err := b.search(root); err != nil {
		return nil, nil, err
	}
	result := b.result(root)
	r.stages = append(r.stages, Stage{Problem: &p.problem, Result: result, Whole: true})
	return p, result, nil
}
