package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// EngineConfig configures an [Engine]. The zero value of every field but Sim
// is its default.
type EngineConfig struct {
	// Sim is the cluster; its Workload is not used.
	Sim sim.Config
	// Configurations are the candidates. Default: those of Tiresias.
	Configurations []env.Configuration
	// Build makes the scheduler of a configuration. Default:
	// heuristic.FromConfiguration.
	Build func(env.Configuration) (agent.Policy, error)
	// Futures is the number of generated futures that configurations are
	// scored on. Default 4: with common random numbers 4 to 8 leave 0.1 to
	// 0.6 % regret, see the design's measurements.
	Futures int
	// HeldOut is the number of further futures on which the best of them has
	// to beat the incumbent. Default 4.
	HeldOut int
	// Horizon is the simulated time of each future. Default 4 hours: with
	// the drain behind it, 2 to 12 hours gave the same results.
	Horizon time.Duration
	// Tries is the number of configurations scored, a random choice in which
	// the incumbent always is. 0 is all of them.
	Tries int
	// Margin is by how many standard errors of the paired difference the best
	// has to beat the incumbent. Default 1.
	Margin float64
	// Workers bounds the number of goroutines. Default: the number of
	// processors that Go uses. Results do not depend on it.
	Workers int
}

// FillDefaults sets every field that is zero and has a default to it.
func (c *EngineConfig) FillDefaults() {
	if c.Configurations == nil {
		c.Configurations = heuristic.TiresiasConfigurations()
	}
	if c.Build == nil {
		c.Build = heuristic.FromConfiguration
	}
	c.Futures = cmp.Or(c.Futures, 4)
	c.HeldOut = cmp.Or(c.HeldOut, 4)
	c.Horizon = cmp.Or(c.Horizon, 4*time.Hour)
	c.Tries = cmp.Or(c.Tries, len(c.Configurations))
	c.Margin = cmp.Or(c.Margin, 1)
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	c.Sim.EstimateSigma = cmp.Or(c.Sim.EstimateSigma, sim.DefaultEstimateSigma)
	c.Sim.Workload = nil
	c.Sim.MaxRounds = 0
}

func (c *EngineConfig) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("tune: engine: %s is %v, want %s", field, value, want))
	}
	if len(c.Configurations) < 2 {
		bad("number of Configurations", len(c.Configurations), "at least 2")
	}
	if c.Futures < 1 {
		bad("Futures", c.Futures, ">= 1")
	}
	if c.HeldOut < 2 {
		bad("HeldOut", c.HeldOut, ">= 2, or a difference has no standard error")
	}
	if c.Horizon <= 0 {
		bad("Horizon", c.Horizon, "> 0")
	}
	if c.Tries < 2 || c.Tries > len(c.Configurations) {
		bad("Tries", c.Tries, fmt.Sprintf("2 to %d", len(c.Configurations)))
	}
	if c.Workers < 1 {
		bad("Workers", c.Workers, ">= 1")
	}
	if !(c.Margin >= 0) {
		bad("Margin", c.Margin, ">= 0")
	}
	return errors.Join(errs...)
}

// Engine scores configurations by simulation. It is not safe for concurrent
// use; a search itself uses all cores.
type Engine struct {
	cfg      EngineConfig
	policies []agent.Policy // [C]
	lanes    []lane         // one for each worker
}

// lane is the memory of one worker.
type lane struct {
	sim       *sim.Sim
	drain     drain
	remaining []float64
}

// NewEngine returns an engine over cfg's configurations.
func NewEngine(cfg EngineConfig) (*Engine, error) {
	cfg.FillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg}
	for _, c := range cfg.Configurations {
		p, err := cfg.Build(c)
		if err != nil {
			return nil, fmt.Errorf("tune: engine: configuration %v: %w", c, err)
		}
		e.policies = append(e.policies, p)
	}
	return e, e.addLane() // so that a bad Sim is found here
}

func (e *Engine) addLane() error {
	s, err := sim.New(e.cfg.Sim)
	if err != nil {
		return fmt.Errorf("tune: engine: %w", err)
	}
	e.lanes = append(e.lanes, lane{sim: s, drain: drain{capacity: e.cfg.Sim.Cluster.Capacity()}})
	return nil
}

// Configurations returns the candidates, shape [C]: shared, not to be modified.
func (e *Engine) Configurations() []env.Configuration { return e.cfg.Configurations }

// Search scores configurations for p and says which one should be in force.
func (e *Engine) Search(ctx context.Context, p *Problem) (*Scores, error) {
	if p.Incumbent < 0 || p.Incumbent >= len(e.policies) {
		return nil, fmt.Errorf("tune: search: incumbent %d of %d configurations", p.Incumbent, len(e.policies))
	}
	tried := e.tries(p)
	costs, err := e.simulate(ctx, p, 0, e.cfg.Futures, tried)
	if err != nil {
		return nil, err
	}
	s := newScores(len(e.policies), tried, costs)
	s.Best = s.best(p.Incumbent)
	s.Choice = p.Incumbent
	if s.Best == p.Incumbent {
		return s, nil
	}
	final, err := e.simulate(ctx, p, e.cfg.Futures, e.cfg.HeldOut, []int{p.Incumbent, s.Best})
	if err != nil {
		return nil, err
	}
	s.Gain, s.GainError = pairedGain(final)
	if s.Gain > e.cfg.Margin*s.GainError {
		s.Choice = s.Best
	}
	return s, nil
}

// tries returns the configurations to score in ascending order.
func (e *Engine) tries(p *Problem) []int {
	chosen := make([]bool, len(e.policies))
	chosen[p.Incumbent] = true
	n := 1
	for _, c := range rng.New(p.Seed, "tune/tries").Perm(len(chosen)) {
		if n < e.cfg.Tries && !chosen[c] {
			chosen[c] = true
			n++
		}
	}
	tried := make([]int, 0, n)
	for c, yes := range chosen {
		if yes {
			tried = append(tried, c)
		}
	}
	return tried
}

// simulate returns the cost of each configuration on each of n futures from the
// first on, shape [n][len(configurations)].
func (e *Engine) simulate(ctx context.Context, p *Problem, first, n int, configurations []int) ([][]float64, error) {
	for len(e.lanes) < e.cfg.Workers {
		if err := e.addLane(); err != nil {
			return nil, err
		}
	}
	starts := make([]*sim.Snapshot, n)
	err := each(ctx, e.cfg.Workers, n, func(_ context.Context, worker, i int) error {
		start, err := e.future(p, first+i)
		if err != nil {
			return err
		}
		s := e.lanes[worker].sim
		if err := s.ResetTo(rng.Seed(p.Seed, "tune/reset"), start); err != nil {
			return fmt.Errorf("tune: future %d: %w", first+i, err)
		}
		starts[i] = s.Snapshot()
		return nil
	})
	if err != nil {
		return nil, err
	}
	costs := make([][]float64, n)
	for i := range costs {
		costs[i] = make([]float64, len(configurations))
	}
	end := p.State.Now + e.cfg.Horizon
	err = each(ctx, e.cfg.Workers, n*len(configurations), func(ctx context.Context, worker, task int) error {
		i, c := task/len(configurations), task%len(configurations)
		cost, err := e.lanes[worker].play(ctx, starts[i], e.policies[configurations[c]], end)
		if err != nil {
			return fmt.Errorf("tune: future %d: configuration %v: %w", first+i, e.cfg.Configurations[configurations[c]], err)
		}
		costs[i][c] = cost
		return nil
	})
	return costs, err
}

// play runs p from snap to end and returns the flow time plus the drain.
func (l *lane) play(ctx context.Context, snap *sim.Snapshot, p agent.Policy, end time.Duration) (float64, error) {
	if err := l.sim.Restore(snap); err != nil {
		return 0, err
	}
	flow := 0.0
	for !l.sim.Done() && l.sim.State().Now < end {
		a, err := p.Decide(ctx, l.sim.State())
		if err != nil {
			return 0, err
		}
		out, err := l.sim.Advance(a)
		if err != nil {
			return 0, err
		}
		flow -= out.Reward
	}
	l.remaining = l.sim.Remaining(l.remaining[:0])
	return flow + l.drain.cost(l.sim.State(), l.remaining), nil
}
