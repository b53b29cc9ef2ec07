package heuristic

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

func TestTwoStageTradesTypes(t *testing.T) {
	p := must[*TwoStage](t)(NewTwoStage(DensityConfig{Rigid: true, Penalty: -1}))
	// The first is shorter and takes the fast type, where it is hardly faster; the
	// second is four times as fast there. √(1/100)·0.9 + √(1/144) beats
	// √(1/100) + √(1/144)/4.
	a, b := waiting(4, 800), waiting(4, 1152)
	a.Strategies = []env.Strategy{on(fast, 4, 8), on(slow, 4, 7.2)}
	b.Strategies = []env.Strategy{on(fast, 4, 8), on(slow, 4, 2)}
	wantDecision(t, p, stateOf(a, b), slow, fast)
	// Stage one alone would not.
	wantDecision(t, newDensity(t, DensityConfig{Rigid: true, Penalty: -1}), stateOf(a, b), fast, slow)
	// Two jobs with a tenth of the round to lose each stay for a gain of 5 %.
	a.Current, b.Current = fast, slow
	b.Strategies = []env.Strategy{on(fast, 4, 8), on(slow, 4, 7)}
	wantDecision(t, p, stateOf(a, b), fast, slow)
}

// TestExchangeNeverLoses: the sum of values rises or stays, what is taken of each
// type and of each quota stays the same, and no pair is left that gains.
func TestExchangeNeverLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		p, err := newPool(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		p.fillInOrder(func(j *env.JobState) float64 { return float64(j.ID) })
		value := func(job, k int) float64 {
			j := &s.Jobs[job]
			return j.Strategies[k].Throughput / fastest(j).Throughput * p.share(j, k)
		}
		sum := func(a env.Allocation) (total float64) {
			for i, k := range a {
				if k != env.Idle {
					total += value(i, k)
				}
			}
			return total
		}
		before := slices.Clone(p.given)
		p.exchange(value)
		if got, want := sum(p.given), sum(before); got < want*(1-1e-12) {
			t.Errorf("the sum of values fell from %v to %v", want, got)
		}
		if err := p.given.Validate(s); err != nil {
			t.Error(err)
		}
		if got, want := freeAfter(s, p.given), freeAfter(s, before); !slices.Equal(got, want) {
			t.Errorf("free GPUs were %v, now %v", want, got)
		}
	})
}

func TestRigidDensityTakesTheRequest(t *testing.T) {
	j := scaling(waiting(2, 100), 1, 1.9, 3)
	wantDecision(t, newDensity(t, DensityConfig{Rigid: true}), stateOf(j), 1)
}

func TestElasticTerms(t *testing.T) {
	// Linear scaling at γ = 1: all sizes score alike, the first is taken.
	j := scaling(waiting(2, 100), 1, 2, 4)
	with := func(change func(*DensityConfig)) *Density {
		cfg := plain
		change(&cfg)
		return newDensity(t, cfg)
	}
	wantDecision(t, with(func(c *DensityConfig) { c.Halving = 0.1 }), stateOf(j), 1)
	wantDecision(t, with(func(c *DensityConfig) { c.Doubling = 0.1 }), stateOf(j), 2)
	// Half the GPUs are asked for: more for each job; with twice as many, fewer.
	slope := with(func(c *DensityConfig) { c.Slope = 0.1 })
	wantDecision(t, slope, stateOf(j), 2)
	wantDecision(t, slope, stateOf(j, j, j, j, j), 0, 0, 0, 0, idle)
}

func TestAffinity(t *testing.T) {
	a, b := waiting(4, 100), waiting(4, 100)
	a.Strategies = []env.Strategy{on(fast, 4, 8), on(slow, 4, 1)}
	b.Strategies = []env.Strategy{on(fast, 4, 8), on(slow, 4, 7)}
	s := stateOf(b, a, a)
	wantDecision(t, newDensity(t, plain), s, fast, slow, idle)
	// Where it is an eighth as fast, a job counts an eighth of that again.
	cfg := plain
	cfg.Affinity = 1
	scores := newDensity(t, cfg).Scores(s)
	if got, want := scores[1][1]-scores[1][0], 2*math.Log(1./8); math.Abs(got-want) > 1e-12 {
		t.Errorf("the slow type scores %v nats more than the fast one, want %v", got, want)
	}
}

func TestTunable(t *testing.T) {
	for _, name := range Tunable() {
		ranges := Ranges(name)
		if len(ranges) == 0 {
			t.Errorf("%s has nothing to tune", name)
		}
		c := env.Configuration{Scheduler: name}
		for _, r := range ranges {
			if !(r.Low <= r.Default && r.Default <= r.High) {
				t.Errorf("%s: %s is %v by default, outside %v to %v", name, r.Name, r.Default, r.Low, r.High)
			}
			c.Knobs = append(c.Knobs, env.Knob{Name: r.Name, Values: []float64{r.Low}})
		}
		slices.SortFunc(c.Knobs, func(a, b env.Knob) int { return strings.Compare(a.Name, b.Name) })
		if _, err := FromConfiguration(c); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
	if Ranges("fifo") != nil {
		t.Error("fifo has ranges, want none")
	}
}

// TestDefaultsOfRanges: the defaults that the ranges state are those of the
// policies.
func TestDefaultsOfRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for _, name := range Tunable() {
			c := env.Configuration{Scheduler: name}
			for _, r := range Ranges(name) {
				if r.Name != "sigma" || s.Knowledge != env.None { // one knob, two defaults
					c.Knobs = append(c.Knobs, env.Knob{Name: r.Name, Values: []float64{r.Default}})
				}
			}
			slices.SortFunc(c.Knobs, func(a, b env.Knob) int { return strings.Compare(a.Name, b.Name) })
			stated, err := FromConfiguration(c)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := FromConfiguration(env.Configuration{Scheduler: name})
			if err != nil {
				t.Fatal(err)
			}
			if a, b := decide(t, stated, s), decide(t, plain, s); !slices.Equal(a, b) {
				t.Errorf("%v decides %v, without knobs %v", c, a, b)
			}
		}
	})
}

func TestTunableErrors(t *testing.T) {
	_, err := FromConfiguration(env.Configuration{Scheduler: "two-stage", Knobs: []env.Knob{
		{Name: "gamma", Values: []float64{1, 2}}, {Name: "thresholds", Values: []float64{1}},
	}})
	for _, want := range []string{"gamma has 2 values", `unknown knob "thresholds", want one of affinity, bonus, gamma, penalty`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	for _, cfg := range []DensityConfig{{Sigma: -1}, {Sigma: math.NaN()}, {Median: 1e16}, {Slope: math.Inf(1)}} {
		if _, err := NewDensity(cfg); err == nil {
			t.Errorf("%+v: got no error", cfg)
		}
	}
}

// TestScoresSayWhatIsPicked: where one job is alone it gets the candidate of the
// highest score that fits.
func TestScoresSayWhatIsPicked(t *testing.T) {
	type scorer interface{ Scores(*env.State) [][]float64 }
	all := policies(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		s.Jobs = s.Jobs[:1]
		for _, name := range Tunable() {
			scores := all[name].(scorer).Scores(s)[0]
			given := decide(t, all[name], s)[0]
			for k, x := range scores {
				st := &s.Jobs[0].Strategies[k]
				if env.NewBudget(s).Fits(&s.Jobs[0], st) && !math.IsInf(x, -1) && (given == idle || x > scores[given]) {
					t.Errorf("%s: picked %d of scores %v, want %d", name, given, scores, k)
				}
			}
		}
	})
}
