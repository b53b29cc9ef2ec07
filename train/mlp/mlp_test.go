package mlp

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/graph"
)

func network(t *testing.T, d Dims) *Network {
	t.Helper()
	n, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	n.Initialize(rng.New(1, "initialize"))
	r := rng.New(1, "biases")
	for i := range n.flat { // scores that differ, biases that are not 0
		n.flat[i] += float32(0.2 * r.NormFloat64())
	}
	return n
}

func observations(d Dims, n int) []*env.Observation {
	r := rng.New(2, "observations")
	all := make([]*env.Observation, n)
	for i := range all {
		o := &env.Observation{Global: make([]float32, d.Global), Mask: make([]bool, d.Actions)}
		for k := range o.Global {
			o.Global[k] = float32(r.NormFloat64())
		}
		for k := range o.Mask {
			o.Mask[k] = k != i%d.Actions
		}
		all[i] = o
	}
	return all
}

// twin is a perceptron as it is written in books, in float64.
func twin(layers []layer, x []float32) []float64 {
	at := make([]float64, len(x))
	for i := range x {
		at[i] = float64(x[i])
	}
	for _, l := range layers {
		next := make([]float64, l.outputs)
		for o := range next {
			next[o] = float64(l.bias[o])
			for i, v := range at {
				next[o] += v * float64(l.w[i*l.outputs+o])
			}
			if !l.last {
				next[o] = math.Tanh(next[o])
			}
		}
		at = next
	}
	return at
}

func TestScoresAndValuesEqualTheTwin(t *testing.T) {
	for _, d := range []Dims{{Global: 4, Actions: 2}, {Global: 3, Actions: 5, Hidden: []int{7}}, {Global: 1, Actions: 1, Hidden: []int{}}} {
		n := network(t, d)
		a, reference := n.NewActor(), n.Reference()
		for _, o := range observations(d, 9) {
			value, err := a.Begin(o)
			if err != nil {
				t.Fatal(err)
			}
			if want := twin(n.critic, o.Global)[0]; math.Abs(value-want) > 1e-5 {
				t.Errorf("%+v: value %v, want %v", d, value, want)
			}
			again := make([]float32, d.Actions)
			reference(again, o)
			for i, want := range twin(n.policy, o.Global) {
				if got := float64(a.Scores()[i]); math.Abs(got-want) > 1e-5 || again[i] != a.Scores()[i] {
					t.Errorf("%+v: score %d is %v and %v, want %v", d, i, got, again[i], want)
				}
			}
		}
	}
}

// The reference stays when the network moves; an actor follows.
func TestReferenceStays(t *testing.T) {
	d := Dims{Global: 4, Actions: 3}
	n, o := network(t, d), observations(d, 1)[0]
	reference, before, after := n.Reference(), make([]float32, 3), make([]float32, 3)
	reference(before, o)
	for i := range n.Flat() {
		n.Flat()[i] += 0.1
	}
	reference(after, o)
	a := n.NewActor()
	if _, err := a.Begin(o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, after) || slices.Equal(a.Scores(), before) {
		t.Errorf("reference scores %v, then %v; the actor's %v", before, after, a.Scores())
	}
}

// squares is a loss with a derivative at every score and value.
func squares(i int, scores []float32, value float32, d []float32) float32 {
	for k, s := range scores {
		d[k] = s - float32(k+i%3)
	}
	return value - float32(i%5)
}

// cost is the loss itself, through the twin.
func cost(n *Network, rounds []*env.Observation) float64 {
	sum := 0.0
	for i, o := range rounds {
		for k, s := range twin(n.policy, o.Global) {
			d := s - float64(k+i%3)
			sum += d * d / 2
		}
		d := twin(n.critic, o.Global)[0] - float64(i%5)
		sum += d * d / 2
	}
	return sum
}

// The gradient, over more rounds than fit in a chunk, equals central differences
// of the twin at every seventh parameter; that of a head alone is 0 elsewhere.
func TestGradientMatchesFiniteDifferences(t *testing.T) {
	d := Dims{Global: 3, Actions: 4, Hidden: []int{6, 5}}
	n, rounds := network(t, d), observations(d, chunkRows+7)
	grad := make([]float32, len(n.Flat()))
	if err := n.Gradient(context.Background(), rounds, graph.Objective{Loss: squares, Heads: graph.Scores | graph.Values}, grad); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(grad); i += 7 {
		const step = 1.0 / 1024
		at := n.flat[i]
		n.flat[i] = at + step
		up := cost(n, rounds)
		n.flat[i] = at - step
		down := cost(n, rounds)
		n.flat[i] = at
		if want := (up - down) / (2 * step); math.Abs(float64(grad[i])-want) > 1e-3*(1+math.Abs(want)) {
			t.Errorf("parameter %d: derivative %v, finite difference %v", i, grad[i], want)
		}
	}
	part := make([]float32, len(grad))
	for _, c := range []struct {
		heads    graph.Heads
		from, to int
	}{{graph.Scores, 0, n.PolicySize()}, {graph.Values, n.PolicySize(), len(grad)}} {
		if err := n.Gradient(context.Background(), rounds, graph.Objective{Loss: squares, Heads: c.heads}, part); err != nil {
			t.Fatal(err)
		}
		for i, x := range part {
			want := float32(0)
			if i >= c.from && i < c.to {
				want = grad[i]
			}
			if x != want {
				t.Fatalf("heads %d: derivative %d is %v, want %v", c.heads, i, x, want)
			}
		}
	}
}

// Actions that are masked are never drawn; the others as often as the softmax of
// their scores says.
func TestSampleFollowsTheSoftmax(t *testing.T) {
	d := Dims{Global: 3, Actions: 4}
	n, o := network(t, d), observations(d, 2)[1] // action 1 is masked
	a := n.NewActor()
	if _, err := a.Begin(o); err != nil {
		t.Fatal(err)
	}
	want, total := make([]float64, 4), 0.0
	for i, s := range a.Scores() {
		if o.Mask[i] {
			want[i] = math.Exp(float64(s))
			total += want[i]
		}
	}
	const draws = 20_000
	counts, r := make([]int, 4), rng.New(3, "draws")
	for range draws {
		action, logProb, err := a.Sample(o.Mask, r)
		if err != nil {
			t.Fatal(err)
		}
		counts[action]++
		if math.Abs(logProb-math.Log(want[action]/total)) > 1e-6 {
			t.Fatalf("action %d: log-probability %v, want %v", action, logProb, math.Log(want[action]/total))
		}
	}
	for i, c := range counts {
		p := want[i] / total
		if math.Abs(float64(c)-p*draws) > 5*math.Sqrt(p*draws) {
			t.Errorf("action %d was drawn %d times of %d, its probability is %v", i, c, draws, p)
		}
	}
	if _, _, err := a.Sample(make([]bool, 4), r); err == nil {
		t.Error("drew where no action is legal")
	}
}

// Rows or columns of an orthogonal matrix have the gain as their norm and no
// part of each other.
func TestInitializeIsOrthogonal(t *testing.T) {
	n, err := New(Dims{Global: 4, Actions: 2})
	if err != nil {
		t.Fatal(err)
	}
	n.Initialize(rng.New(5, "initialize"))
	for i, gain := range []float64{math.Sqrt2, math.Sqrt2, 0.01} {
		l := &n.policy[i]
		vectors := make([][]float64, min(l.inputs, l.outputs))
		for r := range l.inputs {
			for c := range l.outputs {
				v := r
				if l.outputs < l.inputs {
					v = c
				}
				vectors[v] = append(vectors[v], float64(l.w[r*l.outputs+c])/gain)
			}
		}
		for a := range vectors {
			for b := range vectors {
				want := 0.0
				if a == b {
					want = 1
				}
				if got := dot(vectors[a], vectors[b]); math.Abs(got-want) > 1e-5 {
					t.Fatalf("layer %d: product of %d and %d is %v, want %v", i, a, b, got, want)
				}
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	if _, err := New(Dims{Global: 0, Actions: -1, Hidden: []int{MaxDim + 1}}); err == nil ||
		!strings.Contains(err.Error(), "Global") || !strings.Contains(err.Error(), "Actions") || !strings.Contains(err.Error(), "Hidden[0]") {
		t.Errorf("got %v, want an error that names Global, Actions and Hidden[0]", err)
	}
	d := Dims{Global: 3, Actions: 4}
	n := network(t, d)
	objective := graph.Objective{Loss: squares, Heads: graph.Scores | graph.Values}
	grad := make([]float32, len(n.Flat()))
	if err := n.Gradient(context.Background(), observations(Dims{Global: 3, Actions: 5}, 1), objective, grad); err == nil {
		t.Error("took an observation of another number of actions")
	}
	if _, err := n.NewActor().Begin(observations(Dims{Global: 2, Actions: 4}, 1)[0]); err == nil {
		t.Error("scored an observation of another number of features")
	}
	if err := n.Gradient(context.Background(), nil, objective, grad[1:]); err == nil {
		t.Error("wrote to a gradient of another length")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := n.Gradient(ended, observations(d, 1), objective, grad); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
	n.flat[len(n.flat)-1] = float32(math.NaN())
	if err := n.Gradient(context.Background(), observations(d, 1), objective, grad); !errors.Is(err, ErrNonFinite) {
		t.Errorf("a value that is not a number: got %v", err)
	}
	if _, err := n.NewActor().Begin(observations(d, 1)[0]); !errors.Is(err, ErrNonFinite) {
		t.Errorf("a value that is not a number: got %v", err)
	}
}
