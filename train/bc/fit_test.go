package bc

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/graph"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Columns of the random observations of these tests.
const (
	columns = 4
	globals = 2
)

func toyParams(seed uint64) *nn.Params {
	p := nn.NewParams(nn.Dims{Candidate: columns, Global: globals, Hidden: 8, Value: 4})
	r := rng.New(seed, "params")
	for i := range p.Flat {
		p.Flat[i] = float32(0.4 * r.NormFloat64())
	}
	return p
}

func randomObservation(r *rand.Rand, n int) env.Observation {
	o := env.Observation{Global: make([]float32, globals), Candidates: make([]float32, n*columns), Mask: make([]bool, n)}
	for _, x := range [][]float32{o.Global, o.Candidates} {
		for i := range x {
			x[i] = float32(2*r.Float64() - 1)
		}
	}
	for i := 1; i < n; i++ {
		o.Mask[i] = true
	}
	return o
}

// taught is the demonstration that the rows of set, in this order, and then stop
// are picked at o, where every row but stop is legal until it is picked.
func taught(t testing.TB, o env.Observation, set ...env.Action) Demonstration {
	t.Helper()
	d := Demonstration{Set: len(set)}
	o.CopyTo(&d.Observation)
	d.Picks.Reset(o.N())
	mask := slices.Clone(o.Mask)
	for _, a := range append(slices.Clone(set), stop) {
		if err := d.Picks.Add(a, mask); err != nil {
			t.Fatal(err)
		}
		mask[a], mask[stop] = false, true
	}
	return d
}

func softly(t testing.TB, o env.Observation, r *rand.Rand) Demonstration {
	t.Helper()
	target, sum := make([]float64, o.N()), 0.0
	for i := 1; i < o.N(); i++ {
		target[i] = r.Float64()
		sum += target[i]
	}
	for i := range target {
		target[i] /= sum
	}
	d, err := NewExample(&o, target)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func someOfEach(t testing.TB, r *rand.Rand, n int) []Demonstration {
	t.Helper()
	var demos []Demonstration
	for i := range n {
		o := randomObservation(r, 4+r.IntN(6))
		if i%2 == 0 {
			demos = append(demos, softly(t, o, r))
		} else {
			demos = append(demos, taught(t, o, 2, 1))
		}
	}
	return demos
}

func fitter(t testing.TB, cfg Config, p *nn.Params) *Fitter {
	t.Helper()
	f, err := NewFitter(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The derivative of both forms of the loss by the scores equals central
// differences, and is 0 for rows that were never legal.
func TestLossDerivativeMatchesFiniteDifferences(t *testing.T) {
	r := rng.New(1, "loss")
	var e picks.Evaluator
	for _, d := range someOfEach(t, r, 40) {
		n := d.Observation.N()
		scores, got := make([]float32, n), make([]float32, n)
		for i := range scores {
			scores[i] = float32(r.NormFloat64())
		}
		d.loss(&e, scores, 0.7, got)
		const step = 1.0 / 512
		for i := range scores {
			at := scores[i]
			scores[i] = at + step
			up := d.loss(&e, scores, 0, make([]float32, n)).loss
			width := float64(scores[i])
			scores[i] = at - step
			down := d.loss(&e, scores, 0, make([]float32, n)).loss
			width -= float64(scores[i])
			scores[i] = at
			if want := 0.7 * (up - down) / width; math.Abs(float64(got[i])-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("row %d of %d, set of %d: derivative %v, finite difference %v", i, n, d.Set, got[i], want)
			}
		}
	}
}

// A step of the optimizer follows the gradient of the reported loss: the
// derivative by the parameters along a random direction equals differences of
// Evaluate, which computes the loss without Gorgonia.
func TestGradientMatchesEvaluate(t *testing.T) {
	r := rng.New(2, "demos")
	demos, p := someOfEach(t, r, 40), toyParams(1)
	f := fitter(t, Config{GradNorm: 1e9, Rate: 1e-9}, p)
	indices := make([]int, len(demos))
	for i := range indices {
		indices[i] = i
	}
	want := f.Evaluate(demos)
	sum, _, err := f.step(context.Background(), demos, indices, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	m := sum.metrics()
	if math.Abs(m.Loss-want.Loss) > 1e-6 || math.Abs(m.Accuracy-want.Accuracy) > 1e-12 {
		t.Errorf("step reports loss %v and accuracy %v, Evaluate %v and %v", m.Loss, m.Accuracy, want.Loss, want.Accuracy)
	}
	grad, at := slices.Clone(f.grad), p.Dims.ScorerSize()
	for range 5 {
		direction, along := make([]float32, at), 0.0
		for i := range direction {
			direction[i] = float32(r.NormFloat64())
			along += float64(direction[i]) * float64(grad[i])
		}
		const step = 1e-4
		lossAt := func(step float32) float64 {
			q := p.Clone()
			for i, x := range direction {
				q.Flat[i] += step * x
			}
			return fitter(t, Config{}, q).Evaluate(demos).Loss
		}
		if want := (lossAt(step) - lossAt(-step)) / (2 * step); math.Abs(along-want) > 0.01*(1+math.Abs(want)) {
			t.Errorf("derivative along a direction is %v, finite difference %v", along, want)
		}
	}
}

// What an epoch reports is per pick, however picks fall into minibatches.
func TestEpochReportsPerPick(t *testing.T) {
	r := rng.New(9, "demos")
	demos, p := someOfEach(t, r, 11), toyParams(1)
	f := fitter(t, Config{Minibatch: 3, Rate: 1e-12}, p)
	want := f.Evaluate(demos)
	got, err := f.Epoch(context.Background(), demos, r)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Loss-want.Loss) > 1e-6 || math.Abs(got.Accuracy-want.Accuracy) > 1e-12 || got.Steps != 4 || got.GradNorm <= 0 {
		t.Errorf("got %+v, want loss %v and accuracy %v in 4 steps", got, want.Loss, want.Accuracy)
	}
}

// An allocation is a set: where every pick leaves the others legal and all scores
// are equal, no order of the members costs more than another.
func TestOrderOfASetDoesNotMatter(t *testing.T) {
	r := rng.New(3, "order")
	var e picks.Evaluator
	o := randomObservation(r, 7)
	scores := make([]float32, o.N()) // equal scores: any member is as likely as another
	want := math.NaN()
	for _, set := range [][]env.Action{{1, 3, 5}, {5, 3, 1}, {3, 1, 5}, {1, 5, 3}, {3, 5, 1}, {5, 1, 3}} {
		d := taught(t, o, set...)
		got := d.loss(&e, scores, 1, make([]float32, o.N()))
		if want != want {
			want = got.loss
		}
		if math.Abs(got.loss-want) > 1e-12 {
			t.Errorf("set %v: loss %v, want %v", set, got.loss, want)
		}
	}
	// 3 of 6 rows, 2 of 6 now that stop is legal, 1 of 5, and stop of 4.
	if byHand := math.Log(6.0/3) + math.Log(6.0/2) + math.Log(5) + math.Log(4); math.Abs(want-byHand) > 1e-12 {
		t.Errorf("loss %v, by hand %v", want, byHand)
	}
}

// Accuracy asks only for some member of what is left, and stop after them.
func TestAccuracyCountsAnyMember(t *testing.T) {
	var e picks.Evaluator
	o := randomObservation(rng.New(4, "accuracy"), 5)
	d := taught(t, o, 1, 2)
	for _, c := range []struct {
		scores []float32
		want   int
	}{
		{[]float32{0, 9, 8, -1, -1}, 3},
		{[]float32{0, 8, 9, -1, -1}, 3}, // the other member first
		{[]float32{-1, 9, 8, 7, -2}, 2}, // stop comes too late
		{[]float32{0, 2, 1, 9, 8}, 0},
	} {
		if got := d.loss(&e, c.scores, 0, make([]float32, 5)).right; got != c.want {
			t.Errorf("scores %v: %d picks are right, want %d", c.scores, got, c.want)
		}
	}
}

func TestFitLearnsDemonstrations(t *testing.T) {
	r := rng.New(5, "demos")
	var demos []Demonstration
	for range 200 { // the teacher takes the two rows with the highest first column; the last one marks stop
		o := randomObservation(r, 8)
		for row := range o.N() {
			o.Candidates[row*columns+columns-1] = 0
		}
		o.Candidates[columns-1] = 1
		rows := []env.Action{1, 2, 3, 4, 5, 6, 7}
		slices.SortFunc(rows, func(a, b env.Action) int {
			return cmp.Compare(o.Candidates[int(b)*columns], o.Candidates[int(a)*columns])
		})
		demos = append(demos, taught(t, o, rows[1], rows[0]))
	}
	p := toyParams(2)
	before := p.Clone()
	f := fitter(t, Config{Epochs: 60, Minibatch: 32, Rate: 0.03}, p)
	start := f.Evaluate(demos)
	order := rng.New(1, "order")
	for range 60 {
		if _, err := f.Epoch(context.Background(), demos, order); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Evaluate(demos); got.Accuracy < 0.95 || got.Loss > start.Loss/2 {
		t.Errorf("accuracy %v, loss %v after %v, want at least 0.95 and half", got.Accuracy, got.Loss, start.Loss)
	}
	at := p.Dims.ScorerSize()
	if !slices.Equal(p.Flat[at:], before.Flat[at:]) {
		t.Error("cloning changed the critic")
	}
}

func TestDecayPullsToZero(t *testing.T) {
	r := rng.New(6, "demos")
	demos := someOfEach(t, r, 20)
	norm := func(decay float64) float64 {
		p := toyParams(3)
		if _, err := fitter(t, Config{Rate: 0.01, Decay: decay, Minibatch: 4}, p).Epoch(context.Background(), demos, rng.New(1, "o")); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, x := range p.Flat[:p.Dims.ScorerSize()] {
			sum += float64(x) * float64(x)
		}
		return sum
	}
	if free, pulled := norm(0), norm(0.9); pulled >= free {
		t.Errorf("squared norm %v with decay, %v without", pulled, free)
	}
}

// Nothing that is not finite gets into the parameters.
func TestFitRefusesWhatIsNotFinite(t *testing.T) {
	r := rng.New(7, "demos")
	for name, spoil := range map[string]func(*Demonstration){
		"observation": func(d *Demonstration) { d.Observation.Candidates[columns] = float32(math.NaN()) },
		"target":      func(d *Demonstration) { d.Target[1] = math.NaN() },
		"infinite":    func(d *Demonstration) { d.Target[1] = math.Inf(1) },
	} {
		demos := []Demonstration{softly(t, randomObservation(r, 5), r), softly(t, randomObservation(r, 5), r)}
		spoil(&demos[1])
		p := toyParams(1)
		before := slices.Clone(p.Flat)
		_, err := fitter(t, Config{Minibatch: 1}, p).Epoch(context.Background(), demos, r)
		if !errors.Is(err, ErrNonFinite) && !errors.Is(err, graph.ErrNonFinite) {
			t.Errorf("%s: got %v, want ErrNonFinite", name, err)
		}
		if !slices.Equal(p.Flat, before) {
			t.Errorf("%s: the failed epoch changed the parameters", name)
		}
	}
	p := toyParams(1)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fitter(t, Config{}, p).Epoch(ended, someOfEach(t, r, 3), r); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
}

func TestConfigNamesEveryBadField(t *testing.T) {
	_, err := NewFitter(Config{Epochs: -1, Minibatch: -1, Rate: math.NaN(), GradNorm: -1, Decay: 1}, toyParams(1))
	for _, field := range []string{"Epochs", "Minibatch", "Rate", "GradNorm", "Decay"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

// softToy are examples whose targets are the softmax of twice the product of the
// state and a column: a network that sees both can match them, and the loss is
// then the entropy of the targets.
func softToy(t *testing.T, n int) (examples []Demonstration, entropy float64) {
	t.Helper()
	r := rng.New(8, "soft")
	for i := range n {
		o := randomObservation(r, 4)
		o.Mask[0] = true
		o.Mask[3] = i%3 > 0 // an illegal row now and then
		if o.Global[0] = -1; i%2 == 0 {
			o.Global[0] = 1
		}
		target, z := make([]float64, 4), 0.0
		for row := range target {
			if o.Mask[row] {
				target[row] = math.Exp(2 * float64(o.Global[0]*o.Candidates[row*columns]))
				z += target[row]
			}
		}
		for row := range target {
			if target[row] /= z; target[row] > 0 && i >= n-n/5 {
				entropy -= target[row] * math.Log(target[row]) / float64(n/5)
			}
		}
		d, err := NewExample(&o, target)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, d)
	}
	return examples, entropy
}

func toyEncoder() models.Encoder {
	f := func(n int) (fs []env.Feature) {
		for i := range n {
			fs = append(fs, env.Feature{Name: string(rune('a' + i)), Low: -1, High: 1})
		}
		return fs
	}
	return neural.Encoder("toy/1", env.Space{Global: f(globals), Candidate: f(columns)})
}

func TestFitSoftRecoversTargets(t *testing.T) {
	examples, entropy := softToy(t, 400)
	cfg := SoftConfig{Kind: models.Configuration, Encoder: toyEncoder(), Hidden: 16, Seed: 1, Config: Config{Rate: 0.02}}
	m, result, err := FitSoft(context.Background(), cfg, examples)
	if err != nil {
		t.Fatal(err)
	}
	if excess := result.Holdout.Loss - entropy; excess < -1e-9 || excess > 0.02 {
		t.Errorf("cross-entropy of what was held out is %v, want within 0.02 above the entropy of the targets, %v", result.Holdout.Loss, entropy)
	}
	if result.Epoch < 1 || result.Examples != 400 || m.Manifest.Kind != models.Configuration {
		t.Errorf("got epoch %d of %d examples, kind %s", result.Epoch, result.Examples, m.Manifest.Kind)
	}
	if again := fitter(t, Config{}, m.Params).Evaluate(examples[320:]); again.Loss != result.Holdout.Loss {
		t.Errorf("the model scores %v on what was held out, the result says %v", again.Loss, result.Holdout.Loss)
	}
	cfg.Epochs = 2
	fit := func() []float32 {
		m, _, err := FitSoft(context.Background(), cfg, examples[:40])
		if err != nil {
			t.Fatal(err)
		}
		return m.Params.Flat
	}
	if !slices.Equal(fit(), fit()) {
		t.Error("the same seed fitted another network")
	}
}

func TestFitSoftRefuses(t *testing.T) {
	examples, _ := softToy(t, 5)
	ctx := context.Background()
	_, _, err := FitSoft(ctx, SoftConfig{Hidden: -1, Holdout: 1, Config: Config{Rate: 2}}, examples)
	for _, field := range []string{"Hidden", "Holdout", "Rate", "Encoder"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
	if _, _, err := FitSoft(ctx, SoftConfig{Encoder: toyEncoder()}, examples[:1]); err == nil {
		t.Error("one example: got no error")
	}
	o := randomObservation(rng.New(1, "o"), 3)
	for name, target := range map[string][]float64{
		"too short": {0, 1}, "illegal row": {0.5, 0.5, 0}, "negative": {0, 2, -1}, "not a number": {0, math.NaN(), 1}, "no distribution": {0, 0.5, 0.4},
	} {
		if _, err := NewExample(&o, target); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
