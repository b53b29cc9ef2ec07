package guard

import (
	"context"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
)

// LP makes a linear program report its gap: that of the fractional answer the
// allocation was made from.
type LP struct{ *lp.Policy }

// DecideGap implements GapDecider.
func (p LP) DecideGap(ctx context.Context, s *env.State) (env.Allocation, float64, error) {
	solution, err := p.Solve(ctx, s)
	return solution.Allocation, solution.Gap, err
}
