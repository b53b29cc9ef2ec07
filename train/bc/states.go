package bc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models/nn"
)

// FromStates returns the demonstrations that allocations[i] is right on states[i],
// as JobStrategy-v0 shows it: what a service recorded is learned from like what a
// teacher plays. order ranks the members of a set, as RecordConfig.Order. Left out,
// and counted in skipped, are states where there is no allocation (nil), and those
// that the environment could not play: nothing runs though something could.
func FromStates(states []*env.State, allocations []env.Allocation, order *nn.Params) (demos []Demonstration, skipped int, err error) {
	if len(states) != len(allocations) {
		return nil, 0, fmt.Errorf("bc: %d states and %d allocations", len(states), len(allocations))
	}
	actor := neural.NewActor(order)
	var e encode.JobStrategy
	var o env.Observation
	for i, s := range states {
		if allocations[i] == nil || len(s.Jobs) == 0 {
			skipped++
			continue
		}
		if err := allocations[i].Validate(s); err != nil {
			return nil, 0, fmt.Errorf("bc: state %d: %w", i, err)
		}
		e.Encode(&o, s)
		actions := neural.Actions(s, allocations[i])
		if !playable(actions, &o) {
			skipped++
			continue
		}
		if _, err := actor.Begin(&o); err != nil {
			return nil, 0, fmt.Errorf("bc: state %d: %w", i, err)
		}
		scores := actor.Scores()
		slices.SortStableFunc(actions[:len(actions)-1], func(a, b env.Action) int { return cmp.Compare(scores[b], scores[a]) })
		d, err := newDemonstration(s, &o, actions)
		if err != nil {
			return nil, 0, fmt.Errorf("bc: state %d: %w", i, err)
		}
		demos = append(demos, d)
	}
	return demos, skipped, nil
}
