package neural

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

func TestPolicyContract(t *testing.T) {
	for seed := range uint64(3) {
		if err := agenttest.Check(newPolicy(t, randomModel(seed, models.JobStrategy)), []uint64{1, 2, 3, 4, 5}); err != nil {
			t.Errorf("model %d: %v", seed, err)
		}
	}
}

// Deciding is playing JobStrategy-v0 greedily, step by step: the same picks in
// every round of whole episodes. Random models like stop as much as anything
// else, so that rounds end early too.
func TestDecidingIsPlayingGreedily(t *testing.T) {
	early := 0
	for seed := range uint64(6) {
		m := randomModel(seed, models.JobStrategy)
		policy, actor := newPolicy(t, m), NewActor(m.Params)
		e, err := sim.NewJobStrategy(smallCluster())
		if err != nil {
			t.Fatal(err)
		}
		step, err := e.Reset(seed)
		if err != nil {
			t.Fatal(err)
		}
		for round := 0; !step.Done(); round++ {
			if round == 400 {
				break // a model that always stops early may take for ever
			}
			want, err := policy.Decide(context.Background(), e.State())
			if err != nil {
				t.Fatal(err)
			}
			var got env.Allocation
			if got, step, err = playRound(e, actor, step); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("model %d, round %d: played %v, decided %v", seed, round, got, want)
			}
			if slices.Contains(want, env.Idle) {
				early++
			}
		}
	}
	if early == 0 {
		t.Error("no job was ever left idle: the test shows little")
	}
}

// playRound plays the best legal row until stop and returns what was picked.
func playRound(e *sim.JobStrategy, actor *Actor, step env.TimeStep) (env.Allocation, env.TimeStep, error) {
	if _, err := actor.Begin(&step.Observation); err != nil {
		return nil, step, err
	}
	var actions []env.Action
	for {
		a, err := actor.Best(step.Observation.Mask)
		if err != nil {
			return nil, step, err
		}
		actions = append(actions, a)
		if a == stopRow {
			break
		}
		if step, err = e.Step(a); err != nil {
			return nil, step, err
		}
	}
	allocation, err := Allocation(e.State(), actions)
	if err != nil {
		return nil, step, err
	}
	step, err = e.Step(stopRow)
	return allocation, step, err
}

// However much the model likes to stop, it does not before it has picked.
func TestNeverStopsBeforeTheFirstPick(t *testing.T) {
	m := randomModel(1, models.JobStrategy)
	space := encode.JobStrategySpace()
	stop := slices.IndexFunc(space.Candidate, func(f env.Feature) bool { return f.Name == "is_stop" })
	m.Params.Tensors[nn.ScoreLinearWeight].Data[stop] = 1000
	policy, r := newPolicy(t, m), rng.New(1, "states")
	checked := 0
	for range 50 {
		s := agenttest.RandomState(r, agenttest.Options{})
		a, err := policy.Decide(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, k := range a {
			if k != env.Idle {
				running++
			}
		}
		if want := min(1, fitting(s)); running != want {
			t.Fatalf("%d jobs run, want %d: %d candidates fit", running, want, fitting(s))
		}
		checked += running
	}
	if checked == 0 {
		t.Fatal("no state had a candidate that fits")
	}
}

// fitting counts the candidates that fit an empty cluster.
func fitting(s *env.State) int {
	capacity, n := s.Cluster.Capacity(), 0
	for i := range s.Jobs {
		for _, st := range s.Jobs[i].Strategies {
			if st.GPUs <= capacity[st.Type] {
				n++
			}
		}
	}
	return n
}

func TestNonFiniteScoresAreAnError(t *testing.T) {
	m := randomModel(1, models.JobStrategy)
	m.Params.Tensors[nn.ScoreGlobalBias].Data[0] = math.MaxFloat32
	m.Params.Tensors[nn.ScoreHiddenWeight].Data[0] = math.MaxFloat32
	s := agenttest.RandomState(rng.New(1, "states"), agenttest.Options{})
	if _, err := newPolicy(t, m).Decide(context.Background(), s); !errors.Is(err, ErrNonFinite) {
		t.Errorf("got %v, want ErrNonFinite", err)
	}
}

func TestRefusesModelsThatDoNotFit(t *testing.T) {
	other := randomModel(1, models.JobStrategy)
	other.Manifest.Encoder.Version = "job-strategy/0"
	renamed := randomModel(1, models.JobStrategy)
	renamed.Manifest.Encoder.Candidate[3].Name = "something_else"
	for name, m := range map[string]*models.Model{
		"kind": randomModel(1, models.Configuration), "version": other, "feature": renamed,
	} {
		if _, err := NewPolicy(m); !errors.Is(err, models.ErrIncompatible) {
			t.Errorf("%s: got %v, want ErrIncompatible", name, err)
		}
	}
	if _, err := NewConfigurer(randomModel(1, models.JobStrategy), []env.Configuration{{Scheduler: "x"}}); !errors.Is(err, models.ErrIncompatible) {
		t.Errorf("configurer of another kind: got %v, want ErrIncompatible", err)
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := agenttest.RandomState(rng.New(1, "states"), agenttest.Options{})
	if _, err := newPolicy(t, randomModel(1, models.JobStrategy)).Decide(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// Keys sort as the slow definition does: score descending, then row ascending.
func TestSortKeyOrdersScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		finite := rapid.Float32().Filter(func(x float32) bool { return x-x == 0 })
		a, b := finite.Draw(t, "a"), finite.Draw(t, "b")
		i, j := rapid.IntRange(0, 1<<20).Draw(t, "i"), rapid.IntRange(0, 1<<20).Draw(t, "j")
		want := a > b || a == b && i < j
		if got := sortKey(a, i) < sortKey(b, j); got != want {
			t.Fatalf("row %d with %v before row %d with %v: got %v, want %v", i, a, j, b, got, want)
		}
		if got := rowOf(sortKey(a, i)); got != i {
			t.Fatalf("row %d came back as %d", i, got)
		}
	})
	if sortKey(0, 1) != sortKey(float32(math.Copysign(0, -1)), 1) {
		t.Error("0 and -0 sort apart")
	}
}

// BenchmarkDecide decides for 100 jobs.
func BenchmarkDecide(b *testing.B) {
	s := agenttest.RandomState(rng.New(1, "state"), agenttest.Options{Jobs: 100})
	policy := newPolicy(b, randomModel(1, models.JobStrategy))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.Decide(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
}

// Once its memory has grown, a decision allocates its result alone.
func TestDecideAllocatesItsResultAlone(t *testing.T) {
	s := agenttest.RandomState(rng.New(1, "state"), agenttest.Options{Jobs: 100})
	policy := newPolicy(t, randomModel(1, models.JobStrategy))
	decide := func() {
		if _, err := policy.Decide(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	decide()
	// The pool may lose its memory to the collector between two decisions.
	if got := testing.AllocsPerRun(50, decide); got > 2 {
		t.Errorf("%v allocations per decision, want 1", got)
	}
}
