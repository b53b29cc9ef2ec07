package sim

import (
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env/metrics"
)

// Objective says what rewards add up to over an episode. None is positive. They
// are in job-hours but for Misses. A job that fails or is withdrawn counts until
// then, like one that finishes.
type Objective uint8

const (
	// JCT rewards with −∫ Σ weights of the jobs in the system dt: the sum is
	// exactly −Σ weight × completion time.
	JCT Objective = iota
	// Delay rewards with that plus what the round got done, measured in the time
	// that the jobs' fastest candidates would have needed for it. The sum is
	// −Σ weight × (completion time − time on the fastest candidate), which
	// differs from JCT by what no policy can change, so both have the same best
	// policies. But a job's long run no longer drowns the decisions: one that runs
	// at full speed costs nothing, one that waits costs all of its time, and a
	// choice shows in the reward of its own round. It is the potential-based
	// shaping of Ng, Harada and Russell (ICML 1999) with the potential
	// −Σ weight × time still needed, but for what arrivals add to it.
	Delay
	// Tardiness rewards with −∫ Σ weights of the jobs in the system after their
	// deadlines dt: the sum is −Σ weight × max(0, finish − deadline).
	Tardiness
	// Misses takes a job's weight when its deadline passes while it is in the
	// system: the sum is −Σ weight of the jobs that finish after their deadline,
	// in jobs.
	Misses
	// FairJCT is JCT less Config.FairnessPenalty × weight × (ρ − 1) for every job
	// whose finish-time fairness ρ (Themis, NSDI 2020) is above 1: it is worse off
	// than with an exclusive 1/n share. It is taken when the job finishes; one
	// that is withdrawn has no ρ.
	FairJCT
)

var objectiveNames = [...]string{"jct", "delay", "tardiness", "misses", "fair-jct"}

func (o Objective) String() string {
	if int(o) < len(objectiveNames) {
		return objectiveNames[o]
	}
	return fmt.Sprintf("Objective(%d)", uint8(o))
}

// MarshalText implements [encoding.TextMarshaler].
func (o Objective) MarshalText() ([]byte, error) {
	if int(o) >= len(objectiveNames) {
		return nil, fmt.Errorf("sim: objective %d is unknown", uint8(o))
	}
	return []byte(objectiveNames[o]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Objective) UnmarshalText(text []byte) error {
	for i, name := range objectiveNames {
		if string(text) == name {
			*o = Objective(i)
			return nil
		}
	}
	return fmt.Errorf("sim: objective is %q, want jct, delay, tardiness, misses or fair-jct", text)
}

// tally is what a stretch of time cost, before Objective makes a reward of it.
type tally struct {
	flow  float64 // weighted seconds that jobs spent in the system
	ideal float64 // weighted seconds that their fastest candidates would have needed for what they got done
	late  float64 // weighted seconds after deadlines, or weights of deadlines missed
	rho   float64 // Σ weight × max(0, ρ − 1)
}

func (t *tally) add(u tally) {
	t.flow += u.flow
	t.ideal += u.ideal
	t.late += u.late
	t.rho += u.rho
}

// reward returns the reward of a round that cost t.
func (c *Config) reward(t tally) float64 {
	switch c.Objective {
	case Delay:
		return -(t.flow - t.ideal) / 3600
	case Tardiness:
		return 0 - t.late/3600 // 0 where it is 0, not -0
	case Misses:
		return 0 - t.late
	case FairJCT:
		return -(t.flow/3600 + float64(c.FairnessPenalty.Hours()*t.rho))
	}
	return -t.flow / 3600
}

// late returns what a job with this weight and deadline costs while it is in the
// system between two times, by the objectives that go by deadlines.
func (c *Config) late(weight float64, deadline, from, to time.Duration) float64 {
	switch {
	case deadline == 0:
		return 0
	case c.Objective == Tardiness:
		return weight * max(0, to-max(from, deadline)).Seconds()
	case c.Objective == Misses && from <= deadline && deadline < to:
		return weight
	}
	return 0
}

// lateJobs returns what the active jobs cost until the round's end, by the
// objectives that go by deadlines. s.finishes says which leave before.
func (s *Sim) lateJobs() float64 {
	if s.cfg.Objective != Tardiness && s.cfg.Objective != Misses {
		return 0
	}
	now, end := s.state.Now, s.state.Now+s.cfg.Round
	total := 0.0
	for i := range s.state.Jobs {
		j := &s.state.Jobs[i]
		total += s.cfg.late(j.Weight, j.Deadline, now, end)
	}
	for _, f := range s.finishes {
		j := &s.state.Jobs[f.job]
		total -= s.cfg.late(j.Weight, j.Deadline, f.at, end)
	}
	return total
}

// unfair returns weight × (ρ − 1), where that is above 0, of a job that left.
func unfair(j *metrics.Job) float64 {
	if j.Outcome == metrics.Cancelled {
		return 0
	}
	return j.Weight * max(0, j.Rho()-1)
}

// fastest returns the highest throughput, in steps/s, that a job (index in
// episode.jobs) has with its GPUs to itself, among the strategies that fit the
// cluster.
func (s *Sim) fastest(job int) float64 {
	best, j, strategies := 0.0, &s.ep.jobs[job], s.ep.strategies[job]
	for k := range strategies {
		if st := &strategies[k]; s.possible(st) {
			best = max(best, s.speed(j, st))
		}
	}
	return best
}
