package heuristic

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

const idle = env.Idle

func TestFIFO(t *testing.T) {
	for _, c := range []struct {
		name  string
		state *env.State
		want  []int
	}{
		{"in order, the fast type first", stateOf(waiting(2, 9), waiting(2, 1), waiting(4, 1)), []int{fast, fast, slow}},
		{"a running job keeps its slow strategy", stateOf(waiting(4, 1), running(2, 9, slow)), []int{fast, slow}},
		{"no preemption by an earlier job", stateOf(waiting(4, 1), running(4, 9, fast), running(1, 9, slow)), []int{idle, fast, slow}},
		{"the head of the line blocks", stateOf(running(3, 9, fast), running(3, 9, slow), waiting(2, 1), waiting(1, 1)), []int{fast, slow, idle, idle}},
	} {
		t.Run(c.name, func(t *testing.T) { wantDecision(t, FIFO{}, c.state, c.want...) })
	}
}

func TestFIFOPassesOverTheImpossible(t *testing.T) {
	huge := env.JobState{GPUs: 8, Remaining: 1, Current: idle, Strategies: both(8)}
	wantDecision(t, FIFO{}, stateOf(huge, waiting(1, 1)), idle, fast)
}

func TestFIFOAfterLossOfGPUs(t *testing.T) {
	// Both ran on fast with 3 GPUs, of which only 4 are left: the later job
	// moves to the slow type.
	wantDecision(t, FIFO{}, stateOf(running(3, 1, fast), running(3, 1, fast)), fast, slow)
}

func TestSRTF(t *testing.T) {
	for _, c := range []struct {
		name  string
		state *env.State
		want  []int
	}{
		{"shortest first", stateOf(waiting(4, 300), waiting(4, 100), waiting(4, 200)), []int{idle, fast, slow}},
		{"time, not work: 4 GPUs run 800 steps in 100 s, 1 GPU runs 300 in 150", stateOf(waiting(1, 300), waiting(4, 800)), []int{slow, fast}},
		{"preempts", stateOf(running(4, 300, fast), running(4, 200, slow), waiting(4, 1)), []int{idle, slow, fast}},
		{"passes over what does not fit", stateOf(running(3, 1, fast), running(3, 2, slow), waiting(4, 30), waiting(1, 40)), []int{fast, slow, idle, fast}},
		{"ties by ID", stateOf(waiting(4, 5), waiting(4, 5), waiting(4, 5)), []int{fast, slow, idle}},
	} {
		t.Run(c.name, func(t *testing.T) { wantDecision(t, SRTF{}, c.state, c.want...) })
	}
}

func TestSRTFBreaksTiesByIDNotByPlace(t *testing.T) {
	s := stateOf(waiting(4, 5), waiting(4, 5), waiting(4, 5))
	s.Jobs[0].ID = 10 // submitted first, but the last by ID
	wantDecision(t, SRTF{}, s, idle, fast, slow)
}

func TestSRTFWithoutKnowledge(t *testing.T) {
	s := unknown(stateOf(served(waiting(4, 0), 50), served(waiting(4, 0), 10), served(waiting(4, 0), 20)))
	wantDecision(t, SRTF{}, s, idle, fast, slow)
}

func TestLAS(t *testing.T) {
	s := stateOf(served(running(4, 1, fast), 1000), served(running(4, 1, slow), 300), served(waiting(4, 1), 400))
	t.Run("plain", func(t *testing.T) { wantDecision(t, LAS{}, s, idle, fast, slow) })
	// A lease of half a round is worth 0.5 × 360 s × 4 GPUs = 720 GPU-seconds:
	// the first job counts 280, the second -420.
	t.Run("lease", func(t *testing.T) { wantDecision(t, LAS{Lease: 0.5}, s, slow, fast, idle) })
}

// TestMoveOrStay: a job stays where it is unless the better type does more in
// the round in spite of the restart: here a tenth of it is lost.
func TestMoveOrStay(t *testing.T) {
	for _, c := range []struct {
		name    string
		speed   float64 // on the type where it does not run
		restart time.Duration
		want    int
	}{
		{"gain above the loss", 1.12, 36 * time.Second, fast}, // 1.12 × 0.9 > 1
		{"gain below the loss", 1.11, 36 * time.Second, slow}, // 1.11 × 0.9 < 1
		{"equal: stay", 1, 0, slow},
		{"restart longer than the round", 9, time.Hour, slow}, // 9 × 0.1 < 1
	} {
		t.Run(c.name, func(t *testing.T) {
			j := running(1, 100, slow)
			j.Strategies = []env.Strategy{on(fast, 1, c.speed), on(slow, 1, 1)}
			j.Strategies[fast].Restart = c.restart
			wantDecision(t, SRTF{}, stateOf(j), c.want)
		})
	}
}

func TestRigidTakesTheRequestedGPUs(t *testing.T) {
	elastic := func(requested int) env.JobState {
		return env.JobState{GPUs: requested, Remaining: 1, Current: idle, Strategies: []env.Strategy{
			on(fast, 1, 1), on(fast, 2, 2), on(fast, 4, 4), on(slow, 2, 1.5), on(fast, 8, 9),
		}}
	}
	for _, c := range []struct {
		name      string
		requested int
		want      int
	}{
		{"as requested", 2, 1},
		{"8 exceed the cluster: the nearest that fits", 8, 2},
		{"between 2 and 4 the nearer by ratio", 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) { wantDecision(t, SRTF{}, stateOf(elastic(c.requested)), c.want) })
	}
}
