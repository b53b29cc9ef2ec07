package ppo

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/picks"
)

// rearranged returns a batch with the rows of every round in another order, and with so
// many illegal rows of noise among them.
func rearranged(b *batch, illegal int, r *rand.Rand) *batch {
	out := &batch{}
	for i, o := range b.observations {
		n, f := o.N(), len(o.Candidates)/o.N()
		at := r.Perm(n + illegal)[:n] // where row k goes
		p := env.Observation{Global: o.Global, Candidates: make([]float32, (n+illegal)*f), Mask: make([]bool, n+illegal), Epoch: o.Epoch}
		for k := range p.Candidates {
			p.Candidates[k] = float32(10 * r.NormFloat64())
		}
		s := b.samples[i]
		var q picks.Sequence
		q.Reset(n + illegal)
		reference := make([]float32, n+illegal)
		for k := range n {
			copy(p.Candidates[at[k]*f:], o.Candidates[k*f:(k+1)*f])
			p.Mask[at[k]] = o.Mask[k]
			q.From[at[k]], q.Until[at[k]] = s.round.From[k], s.round.Until[k]
			reference[at[k]] = s.reference[k]
		}
		for _, a := range s.round.Actions {
			q.Actions = append(q.Actions, env.Action(at[a]))
		}
		s.round, s.reference = &q, reference
		out.samples, out.observations = append(out.samples, s), append(out.observations, &p)
	}
	return out
}

// The whole update sees a set: neither the order of the candidates nor rows that are
// never legal, whatever they hold, change its loss or its gradient.
func TestUpdateIsInvariant(t *testing.T) {
	for _, w := range []lossWeights{{clip: 0.2, entropy: 0.1, leash: 0.2, value: 1}, {entropy: 0.1, leash: 0.2, value: 1, reinforce: true}} {
		x := newTrial(t, knapsack, Config{Horizon: time.Hour})
		x.run(3)
		b := x.learner.newBatch(x.collect(50, 4))
		x.learner.score(b)
		want := slices.Clone(x.gradient(b, w))
		for _, illegal := range []int{0, 1, 40} { // 40 go into another bucket of the graphs
			got := x.gradient(rearranged(b, illegal, rng.New(uint64(illegal), "rows")), w)
			largest := 0.0
			for i := range got {
				largest = max(largest, math.Abs(float64(want[i])))
				if math.Abs(float64(got[i]-want[i])) > 1e-5*(1+math.Abs(float64(want[i]))) {
					t.Fatalf("%d illegal rows: derivative %d is %v, want %v", illegal, i, got[i], want[i])
				}
			}
			if largest < 1e-3 {
				t.Fatal("the gradient is 0: the test shows nothing")
			}
		}
	}
}

// What an illegal row holds changes no bit of the gradient, even where it would have the
// highest score by far.
func TestIllegalRowsChangeNoBitOfTheGradient(t *testing.T) {
	x := newTrial(t, bandit, fast())
	x.run(3)
	b := x.learner.newBatch(x.collect(50, 4))
	x.learner.score(b)
	w := lossWeights{clip: 0.2, entropy: 0.1, leash: 0.2, value: 1}
	want := slices.Clone(x.gradient(b, w))
	for _, o := range b.observations {
		for k := 6; k < 9; k++ { // row 2 is never legal
			o.Candidates[k] = 1000
		}
	}
	if got := x.gradient(b, w); !slices.Equal(got, want) {
		t.Error("the gradient depends on a row that is not legal")
	}
	for _, o := range b.observations {
		o.Candidates[3] = 0.5 // row 1 is
	}
	if slices.Equal(x.gradient(b, w), want) {
		t.Error("nor does it depend on one that is: the test shows nothing")
	}
}

// On the first minibatch of a network over sets the ratio is 1 and the KL 0, but for
// rounding.
func TestFirstMinibatchHasNoKL(t *testing.T) {
	x := newTrial(t, knapsack, Config{Horizon: time.Hour, Epochs: 1, Minibatch: 10_000, Rate: 0.01})
	x.run(3)
	m, err := x.learner.Update(context.Background(), x.collect(60, 16), 0, rng.New(1, "order"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Steps != 1 || m.FirstRatio > 1e-6 || math.Abs(m.KL) > 1e-9 || m.ClipFraction != 0 {
		t.Errorf("%d steps, a ratio off 1 by %v, KL %v, %v clipped, want 1 step and the rest 0", m.Steps, m.FirstRatio, m.KL, m.ClipFraction)
	}
}
