package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// episode is what stays the same while an episode runs. Snapshots share it, so
// it is never modified once it is prepared.
type episode struct {
	jobs       []env.Job        // ordered by (Submit, ID)
	begun      int              // of them, the first ones, known before the episode
	strategies [][]env.Strategy // [len(jobs)]; nil means ask Candidates
	expected   []float64        // total steps as estimated, [len(jobs)], 0 means draw; nil without estimates
	shown      [][]env.Strategy // strategies as policies see them at first, [len(jobs)]; nil: as they are
	eras       []quotaEra       // quotas over time; nil without
	unit       int              // parts of a GPU that every strategy takes a multiple of
}

// leaves returns the steps after which a job leaves: when it is done or fails.
func (ep *episode) leaves(job int) float64 {
	if j := &ep.jobs[job]; j.Fails > 0 {
		return min(j.Work, j.Fails)
	}
	return ep.jobs[job].Work
}

// cancels returns when a job is withdrawn, or never.
func (ep *episode) cancels(job int) time.Duration {
	if at := ep.jobs[job].Cancel; at > 0 {
		return at
	}
	return never
}

func newEpisode(jobs []env.Job) *episode {
	return &episode{jobs: jobs, strategies: make([][]env.Strategy, len(jobs)), unit: env.PartsPerGPU}
}

// prepare checks the jobs of ep and fills in their strategies and estimates.
func (s *Sim) prepare(ep *episode, seed uint64) error {
	if err := checkOrder(ep.jobs); err != nil {
		return err
	}
	for i := range ep.jobs {
		if err := s.prepareJob(ep, i); err != nil {
			return err
		}
	}
	if s.cfg.Knowledge == env.Estimate {
		ep.estimate(seed, s.cfg.EstimateSigma)
	}
	if s.cfg.ThroughputSigma > 0 {
		ep.guess(seed, s.cfg.ThroughputSigma, len(s.capacity), ep.begun)
	}
	return nil
}

func (s *Sim) prepareJob(ep *episode, i int) error {
	j := &ep.jobs[i]
	if err := j.Validate(); err != nil {
		return err
	}
	if j.Submit > MaxClock {
		return fmt.Errorf("job %d is submitted at %v, want at most %v", j.ID, j.Submit, MaxClock)
	}
	if ep.strategies[i] == nil {
		blind := *j // candidates must not depend on how long the job will run
		blind.Work, blind.Fails, blind.Cancel = 1, 0, 0
		strategies, err := s.cfg.Candidates.Strategies(&blind, &s.cfg.Cluster)
		if err != nil {
			return fmt.Errorf("job %d: strategies: %w", j.ID, err)
		}
		ep.strategies[i] = strategies
	}
	for k := range ep.strategies[i] {
		ep.unit = min(ep.unit, env.PartsPerGPU/max(1, ep.strategies[i][k].Share))
	}
	return s.checkStrategies(j.ID, ep.strategies[i])
}

func (s *Sim) checkStrategies(id int64, strategies []env.Strategy) error {
	if len(strategies) == 0 || len(strategies) > env.MaxStrategies {
		return fmt.Errorf("job %d has %d strategies, want 1 to %d: without one it can never run", id, len(strategies), env.MaxStrategies)
	}
	fits := false
	for k := range strategies {
		st := &strategies[k]
		if err := st.Validate(&s.cfg.Cluster); err != nil {
			return fmt.Errorf("job %d: strategies[%d]: %w", id, k, err)
		}
		fits = fits || s.possible(st)
	}
	if !fits {
		return fmt.Errorf("job %d: none of its %d strategies fits the cluster: it can never run", id, len(strategies))
	}
	return nil
}

// estimate draws the estimated total work of every job that has none: its true
// work times exp(σ·z), z standard normal, one draw per job in order.
func (ep *episode) estimate(seed uint64, sigma float64) {
	r := rng.New(seed, "estimate")
	if ep.expected == nil {
		ep.expected = make([]float64, len(ep.jobs))
	}
	for i := range ep.jobs {
		factor := math.Exp(sigma * r.NormFloat64())
		if ep.expected[i] == 0 {
			ep.expected[i] = ep.jobs[i].Work * factor
		}
	}
}

func checkOrder(jobs []env.Job) error {
	if len(jobs) > math.MaxInt32 {
		return errors.New("more jobs than an int32 can count")
	}
	ids := make([]int64, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
		if i == 0 {
			continue
		}
		a, b := &jobs[i-1], &jobs[i]
		if b.Submit < a.Submit || b.Submit == a.Submit && b.ID < a.ID {
			return fmt.Errorf("job %d (submitted at %v) follows job %d (%v), want jobs ordered by (Submit, ID)", b.ID, b.Submit, a.ID, a.Submit)
		}
	}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			return fmt.Errorf("job ID %d occurs twice", ids[i])
		}
	}
	return nil
}
