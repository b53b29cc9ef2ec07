package lp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Over rounds in which jobs come, go and make progress, a session's objectives are
// those of the policy, with less work.
func TestSession(t *testing.T) {
	r := rng.New(1, "session")
	for _, name := range []string{"lp:throughput", "lp:maxmin", "lp:srpt", "lp:gavel-ftf", "lp:hetero-lex"} {
		session, err := NewSession(name, Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := busyState(400, 9)
		warm, cold := 0, 0
		for range 8 {
			got, err := session.Solve(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			want := solved(t, name, s)
			if got.Status != simplex.Optimal {
				t.Errorf("%s: %v with gap %v", name, got.Status, got.Gap)
			}
			for k := range got.Prices { // the answer is the caller's
				got.Prices[k] = math.NaN()
			}
			wantNear(t, name, got.Objective, want.Objective)
			warm, cold = warm+got.Pivots, cold+want.Pivots
			next := *s
			gone := r.IntN(len(s.Jobs))
			next.Jobs = append(append([]env.JobState(nil), s.Jobs[:gone]...), s.Jobs[gone+1:]...)
			for i := range next.Jobs {
				if next.Jobs[i].Remaining > 20 {
					next.Jobs[i].Remaining -= 10 * r.Float64()
				}
			}
			s = &next
		}
		// Where one slow job is all that counts, prices are 0 and say nothing.
		if warm > cold || warm == cold && name != "lp:gavel-ftf" {
			t.Errorf("%s: %d pivots, cold %d", name, warm, cold)
		}
	}
}
