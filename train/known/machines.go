package known

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/agent/assignment"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/classic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/es"
	"github.com/yardmaster/yardmaster/train/ppo"
	"github.com/yardmaster/yardmaster/train/rollout"
)

func machines() (env.Env, error) { return classic.NewMachines(), nil }

// Optimum schedules the jobs of e that wait so that the sum of their completion
// times, from now on, is least, which it returns with the rows to pick now,
// ascending, without stop. The k-th job from the last on a machine counts its hours
// k times (Horn, 1973), and all wait until the machine is free.
func Optimum(e *classic.Machines) (sum float64, rows []env.Action, err error) {
	hours, _ := e.Waiting()
	busy := e.Busy()
	n := len(hours)
	columns := classic.MachineCount * n
	cost := make([]float64, n*columns)
	for j := range n {
		for i := range classic.MachineCount {
			for k := range n {
				cost[j*columns+i*n+k] = busy[i] + float64(k+1)*hours[j][i/classic.MachinesPerType]
			}
		}
	}
	var solver assignment.Solver
	places, err := solver.Solve(cost, n, columns)
	if err != nil {
		return 0, nil, err
	}
	first := [classic.MachineCount]int{} // 1 + position from the last of the first job, and the job
	job := [classic.MachineCount]int{}
	for j, place := range places {
		sum += cost[j*columns+int(place)]
		if i, k := int(place)/n, int(place)%n; k+1 > first[i] {
			first[i], job[i] = k+1, j
		}
	}
	for i := range first {
		if first[i] > 0 && busy[i] == 0 {
			rows = append(rows, env.Action(1+job[i]*classic.MachineTypes+i/classic.MachinesPerType))
		}
	}
	slices.Sort(rows)
	return sum, rows, nil
}

// Ratio plays policy on instances and returns the mean of ΣC_j over the optimum.
// policy gets the environment, the observation at the time and whether it opens a
// round.
func Ratio(seeds []uint64, policy func(e *classic.Machines, o *env.Observation, opens bool) (env.Action, error)) (float64, error) {
	e, mean := classic.NewMachines(), 0.0
	for _, seed := range seeds {
		step, err := e.Reset(seed)
		if err != nil {
			return 0, err
		}
		best, _, err := Optimum(e)
		if err != nil {
			return 0, err
		}
		cost, epoch := 0.0, int64(-1)
		for !step.Done() {
			a, err := policy(e, &step.Observation, step.Observation.Epoch != epoch)
			if err != nil {
				return 0, err
			}
			epoch = step.Observation.Epoch
			if step, err = e.Step(a); err != nil {
				return 0, err
			}
			cost -= step.Reward
		}
		mean += cost / best / float64(len(seeds))
	}
	return mean, nil
}

// Shortest picks the legal row with the fewest hours, by its feature; stop only
// where nothing else is legal.
func Shortest(_ *classic.Machines, o *env.Observation, _ bool) (env.Action, error) {
	best, width := 0, len(o.Candidates)/o.N()
	for row := 1; row < o.N(); row++ {
		if o.Mask[row] && (best == 0 || o.Candidates[row*width+1] < o.Candidates[best*width+1]) {
			best = row
		}
	}
	return env.Action(best), nil
}

// NetworkRatio is Ratio of the greedy policy of p.
func NetworkRatio(seeds []uint64, p *nn.Params) (float64, error) {
	actor := neural.NewActor(p)
	return Ratio(seeds, func(_ *classic.Machines, o *env.Observation, opens bool) (env.Action, error) {
		if opens {
			if _, err := actor.Begin(o); err != nil {
				return 0, err
			}
		}
		return actor.Best(o.Mask)
	})
}

// Instances returns n seeds of a split: equal names, equal instances.
func Instances(name string, n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = rng.Seed(uint64(i), "known/machines/"+name)
	}
	return seeds
}

// Demonstrate plays the optimum and records each of its rounds.
func Demonstrate(seeds []uint64) ([]bc.Demonstration, error) {
	var demos []bc.Demonstration
	e := classic.NewMachines()
	for _, seed := range seeds {
		step, err := e.Reset(seed)
		for err == nil && !step.Done() {
			var rows []env.Action
			if _, rows, err = Optimum(e); err != nil {
				return nil, err
			}
			d := bc.Demonstration{Set: len(rows)}
			step.Observation.CopyTo(&d.Observation)
			d.Picks.Reset(d.Observation.N())
			for _, a := range append(rows, 0) {
				if err = d.Picks.Add(a, step.Observation.Mask); err != nil {
					return nil, err
				}
				if step, err = e.Step(a); err != nil {
					return nil, err
				}
			}
			demos = append(demos, d)
		}
		if err != nil {
			return nil, err
		}
	}
	return demos, nil
}

// NewMachinesParams returns a network for the machines with random weights.
func NewMachinesParams(seed uint64, hidden int) *nn.Params {
	space := classic.NewMachines().Spec().Space
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: hidden, Value: 32})
	p.Initialize(rng.New(seed, "known/parameters"))
	return p
}

// Clone fits p to so many optimal instances.
func Clone(ctx context.Context, p *nn.Params, seed uint64, instances, epochs int) error {
	demos, err := Demonstrate(Instances("clone/"+strconv.FormatUint(seed, 10), instances))
	if err != nil {
		return err
	}
	fitter, err := bc.NewFitter(bc.Config{Epochs: epochs, Minibatch: 64, Rate: 3e-3}, p)
	if err != nil {
		return err
	}
	order := rng.New(seed, "known/order")
	for range epochs {
		if _, err := fitter.Epoch(ctx, demos, order); err != nil {
			return err
		}
	}
	return nil
}

// Improvement is how PPO is run on the machines.
type Improvement struct {
	PPO        ppo.Config
	Iterations int
	Instances  int // per iteration
	Plays      int // of each instance
	// CriticEpochs fit the critic before the first update; 0 does not.
	CriticEpochs int
	// Each is called before the first update and after each; nil is not.
	Each func(iteration int, p *nn.Params) error
}

// FromScratch returns the settings for a network that knows nothing.
func FromScratch() Improvement {
	return Improvement{
		PPO:        ppo.Config{Rate: 2e-3, CriticRate: 2e-3, Minibatch: 128, Entropy: 0.003, Leash: -1, Lambda: 0.98, Horizon: endless, Falls: true},
		Iterations: 120, Instances: 16, Plays: 6,
	}
}

// FromClone returns the settings for a network that was cloned: its critic comes
// first, steps are small and a leash holds the policy.
func FromClone() Improvement {
	return Improvement{
		PPO:        ppo.Config{Rate: 2e-4, CriticRate: 1e-3, Minibatch: 128, Entropy: -1, Leash: 0.1, Lambda: 0.98, Horizon: endless, Falls: true},
		Iterations: 40, Instances: 16, Plays: 6, CriticEpochs: 30,
	}
}

// endless does not discount an episode of some dozens of hours.
const endless = 100_000 * time.Hour

// Improve runs PPO on p.
func Improve(ctx context.Context, p *nn.Params, seed uint64, s Improvement) error {
	collector, err := rollout.NewCollector(machines)
	if err != nil {
		return err
	}
	learner, err := ppo.NewLearner(s.PPO, p)
	if err != nil {
		return err
	}
	order := rng.New(seed, "known/order")
	for i := range s.Iterations {
		stream := strconv.FormatUint(seed, 10) + "/" + strconv.Itoa(i)
		seeds := slices.Repeat(Instances("improve/"+stream, s.Instances), s.Plays)
		episodes, err := collector.Collect(ctx, rollout.Config{Seed: seed, Stream: stream}, p, seeds)
		if err != nil {
			return err
		}
		if i == 0 {
			if err := s.begin(ctx, learner, episodes, order, p); err != nil {
				return err
			}
		}
		if _, err := learner.Update(ctx, episodes, ppo.Progress(float64(i)/float64(s.Iterations)), order); err != nil {
			return err
		}
		if s.Each != nil {
			if err := s.Each(i+1, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin does what comes before the first update.
func (s *Improvement) begin(ctx context.Context, l *ppo.Learner, episodes []rollout.Episode, order *rand.Rand, p *nn.Params) error {
	l.Calibrate(episodes)
	if s.CriticEpochs > 0 {
		if _, err := l.FitCritic(ctx, episodes, s.CriticEpochs, 0.95, order); err != nil {
			return err
		}
	}
	if s.Each != nil {
		return s.Each(0, p)
	}
	return nil
}

// Evolution returns the settings of evolution strategies for a small scorer.
func Evolution() es.Config { return es.Config{Pairs: 12, Sigma: 0.1, Rate: 0.04} }

// Evolve runs evolution strategies on the scorer of p, and leaves it at the mean
// of the points of the last quarter of the generations.
func Evolve(p *nn.Params, seed uint64, cfg es.Config, generations, instances int) error {
	cfg.FillDefaults()
	n := p.Dims.ScorerSize()
	start, fixed := make([]float64, n), make([]bool, n)
	for i := range start {
		start[i] = float64(p.Flat[i])
	}
	search, err := es.New(cfg, start, fixed, rng.New(seed, "known/evolve"))
	if err != nil {
		return err
	}
	candidate := p.Clone()
	set := func(to *nn.Params, point []float64) {
		for i, x := range point {
			to.Flat[i] = float32(x)
		}
	}
	average, averaged := make([]float64, n), 0
	for g := range generations {
		seeds := Instances("evolve/"+strconv.FormatUint(seed, 10)+"/"+strconv.Itoa(g), instances)
		var costs [][]float64
		for _, point := range search.Ask() {
			set(candidate, point)
			each := make([]float64, len(seeds))
			for i := range seeds {
				if each[i], err = NetworkRatio(seeds[i:i+1], candidate); err != nil {
					return err
				}
			}
			costs = append(costs, each)
		}
		if _, err := search.Tell(costs); err != nil {
			return err
		}
		if g >= generations*3/4 { // the last quarter's mean: less noise than its last point
			averaged++
			for i, x := range search.Point() {
				average[i] += x
			}
		}
	}
	for i := range average {
		average[i] /= float64(averaged)
	}
	set(p, average)
	return nil
}
