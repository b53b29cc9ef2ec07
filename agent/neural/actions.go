package neural

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// Actions returns the actions of JobStrategy-v0 that choose a in s: the row of
// each job that runs, in order of the jobs, then stop. Within a round the order
// of the picks does not matter. a must be valid for s. The environment plays
// the result unless a idles every job where some could run: there stop is not
// legal.
func Actions(s *env.State, a env.Allocation) []env.Action {
	actions := make([]env.Action, 0, len(a)+1)
	first := 1 // row 0 is stop
	for j, k := range a {
		if k != env.Idle {
			actions = append(actions, env.Action(first+k))
		}
		first += len(s.Jobs[j].Strategies)
	}
	return append(actions, stopRow)
}

// Allocation is the inverse of [Actions]: what a round with these actions
// allocates. Actions may be in any order and the last stop may be missing. Its
// error wraps env.ErrInvalidAction for a row that does not exist or belongs to a
// job already chosen, and for an action after stop.
func Allocation(s *env.State, actions []env.Action) (env.Allocation, error) {
	jobs, strategies := rows(s)
	a := env.NewAllocation(len(s.Jobs))
	for i, action := range actions {
		switch {
		case action < 0 || int(action) >= len(jobs):
			return nil, fmt.Errorf("%w: action %d is row %d of %d", env.ErrInvalidAction, i, action, len(jobs))
		case action == stopRow && i < len(actions)-1:
			return nil, fmt.Errorf("%w: action %d is stop, but %d more follow", env.ErrInvalidAction, i, len(actions)-1-i)
		case action == stopRow:
			continue
		case a[jobs[action]] != env.Idle:
			return nil, fmt.Errorf("%w: action %d chooses job %d again", env.ErrInvalidAction, i, s.Jobs[jobs[action]].ID)
		}
		a[jobs[action]] = strategies[action]
	}
	return a, nil
}

// rows returns the job and the strategy of each row, -1 for stop.
func rows(s *env.State) (jobs, strategies []int) {
	jobs, strategies = []int{-1}, []int{-1}
	for j := range s.Jobs {
		for k := range s.Jobs[j].Strategies {
			jobs, strategies = append(jobs, j), append(strategies, k)
		}
	}
	return jobs, strategies
}
