package guard

import "github.com/yardmaster/yardmaster/env"

// Hold returns the allocation that changes nothing: every job keeps the
// strategy it ran in the round that just ended, in the state's order while GPUs
// of its type and its tenant's quota last. The result is valid for every valid
// state, also where nodes were lost since. It reads what ran from the state, not from memory, so
// it holds what the cluster did and not what it was told to do.
func Hold(s *env.State) env.Allocation { return holdWith(s, nil) }

// holdWith is Hold after the jobs that have to run.
func holdWith(s *env.State, help *aid) env.Allocation {
	a := env.NewAllocation(len(s.Jobs))
	budget := env.NewBudget(s)
	if help != nil {
		for _, p := range help.pins {
			budget.Take(&s.Jobs[p.job], &s.Jobs[p.job].Strategies[p.strategy])
			a[p.job] = p.strategy
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Current == env.Idle || a[i] != env.Idle {
			continue
		}
		run := &j.Strategies[j.Current]
		if budget.Fits(j, run) {
			budget.Take(j, run)
			a[i] = j.Current
		}
	}
	return a
}
