package ppo

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/train/rollout"
)

// slowGAE sums eq. 16 of Schulman et al. (ICLR 2016) term by term.
func slowGAE(r, v, gamma []float64, lambda float64) []float64 {
	out := make([]float64, len(r))
	for t := range r {
		weight := 1.0
		for k := t; k < len(r); k++ {
			out[t] += weight * (r[k] + gamma[k]*v[k+1] - v[k])
			weight *= gamma[k] * lambda
		}
	}
	return out
}

func randomTrajectory(r *rand.Rand, n int) (rewards, values, gamma []float64) {
	for range n {
		rewards, values = append(rewards, r.NormFloat64()), append(values, r.NormFloat64())
		gamma = append(gamma, r.Float64())
	}
	return rewards, append(values, r.NormFloat64()), gamma
}

func TestGAEMatchesSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		rewards, values, gamma := randomTrajectory(r, 1+r.IntN(40))
		lambda, got := r.Float64(), make([]float64, len(rewards))
		GAE(got, rewards, values, gamma, lambda)
		for i, want := range slowGAE(rewards, values, gamma, lambda) {
			if math.Abs(got[i]-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("round %d of %d: got %v, want %v", i, len(rewards), got[i], want)
			}
		}
	}
}

// λ = 0 is the temporal difference, λ = 1 the discounted return minus the value.
func TestGAEClosedForms(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	rewards, values, gamma := randomTrajectory(r, 30)
	td, mc := make([]float64, 30), make([]float64, 30)
	GAE(td, rewards, values, gamma, 0)
	GAE(mc, rewards, values, gamma, 1)
	g := returns(rewards, gamma, values[30])
	for i := range rewards {
		if want := rewards[i] + gamma[i]*values[i+1] - values[i]; math.Abs(td[i]-want) > 1e-12 {
			t.Errorf("λ = 0, round %d: got %v, want %v", i, td[i], want)
		}
		if want := g[i] - values[i]; math.Abs(mc[i]-want) > 1e-9 {
			t.Errorf("λ = 1, round %d: got %v, want %v", i, mc[i], want)
		}
	}
}

func episode(terminated bool, bootstrap float64) rollout.Episode {
	e := rollout.Episode{Terminated: terminated, Bootstrap: bootstrap}
	for t := range 3 {
		e.Rounds = append(e.Rounds, rollout.Round{Reward: -1, Value: 0, Elapsed: time.Hour, Clock: time.Duration(t) * time.Hour})
	}
	return e
}

// A real end is worth nothing; a limit from outside is worth the critic's value
// there, discounted by simulated time.
func TestTruncationBootstraps(t *testing.T) {
	horizon := time.Hour
	ended, cut := episode(true, 0), episode(false, -7)
	a := newTrack(&ended, 1, horizon)
	b := newTrack(&cut, 1, horizon)
	if got, want := b.returns[0]-a.returns[0], -7*math.Exp(-3); math.Abs(got-want) > 1e-12 {
		t.Errorf("the bootstrap adds %v to the first return, want %v", got, want)
	}
	if want := -(1 + math.Exp(-1) + math.Exp(-2)); math.Abs(a.returns[0]-want) > 1e-12 {
		t.Errorf("return of the ended episode is %v, want %v", a.returns[0], want)
	}
}

// Picks of one round happen at once: rounds without elapsed time are not
// discounted.
func TestNoTimeNoDiscount(t *testing.T) {
	e := episode(true, 0)
	e.Rounds[0].Elapsed = 0
	if got := discounts(&e, time.Hour); got[0] != 1 || math.Abs(got[1]-math.Exp(-1)) > 1e-12 {
		t.Errorf("discounts are %v, want 1 and 1/e", got[:2])
	}
}

// Two episodes that share a shock, which the critic does not know, have it
// removed; a lone episode keeps its values.
func TestGroupBaselineRemovesTheSharedFuture(t *testing.T) {
	shocked := func(extra float64) rollout.Episode {
		e := episode(true, 0)
		e.Rounds[2].Reward = -50 + extra
		return e
	}
	a, b, c := shocked(0), shocked(0), shocked(0)
	c.Seed = 1
	tracks := []track{newTrack(&a, 1, time.Hour), newTrack(&b, 1, time.Hour), newTrack(&c, 1, time.Hour)}
	grouped, advantages := groupValues(tracks, 0), make([]float64, 3)
	GAE(advantages, tracks[0].rewards, grouped, tracks[0].gamma, 0.9)
	for i, x := range advantages {
		if math.Abs(x) > 1e-9 {
			t.Errorf("round %d: advantage %v of an episode equal to the other, want 0", i, x)
		}
	}
	for i, v := range groupValues(tracks, 2) {
		if v != tracks[2].values[i] {
			t.Errorf("round %d: value %v of a lone episode, want %v", i, v, tracks[2].values[i])
		}
	}
}

// Whatever the others do after the end of an episode that ended by itself, it adds
// nothing to its returns: with λ = 1 the advantage is the episode's own return less the
// baseline. One that was cut off goes on as the others did.
func TestGroupBaselineEndsWithTheEpisode(t *testing.T) {
	for _, ended := range []bool{true, false} {
		short, long := episode(ended, 0), episode(true, 0)
		short.Rounds = short.Rounds[:2]
		long.Rounds[2].Reward = -50
		tracks := []track{newTrack(&short, 1, time.Hour), newTrack(&long, 1, time.Hour)}
		grouped, advantages := groupValues(tracks, 0), make([]float64, 2)
		GAE(advantages, tracks[0].rewards, grouped, tracks[0].gamma, 1)
		after := -50.0
		if ended {
			after = 0
		}
		if grouped[2] != after {
			t.Errorf("ended %v: the value of the end is %v, want %v", ended, grouped[2], after)
		}
		own := returns(tracks[0].rewards, tracks[0].gamma, after)
		for i, a := range advantages {
			if want := own[i] - grouped[i]; math.Abs(a-want) > 1e-12 {
				t.Errorf("ended %v, round %d: advantage %v, want %v: the return less the baseline", ended, i, a, want)
			}
		}
	}
}

func TestResidualInterpolates(t *testing.T) {
	e := episode(true, 0)
	tr := newTrack(&e, 1, time.Hour)
	half := tr.residual(30 * time.Minute)
	if want := (tr.returns[0] + tr.returns[1]) / 2; math.Abs(half-want) > 1e-12 {
		t.Errorf("residual at half an hour is %v, want %v", half, want)
	}
	if got := tr.residual(4 * time.Hour); got != 0 {
		t.Errorf("residual after the end is %v, want 0", got)
	}
}
