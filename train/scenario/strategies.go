package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Strategies says which strategies a scheduler may choose among: what is decided
// together with the schedule and what before it.
type Strategies string

const (
	// All leaves GPU type, number of GPUs and parallelization plan to the
	// scheduler: job-strategy pairs.
	All Strategies = "all"
	// Rigid leaves it the GPU type; the number of GPUs is that of the request and
	// the plan the best for both.
	Rigid Strategies = "rigid"
	// DataParallel leaves it the GPU type; the job runs data-parallel on the
	// requested GPUs, with whatever ZeRO stage, checkpointing or offloading its
	// memory needs.
	DataParallel Strategies = "data-parallel"
	// DataParallelElastic leaves it also the number of GPUs.
	DataParallelElastic Strategies = "data-parallel-elastic"
	// BestFirst leaves it nothing but the order: each job has the GPU type and the
	// plan that are fastest for the requested GPUs.
	BestFirst Strategies = "best-first"
	// SpreadFirst leaves it nothing but the order, too, but spreads jobs over the
	// GPU types before: each gets a type at random, in proportion to what the type
	// as a whole could do of such jobs, and the best plan there.
	SpreadFirst Strategies = "spread-first"
)

// StrategySets lists all sets.
func StrategySets() []Strategies {
	return []Strategies{All, Rigid, DataParallel, DataParallelElastic, BestFirst, SpreadFirst}
}

// ParseStrategies returns the set with this name.
func ParseStrategies(name string) (Strategies, error) {
	if x := Strategies(name); slices.Contains(StrategySets(), x) {
		return x, nil
	}
	var names []string
	for _, x := range StrategySets() {
		names = append(names, string(x))
	}
	return "", fmt.Errorf("scenario: strategies are %q, want one of %s", name, strings.Join(names, ", "))
}

// candidates returns the generator of this set on the hardware and the models of
// cfg.
func (x Strategies) candidates(cfg perf.Config) (sim.Candidates, error) {
	cfg.Rigid = x != All && x != DataParallelElastic
	if x == DataParallel || x == DataParallelElastic {
		dataParallel(&cfg)
	}
	p, err := perf.New(cfg)
	if err != nil {
		return nil, err
	}
	switch x {
	case BestFirst:
		return decided{p, fastest}, nil
	case SpreadFirst:
		return decided{p, proportional}, nil
	}
	return p, nil
}

// dataParallel takes tensor and pipeline parallelism out of cfg's models, and the
// measurements of such plans.
func dataParallel(cfg *perf.Config) {
	if cfg.Catalogue == nil {
		cfg.Catalogue = perf.Default()
	}
	cfg.Catalogue = cfg.Catalogue.DataParallel()
	cfg.Measured = slices.DeleteFunc(slices.Clone(cfg.Measured), func(m perf.Measurement) bool {
		return m.Plan.Tensor > 1 || m.Plan.Pipeline > 1
	})
}

// decided leaves each job one strategy, which is chosen before there is anything
// to schedule: from the job and the cluster alone.
type decided struct {
	from   sim.Candidates
	choose func(j *env.Job, c *env.Cluster, list []env.Strategy) int
}

// Strategies implements [sim.Candidates].
func (d decided) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	list, err := d.from.Strategies(j, c)
	if err != nil {
		return nil, err
	}
	k := d.choose(j, c, list)
	return list[k : k+1 : k+1], nil
}

func fastest(_ *env.Job, _ *env.Cluster, list []env.Strategy) int {
	best := 0
	for k := range list {
		if list[k].Throughput > list[best].Throughput {
			best = k
		}
	}
	return best
}

// proportional draws from the stream of the job's ID, each strategy with the weight of
// its throughput per GPU times the GPUs of its type.
func proportional(j *env.Job, c *env.Cluster, list []env.Strategy) int {
	capacity := c.Capacity()
	total := 0.0
	weight := func(st *env.Strategy) float64 { return st.Throughput / st.Held() * float64(capacity[st.Type]) }
	for k := range list {
		total += weight(&list[k])
	}
	x := rng.New(uint64(j.ID), "scenario/spread").Float64() * total
	for k := range list {
		if x -= weight(&list[k]); x < 0 {
			return k
		}
	}
	return len(list) - 1
}

// common are the throughputs of the first set; a job has strategies only if it has
// some in every set, so that all sets are compared on the same jobs.
type common struct {
	*perf.Performance
	sets []sim.Candidates
}

// Strategies implements [datasets.Throughputs].
func (x common) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	for _, set := range x.sets {
		if _, err := set.Strategies(j, c); err != nil {
			return nil, err
		}
	}
	return x.Performance.Strategies(j, c)
}

// SimOf returns the simulator of a part with another set of strategies, which
// Options.Strategies named.
func (l *Loaded) SimOf(p Part, x Strategies) (sim.Config, error) {
	candidates, ok := l.sets[x]
	if !ok {
		return sim.Config{}, errors.New("scenario: strategies " + string(x) + " were not loaded")
	}
	cfg := l.Sim(p)
	cfg.Candidates = candidates
	return cfg, nil
}
