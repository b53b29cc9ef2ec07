package assignment_test

import (
	"fmt"
	"log"

	"github.com/yardmaster/yardmaster/agent/assignment"
)

// Two jobs and three machines: hours that each job takes on each.
func Example() {
	hours := []float64{
		4, 1, 3,
		2, 1, 5,
	}
	var s assignment.Solver
	machine, err := s.Solve(hours, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(machine)
	// Output: [1 0]
}
