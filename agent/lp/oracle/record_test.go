package oracle

import (
	"math"
	"os"
	"testing"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// The recorded objectives of HiGHS (cmd/lporacle --record, testdata/recorded.jsonl)
// are ours too. Of whole programs they are at most the relaxation's.
func TestRecorded(t *testing.T) {
	f, err := os.Open("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := ReadRecords(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for i, one := range records {
		got, err := simplex.Solve(t.Context(), one.Problem, simplex.Options{})
		if err != nil {
			t.Fatalf("%s %d: %v", one.Name, i, err)
		}
		seen[one.Name]++
		size := max(math.Abs(one.Objective), FromProblem(one.Problem, got).Size)
		switch {
		case one.Whole:
			if one.Objective > got.Bound*(1+1e-6) {
				t.Errorf("%s %d: whole answer %v by %s, relaxation %v", one.Name, i, one.Objective, one.Solver, got.Bound)
			}
		case math.Abs(got.Objective-one.Objective) > 1e-6*size:
			t.Errorf("%s %d: objective %v, by %s %v", one.Name, i, got.Objective, one.Solver, one.Objective)
		}
	}
	if len(seen) < 29 {
		t.Errorf("records of %d formulations, want 29: %v", len(seen), seen)
	}
}
