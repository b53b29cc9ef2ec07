package heuristic

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// expectation returns the steps that a job is expected to have left, > 0; best
// is its fastest strategy.
type expectation func(j *env.JobState, best *env.Strategy) float64

// expectation returns what d goes by in state s.
func (d *Density) expectation(s *env.State) expectation {
	if !d.cfg.Gittins || s.Knowledge == env.Oracle {
		return func(j *env.JobState, best *env.Strategy) float64 { return remaining(s, j, best) }
	}
	if s.Knowledge == env.Estimate {
		return d.estimates.ofEstimate
	}
	return newPopulation(s, orDefault(d.cfg.Sigma, populationSigma), orDefault(d.cfg.Median, populationMedian)).ofService(s)
}

// remaining returns the steps that j has left, or an estimate from its age: as
// many as it has done and one round at full speed.
func remaining(s *env.State, j *env.JobState, best *env.Strategy) float64 {
	if s.Knowledge != env.None {
		return j.Remaining
	}
	return j.Done + best.Throughput*s.RoundLen.Seconds()
}

// timeLeft returns the time in seconds that j still needs in its fastest
// strategy, as far as known.
func timeLeft(s *env.State, j *env.JobState) float64 {
	best := fastest(j)
	return remaining(s, j, best) / best.Throughput
}

// load returns the log of the GPUs that all jobs asked for over those there are.
func (p *pool) load() float64 {
	asked, there := 0.0, 0.0 // any job may ask for as many as an int holds
	for i := range p.state.Jobs {
		asked += float64(p.state.Jobs[i].GPUs)
	}
	for _, n := range p.state.Capacity() {
		there += float64(n)
	}
	return math.Log(max(1, asked) / max(1, there))
}
