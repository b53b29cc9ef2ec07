package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func started(t testing.TB, cfg Config) *run {
	t.Helper()
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	e, err := cfg.NewEnv()
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRun(&cfg, e.Spec())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.dir.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func column(name string) int {
	return slices.IndexFunc(encode.JobStrategySpace().Candidate, func(f env.Feature) bool { return f.Name == name })
}

// A column that is the same for all candidates is fixed, one that tells them apart
// is not. A job alone has no rank among others.
func TestConstantColumnsAreThoseThatTellNothingApart(t *testing.T) {
	many, err := started(t, small(t)).constantColumns(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	cfg := small(t)
	cfg.NewEnv = func() (env.Env, error) { return sim.NewJobStrategy(tiny.Cluster(1)) }
	one, err := started(t, cfg).constantColumns(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{ // with one job, with many
		"is_stop": {true, true}, "rank": {true, false}, "speed": {false, false}, "log_density": {false, false},
	} {
		if got := [2]bool{one[column(name)], many[column(name)]}; got != want {
			t.Errorf("%s is fixed with one job and with many: %v, want %v", name, got, want)
		}
	}
}

// A training episode of a few rounds tells as much as a long one: where few
// rounds would be looked at, all are.
func TestConstantColumnsLookAtShortEpisodes(t *testing.T) {
	for seed := range uint64(40) {
		cfg := small(t)
		cfg.Seed = seed
		cfg.NewEnv = func() (env.Env, error) { return sim.NewJobStrategy(tiny.Cluster(3)) }
		fixed, err := started(t, cfg).constantColumns(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if fixed[column("speed")] {
			t.Fatalf("seed %d: the column speed is fixed, although types of GPU differ", seed)
		}
	}
}

// Evolution moves the free weights of the linear part, in units of the prior's
// scale, and nothing else; candidates of one generation meet the same episodes.
func TestEvolutionMovesTheFreeWeights(t *testing.T) {
	cfg := small(t)
	cfg.Teacher, cfg.PPO.Iterations = nil, -1
	cfg.ES.Sigma, cfg.ES.Generations, cfg.ES.ValidateEvery = 0.1, 2, 1
	var asked [][]uint64
	var point []float64
	cfg.Costs = func(_ context.Context, ms []*models.Model, seeds []uint64) ([][]float64, error) {
		asked = append(asked, seeds)
		all := make([][]float64, len(ms))
		for i, m := range ms {
			at := float64(m.Params.Tensors[nn.ScoreLinearWeight].Data[column("speed")]) / 8
			point = append(point, at)
			all[i] = []float64{math.Exp(-at)}
		}
		return all, nil
	}
	mustRun(t, cfg)
	if len(asked) != 2 || slices.Equal(asked[0], asked[1]) || len(asked[0]) != cfg.ES.Episodes {
		t.Errorf("generations were played on %v, want %d each, not the same twice", asked, cfg.ES.Episodes)
	}
	if spread := slices.Max(point); spread <= 0 || spread > 1 {
		t.Errorf("the weight of speed was perturbed by up to %v, want about sigma, 0.1", spread)
	}
	before, err := models.Load(cfg.Dir + "/checkpoints/init-0000")
	if err != nil {
		t.Fatal(err)
	}
	after, err := models.Load(cfg.Dir + "/checkpoints/es-0002")
	if err != nil {
		t.Fatal(err)
	}
	for i, tensor := range after.Params.Tensors {
		same := slices.Equal(tensor.Data, before.Params.Tensors[i].Data)
		if (i == nn.ScoreLinearWeight) == same {
			t.Errorf("%s: unchanged is %v", tensor.Name, same)
		}
	}
	if got := after.Params.Tensors[nn.ScoreLinearWeight].Data[column("speed")]; got <= 0 {
		t.Errorf("the weight of speed went to %v, although costs fall with it", got)
	}
	stop := column("is_stop")
	if got, want := after.Params.Tensors[nn.ScoreLinearWeight].Data[stop], before.Params.Tensors[nn.ScoreLinearWeight].Data[stop]; got != want {
		t.Errorf("the fixed weight of is_stop moved from %v to %v", want, got)
	}
}
