package rollout

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/picks"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func cluster() (env.Env, error)  { return sim.NewJobStrategy(tiny.Cluster(6)) }
func knapsack() (env.Env, error) { return tiny.NewKnapsack(), nil }

// randomParams returns a network for space with weights in every tensor, so that
// no part of it is without effect.
func randomParams(space env.Space) *nn.Params {
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 8, Value: 4})
	r := rng.New(1, "params")
	for i := range p.Flat {
		p.Flat[i] = float32(0.3 * r.NormFloat64())
	}
	return p
}

func collect(t *testing.T, newEnv func() (env.Env, error), cfg Config, seeds ...uint64) ([]Episode, *nn.Params) {
	t.Helper()
	c, err := NewCollector(newEnv)
	if err != nil {
		t.Fatal(err)
	}
	p := randomParams(c.Spec().Space)
	episodes, err := c.Collect(context.Background(), cfg, p, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return episodes, p
}

// What the learner computes from a record, the probability of its picks, is what
// they were drawn with: else the first ratio of an update is not 1.
func TestRecordedProbabilitiesAreThoseOfTheObservation(t *testing.T) {
	for name, newEnv := range map[string]func() (env.Env, error){"cluster": cluster, "knapsack": knapsack} {
		episodes, p := collect(t, newEnv, Config{Seed: 3, Stream: "a", Keep: 0.7}, 1, 2)
		scorer, critic := nn.NewScorer(p), nn.NewCritic(p)
		var scratch nn.Scratch
		var e picks.Evaluator
		kept, all := 0, 0
		for i := range episodes {
			for k := range episodes[i].Rounds {
				r := &episodes[i].Rounds[k]
				all++
				if !r.Kept {
					if r.Observation.N() != 0 || len(r.Picks.Actions) != 0 {
						t.Errorf("%s: round %d of episode %d is not kept, but its observation is recorded", name, k, i)
					}
					continue
				}
				kept++
				o := &r.Observation
				scores := make([]float32, o.N())
				scorer.Score(scores, o.Global, o.Candidates, o.Mask, &scratch)
				if got := e.Forward(&r.Picks, scores, nil).LogProb; math.Abs(got-r.LogProb) > 1e-9*(1+math.Abs(got)) {
					t.Errorf("%s: round %d of episode %d: log-probability %v, evaluated again %v", name, k, i, r.LogProb, got)
				}
				if got := float64(critic.Value(o.Global, o.Candidates, o.Mask, &scratch)); got != r.Value {
					t.Errorf("%s: round %d of episode %d: value %v, evaluated again %v", name, k, i, r.Value, got)
				}
			}
		}
		if kept == 0 || kept == all {
			t.Errorf("%s: kept %d of %d rounds, want some and not all", name, kept, all)
		}
	}
}

// A second player that repeats the recorded actions sees the recorded rewards
// and times; they add up to the episode.
func TestRecordsReplay(t *testing.T) {
	episodes, _ := collect(t, cluster, Config{Seed: 3, Stream: "a"}, 5, 6)
	e, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	for i := range episodes {
		step, err := e.Reset(episodes[i].Seed)
		if err != nil {
			t.Fatal(err)
		}
		sum, clock, actions := 0.0, time.Duration(0), 0
		for k := range episodes[i].Rounds {
			r := &episodes[i].Rounds[k]
			if r.Clock != clock {
				t.Fatalf("round %d starts at %v, want %v", k, r.Clock, clock)
			}
			if diff := cmp.Diff(step.Observation, r.Observation); diff != "" {
				t.Fatalf("round %d: observation differs (-played again +recorded):\n%s", k, diff)
			}
			reward, elapsed := 0.0, time.Duration(0)
			for _, a := range r.Picks.Actions {
				if step, err = e.Step(a); err != nil {
					t.Fatal(err)
				}
				reward, elapsed, actions = reward+step.Reward, elapsed+step.Elapsed, actions+1
			}
			if reward != r.Reward || elapsed != r.Elapsed {
				t.Errorf("round %d: reward %v in %v, want %v in %v", k, r.Reward, r.Elapsed, reward, elapsed)
			}
			sum, clock = sum+reward, clock+elapsed
		}
		got := &episodes[i]
		if math.Abs(sum-got.Return) > 1e-9*math.Abs(sum) || clock != got.Length() || actions != got.Picks || !step.Terminated || !got.Terminated {
			t.Errorf("episode %d: return %v, length %v, %d picks, terminated %v, want %v, %v, %d, true", i, got.Return, got.Length(), got.Picks, got.Terminated, sum, clock, actions)
		}
	}
	if (&Episode{}).Length() != 0 {
		t.Error("an episode without rounds has a length")
	}
}

// Where the problem ends there is nothing to come. Where a limit cuts it off, the
// critic's value of the state that it left stands for what would have come
// (Pardo et al., ICML 2018).
func TestOnlyTruncationBootstraps(t *testing.T) {
	whole, _ := collect(t, cluster, Config{}, 1)
	if e := whole[0]; !e.Terminated || e.Bootstrap != 0 {
		t.Errorf("the whole episode: terminated %v, bootstrap %v, want true and 0", e.Terminated, e.Bootstrap)
	}
	short := func() (env.Env, error) {
		cfg := tiny.Cluster(6)
		cfg.MaxRounds = 4
		return sim.NewJobStrategy(cfg)
	}
	cut, p := collect(t, short, Config{}, 1)
	if cut[0].Terminated || len(cut[0].Rounds) != 4 {
		t.Fatalf("the cut episode: terminated %v after %d rounds, want false after 4", cut[0].Terminated, len(cut[0].Rounds))
	}
	// The same actions lead the uncut environment to the same state.
	e, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	step, err := e.Reset(1)
	if err != nil {
		t.Fatal(err)
	}
	for k := range cut[0].Rounds {
		for _, a := range cut[0].Rounds[k].Picks.Actions {
			if step, err = e.Step(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := neural.NewActor(p).Value(&step.Observation); cut[0].Bootstrap != want || want == 0 {
		t.Errorf("bootstrap %v, want %v, the critic's value of the state at the end", cut[0].Bootstrap, want)
	}
}

func TestSlotsAreTheSeedsOnAnyNumberOfProcessors(t *testing.T) {
	seeds := []uint64{4, 9, 4, 2, 7, 9, 1}
	play := func(procs int) []Episode {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		episodes, _ := collect(t, cluster, Config{Seed: 1, Stream: "s", Keep: 0.5}, seeds...)
		return episodes
	}
	want := play(1)
	for i, s := range seeds {
		if want[i].Seed != s {
			t.Errorf("slot %d holds seed %d, want %d", i, want[i].Seed, s)
		}
	}
	if diff := cmp.Diff(want, play(4)); diff != "" {
		t.Errorf("GOMAXPROCS 4 plays other episodes than 1:\n%s", diff)
	}
	if cmp.Equal(want[0].Rounds, want[2].Rounds) {
		t.Error("a seed played twice was played with the same actions")
	}
}

// A stream's name and the seed of the actions change what is played, the share
// of the rounds that are kept does not.
func TestStreamsAreIndependent(t *testing.T) {
	play := func(cfg Config) []float64 {
		episodes, _ := collect(t, cluster, cfg, 1)
		var rewards []float64
		for _, r := range episodes[0].Rounds {
			rewards = append(rewards, r.Reward, r.LogProb)
		}
		return rewards
	}
	want := play(Config{Seed: 1, Stream: "a"})
	if got := play(Config{Seed: 1, Stream: "a", Keep: 0.1}); !slices.Equal(got, want) {
		t.Error("keeping fewer observations changed what was played")
	}
	for name, cfg := range map[string]Config{"other seed": {Seed: 2, Stream: "a"}, "other stream": {Seed: 1, Stream: "b"}} {
		if slices.Equal(play(cfg), want) {
			t.Errorf("%s: the same actions were played", name)
		}
	}
}

// reviving makes a row legal again within a round: one pick, and the record has to
// be split.
type reviving struct {
	obs   env.Observation
	picks int
}

func (e *reviving) Spec() env.Spec {
	one := []env.Feature{{Name: "x", Low: -1, High: 1}}
	return env.Spec{ID: "Reviving-v0", Encoder: "test/1", Space: env.Space{Global: one, Candidate: one}}
}

func (e *reviving) Reset(uint64) (env.TimeStep, error) {
	e.picks = 0
	e.obs = env.Observation{Global: []float32{1}, Candidates: []float32{0, 1}, Mask: []bool{true, false}}
	return env.TimeStep{Observation: e.obs}, nil
}

func (e *reviving) Step(env.Action) (env.TimeStep, error) {
	e.picks++
	e.obs.Mask[0], e.obs.Mask[1] = e.picks%2 == 0, e.picks%2 == 1
	return env.TimeStep{Observation: e.obs, Reward: 1, Elapsed: time.Second, Terminated: e.picks == 6}, nil
}

func TestRoundIsSplitWhereARowIsLegalAgain(t *testing.T) {
	newEnv := func() (env.Env, error) { return &reviving{}, nil }
	episodes, _ := collect(t, newEnv, Config{}, 1)
	e := &episodes[0]
	if len(e.Rounds) != 3 || e.Picks != 6 || e.Return != 6 || e.Length() != 6*time.Second {
		t.Fatalf("got %d rounds, %d picks, return %v, length %v, want 3, 6, 6, 6s", len(e.Rounds), e.Picks, e.Return, e.Length())
	}
	for k, r := range e.Rounds {
		if !slices.Equal(r.Picks.Actions, []env.Action{0, 1}) || r.Reward != 2 || r.Clock != time.Duration(2*k)*time.Second {
			t.Errorf("part %d: picks %v, reward %v, at %v", k, r.Picks.Actions, r.Reward, r.Clock)
		}
	}
}

func TestCollectRefuses(t *testing.T) {
	c, err := NewCollector(knapsack)
	if err != nil {
		t.Fatal(err)
	}
	p := randomParams(c.Spec().Space)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Collect(ended, Config{}, p, []uint64{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
	_, err = c.Collect(context.Background(), Config{Keep: math.NaN(), MaxSteps: -1}, p, []uint64{1})
	for _, field := range []string{"Keep", "MaxSteps"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("bad config: got %v, want an error that names %s", err, field)
		}
	}
	if _, err := c.Collect(context.Background(), Config{MaxSteps: 16}, p, []uint64{77}); err == nil || !strings.Contains(err.Error(), "77") || !strings.Contains(err.Error(), "16 steps") {
		t.Errorf("too many steps: got %v, want an error that names seed and limit", err)
	}
	p.Flat[0] = float32(math.NaN())
	if _, err := c.Collect(context.Background(), Config{}, p, []uint64{1}); !errors.Is(err, neural.ErrNonFinite) {
		t.Errorf("broken network: got %v, want ErrNonFinite", err)
	}
	broken := errors.New("broken")
	if _, err := NewCollector(func() (env.Env, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("no environment: got %v", err)
	}
}

// MaxSteps is the number of steps that an episode may have, not one less.
func TestMaxStepsAllowsThatMany(t *testing.T) {
	newEnv := func() (env.Env, error) { return tiny.NewBandit(), nil } // 16 steps
	if episodes, _ := collect(t, newEnv, Config{MaxSteps: 16}, 1); episodes[0].Picks != 16 {
		t.Errorf("got %d picks, want 16", episodes[0].Picks)
	}
}
