package neural

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

var (
	_ agent.Policy     = (*Policy)(nil)
	_ agent.Configurer = (*Configurer)(nil)
	_ sim.Scheduler    = (*Policy)(nil)
)

func TestPolicyContract(t *testing.T) {
	for name, m := range map[string]*models.Model{
		"prior":  priorModel(stream(1)),
		"random": randomModel(stream(2), 16),
		"zero":   zeroModel(4),
	} {
		if err := agenttest.Check(mustPolicy(t, m), []uint64{1, 2}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// modelsForGames differ in when stop comes; scores of the zero model are all
// equal, so that only the order of the rows decides.
func modelsForGames() []*models.Model {
	list := []*models.Model{zeroModel(2), priorModel(stream(3))}
	for seed := range uint64(6) {
		list = append(list, randomModel(stream(10+seed), 8))
	}
	return list
}

// slowScores returns the scores of o in a slice of its own.
func slowScores(m *models.Model, o *env.Observation) []float32 {
	scores := make([]float32, o.N())
	nn.NewScorer(m.Params).Score(scores, o.Global, o.Candidates, o.Mask, new(nn.Scratch))
	return scores
}

// bestLegal returns the legal row with the highest score, the lowest among
// equals, or -1.
func bestLegal(scores []float32, mask []bool) int {
	best := -1
	for i, legal := range mask {
		if legal && (best < 0 || scores[i] > scores[best]) {
			best = i
		}
	}
	return best
}

// A decision is what playing JobStrategy-v0 step by step picks in that round,
// the legal row with the highest score each time; the actor plays the same.
func TestPolicyPlaysJobStrategyGreedily(t *testing.T) {
	for i, m := range modelsForGames() {
		policy, actor := mustPolicy(t, m), NewActor(m.Params)
		e, err := sim.NewJobStrategy(simConfig())
		if err != nil {
			t.Fatal(err)
		}
		step, err := e.Reset(uint64(i))
		for rounds := 0; err == nil && !step.Done(); rounds++ {
			want, decideErr := policy.Decide(context.Background(), e.State())
			if decideErr != nil {
				t.Fatal(decideErr)
			}
			if _, err := actor.Begin(&step.Observation); err != nil {
				t.Fatal(err)
			}
			scores := slowScores(m, &step.Observation)
			var actions []env.Action
			for {
				best := env.Action(bestLegal(scores, step.Observation.Mask))
				if got, err := actor.Best(step.Observation.Mask); err != nil || got != best {
					t.Fatalf("model %d, round %d: actor picks %d, %v, want %d", i, rounds, got, err, best)
				}
				actions = append(actions, best)
				if best == stopRow {
					break
				}
				if step, err = e.Step(best); err != nil {
					t.Fatal(err)
				}
			}
			got, allocationErr := Allocation(e.State(), actions)
			if allocationErr != nil {
				t.Fatal(allocationErr)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("model %d, round %d: step by step %v, Decide %v", i, rounds, got, want)
			}
			step, err = e.Step(stopRow)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The environment plays the actions of a decision, with the rewards that the
// simulator gives for the allocation.
func TestEnvironmentPlaysActionsOfDecisions(t *testing.T) {
	policy := mustPolicy(t, randomModel(stream(4), 8))
	game, err := sim.NewJobStrategy(simConfig())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := sim.New(simConfig())
	if err != nil {
		t.Fatal(err)
	}
	step, err := game.Reset(7)
	if err := errors.Join(err, plain.Reset(7)); err != nil {
		t.Fatal(err)
	}
	for !step.Done() {
		a, err := policy.Decide(context.Background(), plain.State())
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range Actions(plain.State(), a) {
			if step, err = game.Step(action); err != nil {
				t.Fatal(err)
			}
		}
		out, err := plain.Advance(a)
		if err != nil {
			t.Fatal(err)
		}
		if out.Reward != step.Reward || out.Terminated != step.Terminated || out.Truncated != step.Truncated {
			t.Fatalf("environment gave %+v, the simulator %+v", step, out)
		}
	}
}

// slowDecide picks greedily with a mask that is computed anew before every
// pick: slow, but plainly the rules. States hold what no simulator does, such
// as strategies that exceed the cluster.
func slowDecide(m *models.Model, s *env.State) env.Allocation {
	var encoder encode.JobStrategy
	var o env.Observation
	encoder.Encode(&o, s)
	scores := slowScores(m, &o)
	a, free, picked := env.NewAllocation(len(s.Jobs)), s.Cluster.Capacity(), false
	for {
		mask := make([]bool, o.N())
		some := false
		for row, c := range encoder.Candidates() {
			if row != stopRow {
				st := s.Jobs[c.Job].Strategies[c.Strategy]
				mask[row] = a[c.Job] == env.Idle && st.GPUs <= free[st.Type]
				some = some || mask[row]
			}
		}
		mask[stopRow] = picked || !some
		best := bestLegal(scores, mask)
		if best == stopRow {
			return a
		}
		c := encoder.Candidates()[best]
		st := s.Jobs[c.Job].Strategies[c.Strategy]
		a[c.Job] = int(c.Strategy)
		free[st.Type] -= st.GPUs
		picked = true
	}
}

func TestDecideEqualsSlowTwin(t *testing.T) {
	stopped := 0
	for i, m := range modelsForGames() {
		p := mustPolicy(t, m)
		for n, s := range randomStates(uint64(20+i), 25) {
			want := slowDecide(m, s)
			got, err := p.Decide(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("model %d, state %d: got %v, want %v", i, n, got, want)
			}
			if startsMore(s, got) {
				stopped++
			}
		}
	}
	if stopped == 0 {
		t.Error("no decision stopped while more could run: stop was not tested")
	}
}

// startsMore reports whether some idle job would fit beside a.
func startsMore(s *env.State, a env.Allocation) bool {
	free := s.Cluster.Capacity()
	for j, k := range a {
		if k != env.Idle {
			free[s.Jobs[j].Strategies[k].Type] -= s.Jobs[j].Strategies[k].GPUs
		}
	}
	for j, k := range a {
		if k != env.Idle {
			continue
		}
		for _, st := range s.Jobs[j].Strategies {
			if st.GPUs <= free[st.Type] {
				return true
			}
		}
	}
	return false
}

// However much the network wants to stop, something runs if anything can.
func TestNeverIdleWhileSomethingFits(t *testing.T) {
	m := zeroModel(4)
	m.Params.Tensors[nn.ScoreLinearWeight].Data[column("is_stop")] = 1e6
	p := mustPolicy(t, m)
	busy := 0
	for n, s := range randomStates(5, 150) {
		a, err := p.Decide(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, k := range a {
			if k != env.Idle {
				running++
			}
		}
		want := 0
		if startsMore(s, env.NewAllocation(len(s.Jobs))) {
			want = 1
			busy++
		}
		if running != want {
			t.Errorf("state %d: %d jobs run, want %d", n, running, want)
		}
	}
	if busy < 50 {
		t.Errorf("something fits in %d states only", busy)
	}
}

func TestScoresThatAreNotFinite(t *testing.T) {
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(p *nn.Params){
		"NaN in the output":  func(p *nn.Params) { p.Tensors[nn.ScoreOutputWeight].Data[0] = nan },
		"NaN in a bias":      func(p *nn.Params) { p.Tensors[nn.ScoreGlobalBias].Data[0] = nan },
		"NaN in linear":      func(p *nn.Params) { p.Tensors[nn.ScoreLinearWeight].Data[column("log_density")] = nan },
		"infinity in linear": func(p *nn.Params) { p.Tensors[nn.ScoreLinearWeight].Data[column("is_stop")] = float32(math.Inf(-1)) },
		"overflow": func(p *nn.Params) {
			for i := range p.Flat {
				p.Flat[i] = math.MaxFloat32 / 4
			}
		},
	} {
		m := randomModel(stream(6), 8)
		spoil(m.Params)
		s := agenttest.RandomState(stream(7), agenttest.Options{Jobs: 5})
		p := mustPolicy(t, m)
		if a, err := p.Decide(context.Background(), s); !errors.Is(err, ErrNonFinite) {
			t.Errorf("%s: got %v, %v, want ErrNonFinite", name, a, err)
		}
		var encoder encode.JobStrategy
		var o env.Observation
		encoder.Encode(&o, s)
		if _, err := NewActor(m.Params).Begin(&o); !errors.Is(err, ErrNonFinite) {
			t.Errorf("%s: actor: got error %v, want ErrNonFinite", name, err)
		}
	}
}

func TestDecideHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := randomStates(8, 2)[0]
	if _, err := mustPolicy(t, zeroModel(2)).Decide(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}

func TestNewPolicyRefusesOtherModels(t *testing.T) {
	other := zeroModel(2)
	other.Manifest.Encoder.Version = "job-strategy/0"
	swapped := zeroModel(2)
	c := swapped.Manifest.Encoder.Candidate
	c[3], c[4] = c[4], c[3]
	for name, m := range map[string]*models.Model{
		"of configurations":  configurationModel(stream(9)),
		"of another encoder": other,
		"of another order":   swapped,
	} {
		if _, err := NewPolicy(m); !errors.Is(err, models.ErrIncompatible) {
			t.Errorf("model %s: got error %v, want ErrIncompatible", name, err)
		}
	}
}

func TestPolicyCopiesTheModel(t *testing.T) {
	m := randomModel(stream(10), 8)
	p := mustPolicy(t, m)
	s := agenttest.RandomState(stream(11), agenttest.Options{Jobs: 60})
	want, err := p.Decide(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Params.Flat {
		m.Params.Flat[i] = float32(math.NaN())
	}
	got, err := p.Decide(context.Background(), s)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("after changing the model: got %v, %v, want %v", got, err, want)
	}
}

// Many goroutines decide states of different sizes at once, each as alone.
func TestDecideConcurrently(t *testing.T) {
	p := mustPolicy(t, randomModel(stream(12), 8))
	states := randomStates(13, 24)
	want := make([]env.Allocation, len(states))
	for i, s := range states {
		var err error
		if want[i], err = p.Decide(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for g := range errs {
		wg.Go(func() {
			for n := range states {
				i := (n + 3*g) % len(states)
				got, err := p.Decide(context.Background(), states[i])
				if err != nil || !slices.Equal(got, want[i]) {
					errs[g] = fmt.Errorf("state %d: got %v, %w, want %v", i, got, err, want[i])
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// A decision in the memory of a former one, of another size, is the decision,
// and allocates nothing once its memory has grown.
func TestDecideIntoReusesMemory(t *testing.T) {
	p := mustPolicy(t, priorModel(stream(2)))
	var a env.Allocation
	d := new(decision)
	for _, jobs := range []int{40, 7, 25} {
		s := benchState(jobs, 6, 64)
		want, err := p.Decide(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if a, err = p.DecideInto(context.Background(), a, s); err != nil || !slices.Equal(a, want) {
			t.Errorf("%d jobs: got %v (%v), want %v", jobs, a, err, want)
		}
	}
	s := benchState(40, 6, 64)
	decide := func() {
		var err error
		if a, err = p.decide(context.Background(), d, a, s); err != nil {
			t.Fatal(err)
		}
	}
	decide()
	if got := testing.AllocsPerRun(20, decide); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
