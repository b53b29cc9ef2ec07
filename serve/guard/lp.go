package guard

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// ErrInfeasible is wrapped by the error of a linear program without an answer.
var ErrInfeasible = errors.New("guard: the linear program is infeasible")

// LP makes a linear program report its gap: that of the fractional answer the
// allocation was made from.
type LP struct{ *lp.Policy }

// DecideGap implements GapDecider. Its error wraps ErrInfeasible, or
// context.DeadlineExceeded where the time was too short to find any answer.
func (p LP) DecideGap(ctx context.Context, s *env.State) (env.Allocation, float64, error) {
	solution, err := p.Solve(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	if err := feasible(solution.Status); err != nil {
		return nil, 0, err
	}
	return solution.Allocation, solution.Gap, nil
}

// feasible returns the error of a program that ended with this status.
func feasible(status simplex.Status) error {
	switch status {
	case simplex.Infeasible:
		return ErrInfeasible
	case simplex.Unknown:
		return fmt.Errorf("guard: no answer was found in time: %w", context.DeadlineExceeded)
	}
	return nil
}
