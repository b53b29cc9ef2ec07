package simplex_test

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// Two jobs share a fast GPU and a half, and two slow ones. The first gains more
// from the fast GPU than the second.
func ExampleSolve() {
	p := &simplex.Problem{
		Objective: simplex.Sum,
		Capacity:  []float64{1.5, 2},
		Usages:    []simplex.Usage{{{Resource: 0, Amount: 1}}, {{Resource: 1, Amount: 1}}},
		Offsets:   []int32{0, 2, 4},
		Rate:      []float64{5, 2, 3, 2},
		Usage:     []int32{0, 1, 0, 1},
	}
	r, err := simplex.Solve(context.Background(), p, simplex.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %.2f, one more fast GPU adds %.2f\n", r.Status, r.Objective, r.Prices[0])
	for _, s := range r.Shares {
		fmt.Printf("candidate %d runs %.2f of the time\n", s.Candidate, s.Weight)
	}
	// Output:
	// optimal: 7.50, one more fast GPU adds 1.00
	// candidate 0 runs 1.00 of the time
	// candidate 2 runs 0.50 of the time
	// candidate 3 runs 0.50 of the time
}
