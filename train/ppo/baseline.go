package ppo

import (
	"sort"
	"time"

	"github.com/yardmaster/yardmaster/train/rollout"
)

// track is one episode as the estimators see it.
type track struct {
	seed    uint64
	ended   bool            // by itself
	clock   []time.Duration // [T+1], of the rounds and of the end
	rewards []float64       // [T], scaled
	gamma   []float64       // [T]
	values  []float64       // [T+1]
	returns []float64       // [T+1]
}

func newTrack(e *rollout.Episode, scale float64, horizon time.Duration) track {
	t := track{seed: e.Seed, ended: e.Terminated, rewards: rewards(e, scale), gamma: discounts(e, horizon), values: values(e)}
	for i := range e.Rounds {
		t.clock = append(t.clock, e.Rounds[i].Clock)
	}
	t.clock = append(t.clock, e.Length())
	t.returns = returns(t.rewards, t.gamma, e.Bootstrap)
	return t
}

// groupValues returns the values of tracks[i] corrected by what the other
// episodes of the same seed show about the future that they share (the arrivals
// to come, which no critic can know), shape [T+1]:
//
//	v'[t] = v[t] + mean over j ≠ i of (G_j − v_j) at the same clock
//
// This is an input-dependent baseline (Mao et al., ICLR 2019): it does not
// depend on the actions of episode i, so it adds no bias. Where episode i ended by
// itself it earns nothing more, whatever the others still do: the last value stays
// 0. Without other episodes it returns the values as they are.
func groupValues(tracks []track, i int) []float64 {
	own := &tracks[i]
	corrected := append([]float64(nil), own.values...)
	clock, others := own.clock, 0
	if own.ended {
		clock = clock[:len(clock)-1]
	}
	for j := range tracks {
		if j != i && tracks[j].seed == own.seed {
			others++
		}
	}
	for j := range tracks {
		if j == i || tracks[j].seed != own.seed {
			continue
		}
		for t, c := range clock {
			corrected[t] += tracks[j].residual(c) / float64(others)
		}
	}
	return corrected
}

// residual returns G − v at clock c, interpolated between rounds and 0 after the
// end.
func (t *track) residual(c time.Duration) float64 {
	k := sort.Search(len(t.clock), func(k int) bool { return t.clock[k] >= c })
	switch {
	case k == len(t.clock):
		return 0
	case k == 0 || t.clock[k] == c:
		return t.returns[k] - t.values[k]
	}
	after := float64(c-t.clock[k-1]) / float64(t.clock[k]-t.clock[k-1])
	return (1-after)*(t.returns[k-1]-t.values[k-1]) + after*(t.returns[k]-t.values[k])
}
