package graph_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/cputime"
	"github.com/yardmaster/yardmaster/train/graph"
	"github.com/yardmaster/yardmaster/train/picks"
	"github.com/yardmaster/yardmaster/train/ppo"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// problem is the batch of one update: rounds of as many candidates, one pick
// each.
type problem struct {
	dims         nn.Dims
	params       *nn.Params
	observations []*env.Observation
	actions      []env.Action
	logProbs     []float32 // near those of the parameters, as in the middle of an update
	advantages   []float32
	targets      []float32
}

const (
	clipRange    = 0.2
	entropyShare = 0.001
	minibatch    = 128
)

func newProblem(d nn.Dims, rounds, rows int) *problem {
	r := rng.New(1, "graph/update")
	x := &problem{dims: d, params: parameters(r, d)}
	scorer, scores := nn.NewScorer(x.params), make([]float32, rows)
	var scratch nn.Scratch
	for range rounds {
		o := observation(r, d, rows)
		o.Mask[0] = true
		action := rows - 1
		for !o.Mask[action] {
			action--
		}
		scorer.Score(scores, o.Global, o.Candidates, o.Mask, &scratch)
		logProb, _ := logSoftmax(scores, o.Mask)
		x.observations, x.actions = append(x.observations, o), append(x.actions, env.Action(action))
		x.logProbs = append(x.logProbs, float32(logProb[action]+0.2*r.NormFloat64()))
		x.advantages, x.targets = append(x.advantages, float32(r.NormFloat64())), append(x.targets, float32(r.NormFloat64()))
	}
	return x
}

// logSoftmax returns the logarithms of the probabilities of the legal rows, and
// the entropy.
func logSoftmax(scores []float32, mask []bool) (logProb []float64, entropy float64) {
	logProb = make([]float64, len(scores))
	z := 0.0
	for i, s := range scores {
		if mask[i] {
			z += math.Exp(float64(s))
		}
	}
	for i, s := range scores {
		if logProb[i] = float64(s) - math.Log(z); mask[i] {
			entropy -= math.Exp(logProb[i]) * logProb[i]
		}
	}
	return logProb, entropy
}

// loss is the mean over the batch of PPO's loss, by its derivative: clipped
// surrogate, entropy bonus, half the square of the value's error.
func (x *problem) loss(i int, scores []float32, value float32, dScores []float32) float32 {
	mask, action, n := x.observations[i].Mask, x.actions[i], float64(len(x.observations))
	logProb, entropy := logSoftmax(scores, mask)
	ratio, advantage := math.Exp(logProb[action]-float64(x.logProbs[i])), float64(x.advantages[i])
	bounded := min(max(ratio, 1-clipRange), 1+clipRange)
	dLogProb := 0.0
	if ratio*advantage <= bounded*advantage {
		dLogProb = -ratio * advantage
	}
	for k := range scores {
		if !mask[k] {
			continue
		}
		p, d := math.Exp(logProb[k]), 0.0
		if k == int(action) {
			d = dLogProb
		}
		d += -dLogProb*p + entropyShare*p*(logProb[k]+entropy)
		dScores[k] = float32(d / n)
	}
	return float32((float64(value) - float64(x.targets[i])) / n)
}

// episodes returns the batch as what a collector would have recorded.
func (x *problem) episodes(tb testing.TB) []rollout.Episode {
	tb.Helper()
	e := rollout.Episode{Terminated: true}
	for i, o := range x.observations {
		round := rollout.Round{Observation: *o, Kept: true, LogProb: float64(x.logProbs[i]), Reward: float64(x.advantages[i]), Elapsed: time.Minute}
		round.Picks = picks.Sequence{}
		round.Picks.Reset(o.N())
		if err := round.Picks.Add(x.actions[i], o.Mask); err != nil {
			tb.Fatal(err)
		}
		e.Rounds = append(e.Rounds, round)
	}
	return []rollout.Episode{e}
}

// python returns the Python that YARDMASTER_PYTHON names, which has torch.
func python(tb testing.TB) string {
	tb.Helper()
	path := os.Getenv("YARDMASTER_PYTHON")
	if path == "" {
		tb.Skip("YARDMASTER_PYTHON names no Python that has torch and numpy")
	}
	return path
}

// torch runs the batch in PyTorch for so long.
func (x *problem) torch(tb testing.TB, seconds float64) (grad []float32, roundsPerSecond float64) {
	tb.Helper()
	executable, dir := python(tb), tb.TempDir()
	x.write(tb, dir, seconds)
	out, err := exec.Command(executable, filepath.Join("testdata", "update.py"), dir).Output()
	if err != nil {
		tb.Fatalf("update.py: %v %s", err, stderr(err))
	}
	var found struct {
		RoundsPerSecond float64 `json:"rounds_per_second"`
	}
	if err := json.Unmarshal(out, &found); err != nil {
		tb.Fatalf("update.py printed %q: %v", out, err)
	}
	file, err := os.Open(filepath.Join(dir, "grad.f32"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	grad = make([]float32, x.dims.Size())
	if err := binary.Read(file, binary.LittleEndian, grad); err != nil {
		tb.Fatal(err)
	}
	return grad, found.RoundsPerSecond
}

func stderr(err error) []byte {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.Stderr
	}
	return nil
}

// write writes the batch for update.py.
func (x *problem) write(tb testing.TB, dir string, seconds float64) {
	tb.Helper()
	var features, candidates []float32
	var mask []uint8
	var actions []int64
	for i, o := range x.observations {
		features, candidates = append(features, o.Global...), append(candidates, o.Candidates...)
		for _, legal := range o.Mask {
			bit := uint8(0)
			if legal {
				bit = 1
			}
			mask = append(mask, bit)
		}
		actions = append(actions, int64(x.actions[i]))
	}
	var tensors []map[string]any
	for _, t := range x.params.Tensors {
		tensors = append(tensors, map[string]any{"name": t.Name, "shape": t.Shape})
	}
	shapes, err := json.Marshal(map[string]any{
		"rounds": len(x.observations), "rows": x.observations[0].N(), "candidate": x.dims.Candidate, "global": x.dims.Global, "tensors": tensors,
		"clip": clipRange, "entropy": entropyShare, "minibatch": minibatch, "rate": 3e-4, "critic_rate": 1e-3, "seconds": seconds,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shapes.json"), shapes, 0o600); err != nil {
		tb.Fatal(err)
	}
	for name, data := range map[string]any{
		"global.f32": features, "candidates.f32": candidates, "mask.u8": mask, "actions.i64": actions, "params.f32": x.params.Flat,
		"log_probs.f32": x.logProbs, "advantages.f32": x.advantages, "targets.f32": x.targets,
	} {
		raw, err := binary.Append(nil, binary.LittleEndian, data)
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// PyTorch differentiates the loss of PPO through the network by itself and finds
// the engine's gradient.
func TestPyTorchAgrees(t *testing.T) {
	python(t)
	d := nn.Dims{Candidate: 11, Global: 5, Hidden: 24, Value: 9}
	x := newProblem(d, 64, 37)
	e, err := graph.NewEngine(d)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, d.Size())
	if err := e.Gradient(context.Background(), x.params, x.observations, graph.Objective{Loss: x.loss, Heads: graph.Scores | graph.Values}, got); err != nil {
		t.Fatal(err)
	}
	want, _ := x.torch(t, 0)
	norm := 0.0
	for _, g := range want {
		norm += float64(g) * float64(g) / float64(len(want))
	}
	for i := range want {
		if off := math.Abs(float64(got[i] - want[i])); !(off <= 1e-5*(math.Sqrt(norm)+math.Abs(float64(want[i])))) {
			t.Errorf("parameter %d: engine %v, PyTorch %v", i, got[i], want[i])
		}
	}
}

// BenchmarkUpdate reports rounds per second of CPU time on one core of one update
// of PPO, 1,024 rounds × 256 candidates in minibatches of 128 with Adam's steps:
// through Gorgonia, with the gradient written by hand on the same kernels, and,
// where YARDMASTER_PYTHON names a Python that has torch, in PyTorch. All run by
// turns in one run. The first network is the default one, the second twice as
// wide.
func BenchmarkUpdate(b *testing.B) {
	for _, hidden := range []int{32, 64} {
		b.Run(fmt.Sprintf("hidden=%d", hidden), func(b *testing.B) {
			x := newProblem(nn.Dims{Candidate: 32, Global: 9, Hidden: hidden, Value: 64}, 1024, 256)
			b.Run("gorgonia-and-hand", x.benchmark)
			b.Run("pytorch", func(b *testing.B) {
				python(b)
				for b.Loop() {
					_, rate := x.torch(b, 5)
					b.ReportMetric(rate, "rounds/s")
				}
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

func (x *problem) benchmark(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cfg := ppo.Config{Epochs: 1, Minibatch: minibatch, Leash: -1, TargetKL: 1e9, RewardScale: 1}
	gorgonia, err := ppo.NewLearner(cfg, x.params.Clone())
	if err != nil {
		b.Fatal(err)
	}
	byHand, err := ppo.NewNetworkLearner(cfg, newHandwritten(x.params.Clone()))
	if err != nil {
		b.Fatal(err)
	}
	episodes := x.episodes(b)
	var fastest [2]time.Duration
	for b.Loop() {
		for turn := range 3 {
			for i, l := range []*ppo.Learner{gorgonia, byHand} {
				start := cputime.Spent()
				if _, err := l.Update(context.Background(), episodes, 0, rand.New(rand.NewPCG(1, uint64(turn)))); err != nil {
					b.Fatal(err)
				}
				if spent := cputime.Spent() - start; turn > 0 && (fastest[i] == 0 || spent < fastest[i]) { // the first turn warms up
					fastest[i] = spent
				}
			}
		}
	}
	rounds := float64(len(x.observations))
	b.ReportMetric(rounds/fastest[0].Seconds(), "gorgonia-rounds/s")
	b.ReportMetric(rounds/fastest[1].Seconds(), "hand-rounds/s")
	b.ReportMetric(fastest[1].Seconds()/fastest[0].Seconds(), "gorgonia/hand")
	b.ReportMetric(0, "ns/op")
}
