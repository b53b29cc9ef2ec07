package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/checkpoint"
	"github.com/yardmaster/yardmaster/train/graph"
	"github.com/yardmaster/yardmaster/train/ppo"
)

// spoilt is a cluster whose rewards are not numbers in the episodes of one seed.
type spoilt struct {
	env.Env
	bad, seed uint64
}

func (e *spoilt) Reset(seed uint64) (env.TimeStep, error) {
	e.seed = seed
	return e.Env.Reset(seed)
}

func (e *spoilt) Step(a env.Action) (env.TimeStep, error) {
	step, err := e.Env.Step(a)
	if e.seed == e.bad {
		step.Reward = math.NaN()
	}
	return step, err
}

// A loss that is not finite ends the run. The checkpoint of the step before is kept, and
// the batch is in a file that the error names; resuming comes to the same end.
func TestNonFiniteLossKeepsItsBatch(t *testing.T) {
	for _, c := range []struct {
		stage  Stage
		step   int
		bad    uint64 // the training seed that the step plays
		before int    // checkpoints
	}{{StageCritic, 1, 3, 1}, {StagePPO, 2, 5, 3}} {
		cfg := small(t)
		cfg.Teacher, cfg.Costs = nil, nil
		cfg.TrainSeeds = []uint64{3, 4, 5, 6}
		cfg.NewEnv = func() (env.Env, error) {
			e, err := cluster()
			return &spoilt{Env: e, bad: c.bad}, err
		}
		name := filepath.Join(cfg.Dir, "nonfinite-"+string(c.stage)+"-000"+string(rune('0'+c.step))+".state")
		var first *checkpoint.Batch
		for _, resume := range []bool{false, true} {
			cfg.Resume = resume
			result, err := Run(t.Context(), cfg)
			if !errors.Is(err, ppo.ErrNonFinite) && !errors.Is(err, graph.ErrNonFinite) {
				t.Fatalf("%s: got %v, want ErrNonFinite", c.stage, err)
			}
			for _, want := range []string{name, string(c.stage) + " " + string(rune('0'+c.step))} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v, want an error that says %q", c.stage, err, want)
				}
			}
			batch, err := checkpoint.ReadBatch(name)
			if err != nil {
				t.Fatal(err)
			}
			checkBatch(t, batch)
			if first == nil {
				first = batch
			} else if !slices.Equal(first.Parameters, batch.Parameters) || len(first.Observations) != len(batch.Observations) {
				t.Errorf("%s: resumed, the run left another batch", c.stage)
			}
			if got := len(checkpoints(t, cfg.Dir)); got != min(3, c.before+1) {
				t.Errorf("%s: %d checkpoints are kept, want %d", c.stage, got, min(3, c.before+1))
			}
			if score, err := validate(t.Context(), load(t, result.ModelDir)); err != nil || score != result.Kept.Score {
				t.Errorf("%s: the model scores %v, %v, the result says %v", c.stage, score, err, result.Kept.Score)
			}
		}
		// A run from the start takes the file away.
		cfg.Resume = false
		cfg.NewEnv = cluster
		mustRun(t, cfg)
		if left, err := filepath.Glob(filepath.Join(cfg.Dir, nonFinitePattern)); err != nil || len(left) != 0 {
			t.Errorf("%s: a new run left %v, %v", c.stage, left, err)
		}
	}
}

// Nor does evolution take costs that are not finite: the candidate is kept with them.
func TestNonFiniteCostKeepsItsCandidate(t *testing.T) {
	cfg := small(t)
	cfg.Teacher, cfg.PPO.Iterations = nil, -1
	calls := 0
	var spoilt []float32
	cfg.Costs = func(ctx context.Context, ms []*models.Model, seeds []uint64) ([][]float64, error) {
		all, err := costs(ctx, ms, seeds)
		if calls++; calls == 2 {
			all[1][0], spoilt = math.Inf(1), slices.Clone(ms[1].Params.Flat)
		}
		return all, err
	}
	_, err := Run(t.Context(), cfg)
	name := filepath.Join(cfg.Dir, "nonfinite-es-0002.state")
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "candidate 2 of 4: cost of training episode 3 is +Inf") {
		t.Fatalf("got %v, want an error that names the file, the candidate and the episode", err)
	}
	b, err := checkpoint.ReadBatch(name)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.Parameters, spoilt) || !slices.Equal(b.Seeds, []uint64{3}) || !math.IsInf(b.Costs[0], 1) {
		t.Errorf("the file has seeds %v, costs %v; the candidate's parameters: %v", b.Seeds, b.Costs, slices.Equal(b.Parameters, spoilt))
	}
	cfg.Costs, cfg.Resume = costs, true // the fault was in the caller
	mustRun(t, cfg)
}

func load(t *testing.T, dir string) *models.Model {
	t.Helper()
	m, err := models.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkBatch checks that b shows what is wrong: a target that is not a number, beside
// the observation and the picks that it is about.
func checkBatch(t *testing.T, b *checkpoint.Batch) {
	t.Helper()
	n := len(b.Observations)
	if diff := cmp.Diff([]int{n, n, n, n, n}, []int{len(b.Picks), len(b.LogProbs), len(b.Advantages), len(b.Values), len(b.Targets)}); diff != "" || n == 0 {
		t.Errorf("lengths (-observations +others):\n%s", diff)
	}
	if !slices.ContainsFunc(b.Targets, math.IsNaN) {
		t.Error("no target is NaN")
	}
	for i := range b.Observations {
		if b.Observations[i].N() == 0 || len(b.Picks[i].Actions) == 0 {
			t.Errorf("round %d has no rows or no picks", i)
		}
	}
	for i, x := range b.Parameters {
		if x-x != 0 {
			t.Fatalf("parameter %d is %v", i, x)
		}
	}
}
