package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/vec"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Config says how episodes are played.
type Config struct {
	Seed   uint64  // of the actions, independent of the episodes' seeds
	Stream string  // name of the random streams; an iteration's name, say
	Keep   float64 // share of the rounds whose observations are recorded, 0 < Keep <= 1; default 1
	// MaxSteps bounds the actions of an episode, against environments that never
	// end; default 10 million. Reaching it is an error.
	MaxSteps int
}

func (c *Config) fillDefaults() {
	if c.Keep == 0 {
		c.Keep = 1
	}
	if c.MaxSteps == 0 {
		c.MaxSteps = 10_000_000
	}
}

func (c *Config) validate() error {
	var errs []error
	if !(c.Keep > 0 && c.Keep <= 1) {
		errs = append(errs, fmt.Errorf("rollout: config: Keep is %v, want > 0 and <= 1", c.Keep))
	}
	if c.MaxSteps < 0 {
		errs = append(errs, fmt.Errorf("rollout: config: MaxSteps is %d, want >= 0", c.MaxSteps))
	}
	return errors.Join(errs...)
}

// Collector plays episodes. It keeps one environment per processor. It is not
// safe for concurrent use.
type Collector struct {
	envs *vec.Envs
}

// NewCollector returns a collector over environments made by newEnv, which must
// all be alike.
func NewCollector(newEnv func() (env.Env, error)) (*Collector, error) {
	envs, err := vec.New(runtime.GOMAXPROCS(0), newEnv, vec.Config{})
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	return &Collector{envs}, nil
}

// Spec returns the spec of the environments.
func (c *Collector) Spec() env.Spec { return c.envs.Spec() }

// Collect plays one episode per seed with parameters p: the same seed twice is
// the same episode with other actions. The caller owns the result, in the order
// of seeds.
func (c *Collector) Collect(ctx context.Context, cfg Config, p *nn.Params, seeds []uint64) ([]Episode, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	episodes := make([]Episode, len(seeds))
	players := make([]*player, c.envs.Len())
	err := c.envs.Each(ctx, len(seeds), func(ctx context.Context, slot int, e env.Env, i int) error {
		if players[slot] == nil {
			players[slot] = &player{cfg: cfg, env: e, actor: neural.NewActor(p)}
		}
		if err := players[slot].play(ctx, &episodes[i], seeds[i], i); err != nil {
			return fmt.Errorf("episode %d with seed %d: %w", i, seeds[i], err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	return episodes, nil
}

// player plays one episode after the other in one environment.
type player struct {
	cfg   Config
	env   env.Env
	actor Actor

	episode *Episode
	actions *rand.Rand
	keep    *rand.Rand
	round   Round // in progress; its Picks are scratch, copied if kept
	picks   picks.Sequence
	epoch   int64
	clock   time.Duration
}

// checkEvery is the number of steps between two looks at the context.
const checkEvery = 1024

func (p *player) play(ctx context.Context, episode *Episode, seed uint64, slot int) error {
	name := "rollout/" + p.cfg.Stream + "/" + strconv.Itoa(slot)
	p.episode = episode
	p.actions, p.keep = rng.New(p.cfg.Seed, name+"/actions"), rng.New(p.cfg.Seed, name+"/keep")
	p.clock = 0
	episode.Seed = seed
	step, err := p.env.Reset(seed)
	if err != nil {
		return err
	}
	if err := p.begin(&step.Observation); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if n == p.cfg.MaxSteps {
			return fmt.Errorf("rollout: no end after %d steps", n)
		}
		if step, err = p.step(&step.Observation); err != nil {
			return err
		}
		if step.Done() {
			p.finish(&step)
			return nil
		}
		if step.Observation.Epoch != p.epoch {
			p.end()
			if err := p.begin(&step.Observation); err != nil {
				return err
			}
		}
	}
}

// begin opens a round at observation o.
func (p *player) begin(o *env.Observation) error {
	value, err := p.actor.Begin(o)
	if err != nil {
		return err
	}
	p.epoch = o.Epoch
	p.open(o, value)
	return nil
}

func (p *player) open(o *env.Observation, value float64) {
	p.round = Round{Value: value, Clock: p.clock, Kept: p.keep.Float64() < p.cfg.Keep}
	if p.round.Kept {
		p.reuse()
		o.CopyTo(&p.round.Observation)
		p.picks.Reset(o.N())
	}
}

// reuse gives the round the memory of the one that its place in the episode held
// before, if any did.
func (p *player) reuse() {
	if rounds := p.episode.Rounds; len(rounds) < cap(rounds) {
		last := &rounds[:len(rounds)+1][len(rounds)]
		p.round.Observation, p.round.Picks = last.Observation, last.Picks
	}
}

// step samples an action, records it and applies it.
func (p *player) step(o *env.Observation) (env.TimeStep, error) {
	a, logProb, err := p.actor.Sample(o.Mask, p.actions)
	if err != nil {
		return env.TimeStep{}, err
	}
	if err := p.record(o, a); err != nil {
		return env.TimeStep{}, err
	}
	p.round.LogProb += logProb
	step, err := p.env.Step(a)
	if err != nil {
		return env.TimeStep{}, err
	}
	p.episode.Picks++
	p.episode.Return += step.Reward
	p.round.Reward += step.Reward
	p.round.Elapsed += step.Elapsed
	p.clock += step.Elapsed
	return step, nil
}

// record adds a pick to the round. Where a row has become legal again the round
// is split in two, which changes nothing but the bookkeeping.
func (p *player) record(o *env.Observation, a env.Action) error {
	if !p.round.Kept {
		return nil
	}
	err := p.picks.Add(a, o.Mask)
	if errors.Is(err, picks.ErrNotInterval) {
		value := p.round.Value
		p.end()
		p.open(o, value)
		if p.round.Kept {
			err = p.picks.Add(a, o.Mask)
		} else {
			err = nil
		}
	}
	return err
}

// end closes the round and files it.
func (p *player) end() {
	if p.round.Kept {
		p.picks.CopyTo(&p.round.Picks)
	}
	p.episode.Rounds = append(p.episode.Rounds, p.round)
}

// finish closes the episode, whose last step is step.
func (p *player) finish(step *env.TimeStep) {
	p.end()
	p.episode.Terminated = step.Terminated
	if !step.Terminated {
		p.episode.Bootstrap = p.actor.Value(&step.Observation)
	}
}
