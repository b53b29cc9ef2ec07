package rollout

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/classic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/picks"
)

func cartPoleParams() *nn.Params {
	p := nn.NewParams(nn.Dims{Candidate: 2, Global: 4, Hidden: 8, Value: 8})
	p.Initialize(rng.New(3, "parameters"))
	for i := range p.Flat {
		p.Flat[i] += 0.01 // so that scores and values are not all zero
	}
	return p
}

func collectStreams(t *testing.T, calls int) (segments []Episode, returns []float64) {
	t.Helper()
	s, err := NewStreams(3, func() (env.Env, error) { return classic.NewCartPole(), nil }, 5)
	if err != nil {
		t.Fatal(err)
	}
	for range calls {
		more, ended, err := s.Collect(context.Background(), func() Actor { return neural.NewActor(cartPoleParams()) }, 40)
		if err != nil {
			t.Fatal(err)
		}
		rounds := 0
		for i := range more {
			rounds += len(more[i].Rounds)
		}
		if rounds != 3*40 {
			t.Errorf("a call played %d rounds, want %d", rounds, 3*40)
		}
		for i := range more {
			more[i].Rounds = owned(more[i].Rounds)
		}
		segments, returns = append(segments, more...), append(returns, ended...)
	}
	return segments, returns
}

// owned returns a copy of borrowed rounds.
func owned(rounds []Round) []Round {
	rounds = slices.Clone(rounds)
	for i := range rounds {
		var o env.Observation
		rounds[i].Observation.CopyTo(&o)
		var q picks.Sequence
		rounds[i].Picks.CopyTo(&q)
		rounds[i].Observation, rounds[i].Picks = o, q
	}
	return rounds
}

// A call takes its memory from the one before, whatever the number of rounds.
func TestStreamsReuseMemory(t *testing.T) {
	s, err := NewStreams(2, func() (env.Env, error) { return classic.NewCartPole(), nil }, 5)
	if err != nil {
		t.Fatal(err)
	}
	p := cartPoleParams()
	play := func(rounds int) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, _, err := s.Collect(context.Background(), func() Actor { return neural.NewActor(p) }, rounds); err != nil {
				t.Fatal(err)
			}
		})
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	play(1000)
	// What is left is for each of the episodes, some 20 rounds long.
	if got := play(1000); got > 1000 {
		t.Errorf("%v allocations for 2000 rounds", got)
	}
}

// Segments of one episode make up the whole of it: rewards of the parts that end
// with an end add up to its return, and the values at the seams agree.
func TestSegmentsMakeUpEpisodes(t *testing.T) {
	segments, returns := collectStreams(t, 6)
	total, ended := 0.0, 0
	for i := range segments {
		for k := range segments[i].Rounds {
			total += segments[i].Rounds[k].Reward
		}
		switch {
		case segments[i].Terminated:
			ended++
			if segments[i].Bootstrap != 0 {
				t.Errorf("segment %d ended and has the value %v behind it, want 0", i, segments[i].Bootstrap)
			}
		case segments[i].Bootstrap == 0:
			t.Errorf("segment %d was cut and has no value behind it", i)
		}
	}
	sum := 0.0
	for _, r := range returns {
		sum += r
	}
	if total != 6*3*40 || ended != len(returns) || ended < 3 || sum > total {
		t.Errorf("rewards %v, %d ends, %d returns of %v in all", total, ended, len(returns), sum)
	}
	seen := map[uint64]bool{}
	for i := range segments {
		if seen[segments[i].Seed] {
			t.Errorf("segments share the seed %d: their futures are not common", segments[i].Seed)
		}
		seen[segments[i].Seed] = true
	}
}

func TestStreamsDoNotDependOnProcessors(t *testing.T) {
	want, wantReturns := collectStreams(t, 2)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got, gotReturns := collectStreams(t, 2)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantReturns, gotReturns); diff != "" {
		t.Errorf("returns (-want +got):\n%s", diff)
	}
}
