package rollout

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Round is a decision point and what was done there.
type Round struct {
	// Observation and Picks are recorded for a share of the rounds only: see
	// Config.Keep. The mask is that of the first pick.
	Observation env.Observation
	Picks       picks.Sequence
	Kept        bool

	LogProb float64       // Σ log-probability of the picks, at the time they were drawn
	Value   float64       // of the critic, in scaled rewards
	Reward  float64       // as the environment gave it, summed over the round
	Elapsed time.Duration // simulated time that passed in the round
	Clock   time.Duration // simulated time at its start, from the start of the episode
}

// Episode is a sequence of rounds.
type Episode struct {
	Seed       uint64
	Rounds     []Round
	Terminated bool    // the problem ended; else the episode was cut off
	Bootstrap  float64 // value of the final observation where it was cut off, else 0
	Return     float64 // Σ reward, not discounted
	Picks      int     // Σ picks
}

// Length returns the simulated time from start to end.
func (e *Episode) Length() time.Duration {
	if len(e.Rounds) == 0 {
		return 0
	}
	last := &e.Rounds[len(e.Rounds)-1]
	return last.Clock + last.Elapsed
}
