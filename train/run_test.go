package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func cluster() (env.Env, error) { return sim.NewJobStrategy(tiny.Cluster(6)) }

func teacher(t testing.TB) agent.Policy {
	t.Helper()
	var r agent.Registry
	heuristic.Register(&r)
	p, err := r.New("srtf")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// meanJCT is the mean completion time of m on these episodes, in seconds.
func meanJCT(ctx context.Context, m *models.Model, seeds ...uint64) (float64, error) {
	p, err := neural.NewPolicy(m)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, seed := range seeds {
		e, err := eval.Play(ctx, tiny.Cluster(6), p, seed)
		if err != nil {
			return 0, err
		}
		s, err := e.Schedule.Summarize()
		if err != nil {
			return 0, err
		}
		sum += s.MeanJCT / float64(len(seeds))
	}
	return sum, nil
}

func validate(ctx context.Context, m *models.Model) (float64, error) {
	return meanJCT(ctx, m, 101, 102)
}

func costs(ctx context.Context, ms []*models.Model, seeds []uint64) ([][]float64, error) {
	all := make([][]float64, len(ms))
	for i, m := range ms {
		for _, seed := range seeds {
			cost, err := meanJCT(ctx, m, seed)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], cost)
		}
	}
	return all, nil
}

// small is a run of all stages that takes a fraction of a second.
func small(t testing.TB) Config {
	t.Helper()
	cfg := settings(t)
	cfg.Dir = t.TempDir()
	return cfg
}

// settings are those of small, without a folder.
func settings(t testing.TB) Config {
	t.Helper()
	cfg := Config{
		Seed: 7, NewEnv: cluster, TrainSeeds: []uint64{1, 2, 3, 4, 5}, Teacher: teacher(t), Validate: validate, Costs: costs,
		Network: Network{Hidden: 8, Value: 8}, Prior: Prior{Weights: DensityPrior()},
		Provenance: map[string]string{"trace": "tiny"},
	}
	cfg.BC.Passes, cfg.BC.Episodes, cfg.BC.Keep, cfg.BC.KeepChanged = 2, 2, 1, 1
	cfg.ES.Generations, cfg.ES.Episodes, cfg.ES.Pairs = 3, 1, 2
	cfg.PPO.Iterations, cfg.PPO.Groups, cfg.PPO.PerGroup, cfg.PPO.Keep, cfg.PPO.ValidateEvery, cfg.PPO.CriticEpochs = 3, 1, 2, 1, 2, 2
	return cfg
}

func mustRun(t testing.TB, cfg Config) *Result {
	t.Helper()
	result, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func read(t testing.TB, elements ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// lines reads metrics.jsonl; fields that line does not have are an error.
func lines(t testing.TB, dir string) []line {
	t.Helper()
	var all []line
	for raw := range bytes.Lines(read(t, dir, metricsFile)) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		all = append(all, l)
	}
	return all
}

func steps(ls []line) []string {
	var all []string
	for _, l := range ls {
		mark := string(l.Stage) + strconv.Itoa(l.Step)
		if l.Score != nil {
			mark += "*"
		}
		all = append(all, mark)
	}
	return all
}

// The run directory holds what the package comment says, a line per step in the
// order of the stages, a checkpoint per validation (* here).
func TestRunGoesThroughItsStages(t *testing.T) {
	cfg := small(t)
	var reported []ProgressInfo
	cfg.Progress = func(p ProgressInfo) { reported = append(reported, p) }
	result := mustRun(t, cfg)

	logged := lines(t, cfg.Dir)
	want := []string{"init0*", "bc1*", "bc2*", "es1", "es2*", "es3*", "critic1", "ppo1", "ppo2*", "ppo3*"}
	if diff := cmp.Diff(want, steps(logged)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	var names, validated []string
	for _, v := range result.All {
		validated = append(validated, v.name())
	}
	entries, err := os.ReadDir(filepath.Join(cfg.Dir, checkpointDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(validated)
	if diff := cmp.Diff(validated, names); diff != "" {
		t.Errorf("checkpoints (-validations +folders):\n%s", diff)
	}
	for i, p := range reported {
		if p.Done != i+1 || p.Total != len(reported) || p.Best > p.Score {
			t.Errorf("report %d: %+v, want %d of %d done, no best worse than the last", i, p, i+1, len(reported))
		}
	}
	cfg.TrainSeeds = []uint64{1}
	if got := cfg.Episodes(); got != 2*2+1+3*1+(1+3)*1 {
		t.Errorf("the run takes %d episodes, want 12", got)
	}
	if len(reported) != 9 {
		t.Errorf("%d steps were reported, want 9", len(reported))
	}
	for i := range logged {
		if logged[i].Stage != StageInit && logged[i].Metrics == nil {
			t.Errorf("%s has no metrics", steps(logged)[i])
		}
	}
}

func (v Validation) name() string {
	return string(v.Stage) + "-000" + strconv.Itoa(v.Step)
}

// run.json has the configuration with its defaults and the result.
func TestRunFileRoundTrips(t *testing.T) {
	cfg := small(t)
	result := mustRun(t, cfg)
	dec := json.NewDecoder(bytes.NewReader(read(t, cfg.Dir, runFile)))
	dec.DisallowUnknownFields()
	var got record
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	cfg.fillDefaults()
	want := record{
		Seed: 7, TrainSeeds: cfg.TrainSeeds, Kind: models.JobStrategy, Teacher: true, Network: cfg.Network, Prior: cfg.Prior,
		BC: cfg.BC, ES: cfg.ES, PPO: cfg.PPO, Encoder: encode.JobStrategyVersion, Format: models.FormatVersion, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Provenance: cfg.Provenance, Result: result,
	}
	want.Result.ModelDir = "" // where the directory is does not belong into it
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run.json (-want +got):\n%s", diff)
	}
	if got.PPO.Minibatch == 0 || got.BC.Rate == 0 || got.ES.Sigma == 0 {
		t.Error("defaults are not filled in")
	}
}

// A leash that is left out is left out of the updates, too, though defaults are filled
// in by the run and by the learner.
func TestNoLeash(t *testing.T) {
	for _, leash := range []float64{-1, 0.1} {
		cfg := small(t)
		cfg.BC.Passes, cfg.ES.Generations, cfg.PPO.Leash = -1, -1, leash
		mustRun(t, cfg)
		strayed := 0.0
		for _, l := range lines(t, cfg.Dir) {
			if l.Stage == StagePPO {
				strayed += l.Metrics.(map[string]any)["leash_kl"].(float64)
			}
		}
		if (strayed != 0) != (leash > 0) {
			t.Errorf("leash %v: the KL to its policy is %v, want one with a leash only", leash, strayed)
		}
	}
}

// The model kept scores what the result says, no validation was better, and
// every checkpoint scores what was logged.
func TestTheBestModelIsKept(t *testing.T) {
	cfg := small(t)
	result := mustRun(t, cfg)
	best := math.Inf(1)
	for _, v := range result.All {
		m, err := models.Load(filepath.Join(cfg.Dir, checkpointDir, v.name()))
		if err != nil {
			t.Fatal(err)
		}
		if score, err := validate(context.Background(), m); err != nil || score != v.Score || m.Manifest.Metrics["validation_score"] != score {
			t.Errorf("%s scores %v (%v), the result says %v, the manifest %v", v.name(), score, err, v.Score, m.Manifest.Metrics["validation_score"])
		}
		best = min(best, v.Score)
	}
	kept, err := models.Load(result.ModelDir)
	if err != nil {
		t.Fatal(err)
	}
	score, err := validate(context.Background(), kept)
	if err != nil {
		t.Fatal(err)
	}
	if score != best || result.Kept.Score != best {
		t.Errorf("the kept model scores %v, the result says %v, the best validation was %v", score, result.Kept.Score, best)
	}
	p := kept.Manifest.Provenance
	want := map[string]string{
		"trace": "tiny", "seed": "7", "environment": sim.JobStrategyID, "stage": string(result.Kept.Stage), "step": strconv.Itoa(result.Kept.Step),
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("provenance (-want +got):\n%s", diff)
	}
}

// What a stage is said to have reached is the best of its own validations.
func TestResultTellsTheBestOfEveryStage(t *testing.T) {
	result := mustRun(t, small(t))
	best := func(s Stage) float64 {
		x := math.Inf(1)
		for _, v := range result.All {
			if v.Stage == s {
				x = min(x, v.Score)
			}
		}
		return x
	}
	got := []float64{result.Init, result.BC, result.ES, result.PPO}
	if want := []float64{best(StageInit), best(StageBC), best(StageES), best(StagePPO)}; !slices.Equal(got, want) {
		t.Errorf("init, bc, es, ppo: got %v, want %v", got, want)
	}
}

// Where stages get worse and worse the prior is what is kept, and each stage
// begins from it.
func TestAWorseStageCostsNoQuality(t *testing.T) {
	cfg := small(t)
	calls := 0.0
	cfg.Validate = func(context.Context, *models.Model) (float64, error) { calls++; return calls, nil }
	result := mustRun(t, cfg)
	if result.Kept != (Validation{StageInit, 0, 1}) {
		t.Errorf("kept %+v, want the prior", result.Kept)
	}
	if !bytes.Equal(weights(t, result.ModelDir), weights(t, cfg.Dir, checkpointDir, "init-0000")) {
		t.Error("the model is not the prior's checkpoint")
	}
	if result.ES != 4 || result.PPO != 6 || result.BC != 2 {
		t.Errorf("stages reached %+v, want the best of each: 2, 4, 6", result)
	}
}

func weights(t testing.TB, dir ...string) []byte {
	t.Helper()
	return read(t, filepath.Join(dir...), "weights.safetensors")
}

// Equal configurations give equal models and logs, bit for bit, on any number
// of processors.
func TestRunIsDeterministic(t *testing.T) {
	run := func(procs int) (raw []byte, logged []line) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		cfg := small(t)
		mustRun(t, cfg)
		for _, stage := range []string{"bc-0002", "es-0003", "ppo-0003"} {
			raw = append(raw, weights(t, cfg.Dir, checkpointDir, stage)...)
		}
		logged = lines(t, cfg.Dir)
		for i := range logged {
			logged[i].WallSeconds = 0
		}
		return append(raw, weights(t, cfg.Dir, ModelDir)...), logged
	}
	want, wantLog := run(1)
	for _, procs := range []int{2, 4} {
		got, gotLog := run(procs)
		if !bytes.Equal(got, want) {
			t.Errorf("GOMAXPROCS %d: other weights than with 1", procs)
		}
		if diff := cmp.Diff(wantLog, gotLog); diff != "" {
			t.Errorf("GOMAXPROCS %d: another log than with 1:\n%s", procs, diff)
		}
	}
	cfg := small(t)
	cfg.Seed++
	mustRun(t, cfg)
	if bytes.HasPrefix(want, weights(t, cfg.Dir, checkpointDir, "bc-0002")) {
		t.Error("another seed gave the same clone")
	}
}

func TestCancelledRunLeavesTheBestSoFar(t *testing.T) {
	for _, at := range []string{"bc1", "es2", "critic1", "ppo2"} {
		cfg := small(t)
		ctx, cancel := context.WithCancel(context.Background())
		cfg.Progress = func(p ProgressInfo) {
			if string(p.Stage)+strconv.Itoa(p.Step) == at {
				cancel()
			}
		}
		result, err := Run(ctx, cfg)
		cancel()
		if !errors.Is(err, context.Canceled) || result == nil {
			t.Fatalf("cancelled after %s: got %+v, %v, want a result and context.Canceled", at, result, err)
		}
		m, err := models.Load(result.ModelDir)
		if err != nil {
			t.Fatalf("cancelled after %s: %v", at, err)
		}
		if score, err := validate(context.Background(), m); err != nil || score != result.Kept.Score {
			t.Errorf("cancelled after %s: the model scores %v (%v), the result says %v", at, score, err, result.Kept.Score)
		}
		var r record
		if err := json.Unmarshal(read(t, cfg.Dir, runFile), &r); err != nil || r.Result == nil || r.Result.Kept != result.Kept {
			t.Errorf("cancelled after %s: run.json says %+v (%v), want %+v", at, r.Result, err, result.Kept)
		}
	}
}

// A failing validation is the only error that is reported, even the first one,
// which leaves no model.
func TestFailingValidation(t *testing.T) {
	broken := errors.New("broken")
	for name, score := range map[string]float64{"error": 0, "NaN": math.NaN(), "infinite": math.Inf(1)} {
		cfg := small(t)
		cfg.Validate = func(context.Context, *models.Model) (float64, error) {
			if score == 0 {
				return 0, broken
			}
			return score, nil
		}
		result, err := Run(context.Background(), cfg)
		if err == nil || strings.Contains(err.Error(), "json") || score == 0 && !errors.Is(err, broken) {
			t.Errorf("%s: got %v, want what was wrong with the validation and no more", name, err)
		}
		if result == nil || len(result.All) != 0 {
			t.Errorf("%s: got %+v, want a result without validations", name, result)
		}
		if _, err := os.Stat(filepath.Join(cfg.Dir, ModelDir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a model that was not validated was kept (%v)", name, err)
		}
		var r record
		if err := json.Unmarshal(read(t, cfg.Dir, runFile), &r); err != nil || r.Seed != 7 {
			t.Errorf("%s: run.json: %+v, %v", name, r, err)
		}
	}
}

// Stages without what they need, or turned off, are left out, and their scores
// are those of the best before.
func TestStagesAreLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string
	}{
		"no teacher": {func(c *Config) { c.Teacher = nil }, []string{"init0*", "es1", "es2*", "es3*", "critic1", "ppo1", "ppo2*", "ppo3*"}},
		"no costs":   {func(c *Config) { c.Costs = nil }, []string{"init0*", "bc1*", "bc2*", "critic1", "ppo1", "ppo2*", "ppo3*"}},
		"no cloning": {func(c *Config) { c.BC.Passes = -1; c.PPO.Iterations = -1 }, []string{"init0*", "es1", "es2*", "es3*"}},
		"nothing": {func(c *Config) {
			c.BC.Passes, c.ES.Generations, c.PPO.Iterations = -1, -1, -1
		}, []string{"init0*"}},
	} {
		cfg := small(t)
		c.change(&cfg)
		total := -1
		cfg.Progress = func(p ProgressInfo) { total = p.Total - p.Done }
		result := mustRun(t, cfg)
		if diff := cmp.Diff(c.want, steps(lines(t, cfg.Dir))); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", name, diff)
		}
		if total > 0 || len(c.want) > 1 && total < 0 {
			t.Errorf("%s: %d steps are left at the end", name, total)
		}
		if name == "nothing" && (result.BC != result.Init || result.ES != result.Init || result.PPO != result.Init) {
			t.Errorf("%s: got %+v, want the score of the prior throughout", name, result)
		}
	}
}

// A second run replaces the first in its directory and touches nothing else.
func TestRunReplacesAnEarlierOne(t *testing.T) {
	cfg := small(t)
	cfg.ES.Generations, cfg.PPO.Iterations = -1, -1
	other := filepath.Join(cfg.Dir, "scenario.json")
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, cfg)
	cfg.BC.Passes = 1
	mustRun(t, cfg)
	if _, err := os.Stat(filepath.Join(cfg.Dir, checkpointDir, "bc-0002")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a checkpoint of the earlier run is left (%v)", err)
	}
	if got := steps(lines(t, cfg.Dir)); len(got) != 2 {
		t.Errorf("the log has %v, want the second run alone", got)
	}
	if string(read(t, other)) != "{}" {
		t.Error("the run changed a file that is not its own")
	}
}

// The other kind has no prior, no teacher and no evolution: PPO from equal scores.
func TestRunLearnsAConfigurationPolicy(t *testing.T) {
	cfg := small(t)
	cfg.Kind, cfg.Teacher = models.Configuration, nil
	cfg.NewEnv = func() (env.Env, error) { return tiny.NewIdentity(), nil }
	cfg.Validate = func(_ context.Context, m *models.Model) (float64, error) {
		actor := neural.NewActor(m.Params)
		e := tiny.NewIdentity()
		lost := float64(tiny.IdentityBest)
		step, err := e.Reset(9)
		for err == nil && !step.Done() {
			var a env.Action
			if _, err = actor.Begin(&step.Observation); err != nil {
				break
			}
			if a, err = actor.Best(step.Observation.Mask); err != nil {
				break
			}
			step, err = e.Step(a)
			lost -= step.Reward
		}
		return lost, err
	}
	cfg.PPO.Iterations, cfg.PPO.Groups, cfg.PPO.PerGroup, cfg.PPO.Rate, cfg.PPO.CriticRate, cfg.PPO.TargetKL, cfg.PPO.Leash = 25, 5, 4, 0.02, 0.02, 0.5, -1
	cfg.PPO.Horizon, cfg.PPO.Minibatch, cfg.PPO.ValidateEvery = 60e9, 64, 5
	result := mustRun(t, cfg)
	if result.Init < 1 || result.PPO > 0 {
		t.Errorf("lost %v at the start and %v after PPO, want some and nothing", result.Init, result.PPO)
	}
	if m, err := models.Load(result.ModelDir); err != nil || m.Manifest.Kind != models.Configuration || m.Manifest.Encoder.Version != tiny.Encoder {
		t.Errorf("got %+v, %v", m, err)
	}
}
