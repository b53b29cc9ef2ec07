package scenario

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Vary makes training episodes differ in more than their jobs, so that a policy does
// not fit one setting alone (domain randomization), and chooses and orders those that
// are trained on (filter and curriculum). Episodes that policies are chosen and tested
// on stay as they are. All is a pure function of the episode's seed. The zero value is
// off; a range of two zeros leaves its quantity as it is.
type Vary struct {
	// Load is the range of a factor on the scenario's load, drawn log-uniformly: arrivals
	// are squeezed or stretched.
	Load [2]float64 `json:"load,omitzero"`
	// Grow lets the factor on the load grow from the first to the second of Load over so
	// many training seeds instead, from seed 0.
	Grow int `json:"grow,omitempty"`
	// Nodes is the range of a factor on the number of nodes, drawn for each GPU type: other
	// sizes and other mixes. Arrivals are stretched so that the load stays. Jobs that run
	// on no GPU type of the episode's cluster are left out.
	Nodes [2]float64 `json:"nodes,omitzero"`
	// Sigma is the range of the standard deviation of the log error of estimated work.
	Sigma [2]float64 `json:"sigma,omitzero"`
	// Missing is the chance of each strategy of a job to be left out; one of them stays.
	Missing float64 `json:"missing,omitempty"`
	// Filter is the range of mean completion time under FIFO over that under the
	// shortest remaining time first: only episodes within it are trained on. Where both
	// are as good there is little to learn, and where FIFO is far worse the episode
	// is an outlier (RLScheduler, Zhang et al., SC 2020, section IV-C).
	Filter [2]float64 `json:"filter,omitzero"`
}

func (v *Vary) validate(bad func(field string, value any, want string)) {
	for _, r := range []struct {
		name      string
		of        [2]float64
		low, high float64
	}{{"vary.load", v.Load, 0.01, 100}, {"vary.nodes", v.Nodes, 0.01, 100}, {"vary.sigma", v.Sigma, 0.01, 10}, {"vary.filter", v.Filter, 0.01, 1e6}} {
		if r.of != off && !(r.of[0] >= r.low && r.of[0] <= r.of[1] && r.of[1] <= r.high) && !(r.name == "vary.load" && v.Grow > 0 && within(r.of, r.low, r.high)) {
			bad(r.name, r.of, fmt.Sprintf("two zeros, or from a lower to a higher number between %v and %v", r.low, r.high))
		}
	}
	if v.Grow < 0 || v.Grow > 0 && v.Load == off {
		bad("vary.grow", v.Grow, ">= 0, and a load to grow with it")
	}
	if !(v.Missing >= 0 && v.Missing < 1) {
		bad("vary.missing", v.Missing, "0 to less than 1")
	}
}

// off is a range that changes nothing.
var off [2]float64

func within(r [2]float64, low, high float64) bool {
	return r[0] >= low && r[0] <= high && r[1] >= low && r[1] <= high
}

// changes reports whether v changes episodes, beside choosing among them.
func (v *Vary) changes() bool {
	v0 := *v
	v0.Filter = off
	return v0 != Vary{}
}

// draw returns a number of range r, drawn log-uniformly.
func draw(r [2]float64, random *rand.Rand) float64 {
	return r[0] * math.Pow(r[1]/r[0], random.Float64())
}

// Episode returns the simulator of one training episode, which is to be reset with this
// seed: without Vary that of Sim(Train).
func (l *Loaded) Episode(seed uint64) (sim.Config, error) {
	cfg, v := l.Sim(Train), &l.Scenario.Vary
	if !v.changes() {
		return cfg, nil
	}
	jobs, err := cfg.Workload(seed)
	if err != nil {
		return cfg, err
	}
	squeeze := v.loadFactor(seed)
	if v.Nodes != off {
		own := l.nodes(seed)
		var more float64
		if jobs, more, err = l.moveTo(jobs, &own); err != nil {
			return cfg, fmt.Errorf("scenario: training episode %d: %w", seed, err)
		}
		squeeze /= more
		cfg.Cluster = own
	}
	if v.Sigma != off {
		cfg.EstimateSigma = draw(v.Sigma, rng.New(seed, "scenario/vary/sigma"))
	}
	if v.Missing > 0 {
		cfg.Candidates = &missing{of: cfg.Candidates, seed: seed, chance: v.Missing}
	}
	stretch(jobs, 1/squeeze)
	cfg.Workload = func(other uint64) ([]env.Job, error) {
		if other != seed {
			return nil, fmt.Errorf("scenario: the simulator of training episode %d was reset with seed %d", seed, other)
		}
		return slices.Clone(jobs), nil
	}
	return cfg, nil
}

// loadFactor returns what the load of an episode is multiplied by.
func (v *Vary) loadFactor(seed uint64) float64 {
	switch {
	case v.Load == off:
		return 1
	case v.Grow > 0:
		done := min(1, float64(seed)/float64(v.Grow))
		return v.Load[0] * math.Pow(v.Load[1]/v.Load[0], done)
	}
	return draw(v.Load, rng.New(seed, "scenario/vary/load"))
}

// nodes returns the cluster of an episode: the scenario's with another number of
// nodes of each type, at least one.
func (l *Loaded) nodes(seed uint64) env.Cluster {
	r := rng.New(seed, "scenario/vary/nodes")
	c := env.Cluster{Types: l.Cluster.Types}
	for t := range c.Types {
		var of []env.Node
		for _, n := range l.Cluster.Nodes {
			if n.Type == t {
				of = append(of, n)
			}
		}
		if len(of) == 0 {
			continue
		}
		n := min(max(1, int(math.Round(float64(len(of))*draw(l.Scenario.Vary.Nodes, r)))), env.MaxNodes/len(c.Types))
		for i := range n {
			c.Nodes = append(c.Nodes, of[i%len(of)])
		}
	}
	return c
}

// moveTo returns the jobs that can run on cluster own, and how much more load they
// are there than on the scenario's.
func (l *Loaded) moveTo(jobs []env.Job, own *env.Cluster) (fitting []env.Job, more float64, err error) {
	for i := range jobs {
		switch _, err := l.Performance.Strategies(&jobs[i], own); {
		case err == nil:
			fitting = append(fitting, jobs[i])
		case !errors.Is(err, perf.ErrNoStrategy):
			return nil, 0, err
		}
	}
	if len(fitting) < 2 {
		return nil, 0, fmt.Errorf("%d of its %d jobs fit a cluster of %v GPUs: use a narrower range of nodes", len(fitting), len(jobs), own.Capacity())
	}
	before, err := datasets.MeasureLoad(jobs, &l.Cluster, l.Performance)
	if err != nil {
		return nil, 0, err
	}
	after, err := datasets.MeasureLoad(fitting, own, l.Performance)
	if err != nil {
		return nil, 0, err
	}
	if before.Offered == 0 || after.Offered == 0 {
		return fitting, 1, nil // all arrive at once
	}
	return fitting, after.Offered / before.Offered, nil
}
