package known

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/es"
	"github.com/yardmaster/yardmaster/train/ppo"
	"github.com/yardmaster/yardmaster/train/rollout"
)

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
func Evolution() es.Config { return es.Config{Pairs: 12, Sigma: 0.1, Rate: 0.08} }

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
	average := make([]float64, n)
	last := generations - generations*3/4
	for g := range generations {
		if err := generation(search, candidate, Instances("evolve/"+strconv.FormatUint(seed, 10)+"/"+strconv.Itoa(g), instances)); err != nil {
			return err
		}
		if g >= generations-last { // a mean has less noise than the last point
			for i, x := range search.Point() {
				average[i] += x / float64(last)
			}
		}
	}
	setScorer(p, average)
	return nil
}

// generation evaluates the candidates of the next generation on these instances,
// with p as memory.
func generation(search *es.Search, p *nn.Params, seeds []uint64) error {
	var costs [][]float64
	for _, point := range search.Ask() {
		setScorer(p, point)
		each := make([]float64, len(seeds))
		for i := range seeds {
			var err error
			if each[i], err = NetworkRatio(seeds[i:i+1], p); err != nil {
				return err
			}
		}
		costs = append(costs, each)
	}
	_, err := search.Tell(costs)
	return err
}

func setScorer(p *nn.Params, point []float64) {
	for i, x := range point {
		p.Flat[i] = float32(x)
	}
}
