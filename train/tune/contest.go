package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/eval"
)

// Names of the rows of a comparison: the base scheduler and how it is
// configured.
const (
	RowDefault  = "tiresias/default"  // published values, throughout
	RowSearched = "tiresias/searched" // searched on generated futures at every window
	RowLearned  = "tiresias/learned"  // chosen by the learned policy at every window
)

// Setting is where configurers are trained or compared. The zero value of every
// field but Train and Test is its default.
type Setting struct {
	// Train draws episodes of the past: what may be learned from.
	Train sim.Config
	// Test holds the episodes that configurers are compared on.
	Test sim.Config
	// Window is how long a configuration holds. Default 1 hour.
	Window time.Duration
	// Engine configures the searches; its Sim is not used.
	Engine EngineConfig
	// Fit models arrivals. Default: datasets/synth.
	Fit  Fit
	Seed uint64
}

func (s *Setting) fillDefaults() {
	s.Window = cmp.Or(s.Window, time.Hour)
	if s.Fit == nil {
		s.Fit = fitSynth
	}
	if s.Engine.Configurations == nil {
		s.Engine.Configurations = heuristic.TiresiasConfigurations()
	}
	if s.Engine.Build == nil {
		s.Engine.Build = heuristic.FromConfiguration
	}
}

func (s *Setting) validate() error {
	var errs []error
	if s.Train.Workload == nil {
		errs = append(errs, errors.New("tune: setting: Train has no Workload"))
	}
	if s.Window <= 0 {
		errs = append(errs, fmt.Errorf("tune: setting: Window is %v, want > 0", s.Window))
	}
	return errors.Join(errs...)
}

// past is what a site knows of its workload when an episode begins.
type past struct {
	jobs     []env.Job // of one training episode
	arrivals Generator // fitted to them
}

func (s *Setting) past() (past, error) {
	jobs, err := s.Train.Workload(rng.Seed(s.Seed, "tune/past"))
	if err != nil {
		return past{}, fmt.Errorf("tune: past workload: %w", err)
	}
	if len(jobs) < 2 {
		return past{}, fmt.Errorf("tune: past workload: %d jobs, want at least 2", len(jobs))
	}
	// The window ends one mean gap after the last submission.
	from, to := jobs[0].Submit, jobs[len(jobs)-1].Submit
	to += max(1, (to-from)/time.Duration(len(jobs)-1))
	arrivals, err := s.Fit(jobs, from, to)
	if err != nil {
		return past{}, fmt.Errorf("tune: past workload: %w", err)
	}
	return past{jobs: jobs, arrivals: arrivals}, nil
}

// engine returns a configuration of the engine for one of several episodes that
// run side by side.
func (s *Setting) engine(cfg sim.Config) EngineConfig {
	e := s.Engine
	e.Sim, e.Workers = cfg, 1
	return e
}

// Contestants returns the three rows for eval.Compare on the episodes of
// s.Test; the learned one is left out where m is nil.
func Contestants(s Setting, m *models.Model) ([]eval.Contestant, error) {
	s.fillDefaults()
	if err := s.validate(); err != nil {
		return nil, err
	}
	if _, err := NewEngine(s.engine(s.Test)); err != nil { // find faults now
		return nil, err
	}
	configurations := s.Engine.Configurations
	before, err := s.past()
	if err != nil {
		return nil, err
	}
	rows := []eval.Contestant{
		s.contestant(RowDefault, Constant(configurations[0])),
		{Name: RowSearched, Play: func(ctx context.Context, seed uint64) (eval.Episode, error) {
			return s.playSearched(ctx, before, seed)
		}},
	}
	if m == nil {
		return rows, nil
	}
	learned, err := neural.NewConfigurer(m, configurations)
	if err != nil {
		return nil, err
	}
	return append(rows, s.contestant(RowLearned, learned)), nil
}

func (s *Setting) contestant(name string, c agent.Configurer) eval.Contestant {
	return eval.Contestant{Name: name, Play: func(ctx context.Context, seed uint64) (eval.Episode, error) {
		return s.play(ctx, c, seed)
	}}
}

func (s *Setting) playSearched(ctx context.Context, before past, seed uint64) (eval.Episode, error) {
	jobs, err := s.Test.Workload(seed)
	if err != nil {
		return eval.Episode{}, err
	}
	c, err := s.searched(s.Test, before, jobs, rng.Seed(s.Seed, "tune/search"))
	if err != nil {
		return eval.Episode{}, err
	}
	return s.play(ctx, c, seed)
}

// play runs the episode of seed under c. Decisions and their time are those of
// the configurer, not of the schedulers.
func (s *Setting) play(ctx context.Context, c agent.Configurer, seed uint64) (eval.Episode, error) {
	cluster, err := sim.New(s.Test)
	if err != nil {
		return eval.Episode{}, err
	}
	if err := cluster.Reset(seed); err != nil {
		return eval.Episode{}, err
	}
	e, err := rollout(ctx, cluster, c, s.Window, s.Engine.Build)
	if err != nil {
		return eval.Episode{}, fmt.Errorf("tune: seed %d: %w", seed, err)
	}
	return e, nil
}

// searched returns the search-based configurer for an episode of cfg.
func (s *Setting) searched(cfg sim.Config, before past, episode []env.Job, seed uint64) (*Searched, error) {
	engine, err := NewEngine(s.engine(cfg))
	if err != nil {
		return nil, err
	}
	return NewSearched(SearchedConfig{
		Engine: engine, Fit: s.Fit, Prior: before.arrivals, History: before.jobs, Seed: seed,
	}, episode)
}
