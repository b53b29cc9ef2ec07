package known

import (
	"context"
	"testing"

	"github.com/yardmaster/yardmaster/models/nn"
)

func TestAnswerMachinesReinforce(t *testing.T) {
	learn(t, "REINFORCE", 32, 1.025, func(p *nn.Params, seed uint64) error {
		return Improve(context.Background(), p, seed, ByReinforce())
	})
}

// A small part of it, which comes as near as PPO's.
func TestReinforceComesNearTheOptimum(t *testing.T) {
	s := ByReinforce()
	s.Iterations, s.Plays = 16, 4
	p := NewMachinesParams(1, 16)
	if err := Improve(context.Background(), p, 1, s); err != nil {
		t.Fatal(err)
	}
	if got := ratio(t, p); got > 1.08 {
		t.Errorf("%.4f of the optimum, want at most 1.08", got)
	}
}
