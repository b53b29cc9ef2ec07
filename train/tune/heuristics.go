package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/eval"
)

// Objectives are what the numbers of a heuristic can be tuned for, less being
// better, by name.
var Objectives = []Objective{
	{"jct", "mean completion time", func(s *metrics.Summary) float64 { return s.MeanJCT }},
	{"p99", "99th percentile of completion times", func(s *metrics.Summary) float64 { return s.P99JCT }},
	{"makespan", "time from the first submission to the last completion", func(s *metrics.Summary) float64 { return s.Makespan }},
	{"rho", "mean finish-time fairness ρ", func(s *metrics.Summary) float64 { return s.MeanRho }},
	// A hundredth of the completion time keeps episodes comparable in which
	// every deadline is met.
	{"tardiness", "mean time after the deadline, and a hundredth of the mean completion time", func(s *metrics.Summary) float64 { return s.Tardiness + 0.01*s.MeanJCT }},
}

// Objective is a figure of an episode, > 0.
type Objective struct {
	Name, About string
	Of          func(*metrics.Summary) float64
}

// ObjectiveNamed returns the objective with this name.
func ObjectiveNamed(name string) (Objective, error) {
	var names []string
	for _, o := range Objectives {
		if o.Name == name {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return Objective{}, fmt.Errorf("tune: no objective %q, have %s", name, strings.Join(names, ", "))
}

// HeuristicConfig says what is tuned and on what. The zero value of the last four
// fields is their default.
type HeuristicConfig struct {
	Scheduler string // one of heuristic.Tunable
	Sim       sim.Config
	Episodes  []uint64 // seeds of Sim's episodes: every candidate plays all of them

	Objective   Objective // default jct
	Evaluations int       // candidates tried at most, the default among them; default 96
	Seed        uint64    // of the candidates that are drawn
	Progress    func(done, total int)
}

func (c *HeuristicConfig) fillDefaults() {
	if c.Objective.Of == nil {
		c.Objective = Objectives[0]
	}
	if c.Evaluations == 0 {
		c.Evaluations = 96
	}
}

func (c *HeuristicConfig) validate() error {
	var errs []error
	if heuristic.Ranges(c.Scheduler) == nil {
		errs = append(errs, fmt.Errorf("tune: %q has no numbers to tune, want one of %s", c.Scheduler, strings.Join(heuristic.Tunable(), ", ")))
	}
	if len(c.Episodes) == 0 {
		errs = append(errs, errors.New("tune: no episodes to tune on"))
	}
	if c.Evaluations < 2 {
		errs = append(errs, fmt.Errorf("tune: %d evaluations, want at least 2", c.Evaluations))
	}
	return errors.Join(errs...)
}

// Fitted is a heuristic whose numbers were tuned.
type Fitted struct {
	Configuration env.Configuration
	// Default and Tuned are the objective on each episode, shape [len(Episodes)].
	Default, Tuned []float64
	Evaluations    int // candidates tried
}

// Ratio returns the geometric mean over episodes of the tuned objective over the
// default's.
func (f *Fitted) Ratio() float64 { return math.Exp(logRatio(f.Tuned, f.Default)) }

// logRatio returns the mean over episodes of ln(a/b).
func logRatio(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Log(a[i] / b[i])
	}
	return sum / float64(len(a))
}

// Heuristic searches the numbers with which a heuristic is best. All candidates
// play the same episodes (common random numbers), and what is minimised is the
// mean log of the objective over that of the defaults, so that an episode of long
// jobs counts no more than one of short jobs. A third of the evaluations go to
// points spread over the ranges, the rest to a pattern search around the best
// (Hooke and Jeeves 1961) whose steps halve where no neighbour is better. The
// default is a candidate: the result is never worse on the episodes. It is a pure
// function of the configuration, whatever the number of cores.
func Heuristic(ctx context.Context, cfg HeuristicConfig) (*Fitted, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	f := &fit{cfg: &cfg, ranges: heuristic.Ranges(cfg.Scheduler), seen: make(map[string]bool)}
	start := make([]float64, len(f.ranges))
	for i, r := range f.ranges {
		start[i] = r.Default
	}
	if err := f.try(ctx, [][]float64{start}); err != nil {
		return nil, err
	}
	f.start = f.best
	if err := f.try(ctx, f.spread((cfg.Evaluations-1)/3)); err != nil {
		return nil, err
	}
	if err := f.descend(ctx); err != nil {
		return nil, err
	}
	if cfg.Progress != nil {
		cfg.Progress(cfg.Evaluations, cfg.Evaluations)
	}
	return &Fitted{f.configuration(f.best.at), f.start.costs, f.best.costs, f.tried}, nil
}

// point is a candidate and what it cost on each episode.
type point struct {
	at    []float64
	costs []float64
	score float64 // mean log cost over the default's
}

// fit is a search in progress.
type fit struct {
	cfg         *HeuristicConfig
	ranges      []heuristic.Range
	start, best point
	tried       int
	seen        map[string]bool
}

// configuration returns the candidate at these values.
func (f *fit) configuration(at []float64) env.Configuration {
	c := env.Configuration{Scheduler: f.cfg.Scheduler}
	for i, r := range f.ranges {
		c.Knobs = append(c.Knobs, env.Knob{Name: r.Name, Values: []float64{at[i]}})
	}
	slices.SortFunc(c.Knobs, func(a, b env.Knob) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// spread draws n points, each coordinate once in each n-th of its range (a Latin
// hypercube; McKay, Beckman and Conover 1979).
func (f *fit) spread(n int) [][]float64 {
	r := rng.New(f.cfg.Seed, "tune/"+f.cfg.Scheduler)
	points := make([][]float64, n)
	for k := range points {
		points[k] = make([]float64, len(f.ranges))
	}
	for i, knob := range f.ranges {
		for k, cell := range r.Perm(n) {
			x := (float64(cell) + r.Float64()) / float64(n)
			points[k][i] = knob.Low + x*(knob.High-knob.Low)
		}
	}
	return points
}

// descend moves the best point to its best neighbour, one knob at a time up or
// down, and halves the step where none is better.
func (f *fit) descend(ctx context.Context) error {
	const first, last = 0.2, 0.01 // of a range
	for step := first; step >= last && f.tried < f.cfg.Evaluations; {
		from := f.best
		var around [][]float64
		for i, r := range f.ranges {
			for _, d := range []float64{-step, step} {
				p := slices.Clone(from.at)
				p[i] = min(max(p[i]+d*(r.High-r.Low), r.Low), r.High)
				around = append(around, p)
			}
		}
		if err := f.try(ctx, around); err != nil {
			return err
		}
		if f.best.score == from.score {
			step /= 2
		}
	}
	return nil
}

// digits to which values are rounded, so that files of them are short and exact.
const digits = 1e4

// try evaluates candidates that were not seen yet, as far as the budget goes, and
// keeps the best of all, the first of equal ones.
func (f *fit) try(ctx context.Context, candidates [][]float64) error {
	var fresh []point
	for _, at := range candidates {
		for i := range at {
			at[i] = math.Round(at[i]*digits) / digits
		}
		if key := fmt.Sprint(at); !f.seen[key] && f.tried+len(fresh) < f.cfg.Evaluations {
			f.seen[key] = true
			fresh = append(fresh, point{at: at, costs: make([]float64, len(f.cfg.Episodes))})
		}
	}
	n := len(f.cfg.Episodes)
	err := each(ctx, runtime.GOMAXPROCS(0), len(fresh)*n, func(ctx context.Context, _, task int) error {
		p := &fresh[task/n]
		cost, err := f.play(ctx, p.at, f.cfg.Episodes[task%n])
		p.costs[task%n] = cost
		return err
	})
	if err != nil {
		return err
	}
	f.tried += len(fresh)
	for i := range fresh {
		p := &fresh[i]
		if f.start.costs != nil {
			p.score = logRatio(p.costs, f.start.costs)
		}
		if f.best.costs == nil || p.score < f.best.score {
			f.best = *p
		}
	}
	if f.cfg.Progress != nil {
		f.cfg.Progress(f.tried, f.cfg.Evaluations)
	}
	return nil
}

// play returns the objective of a candidate on an episode.
func (f *fit) play(ctx context.Context, at []float64, seed uint64) (float64, error) {
	c := f.configuration(at)
	p, err := heuristic.FromConfiguration(c)
	if err != nil {
		return 0, err
	}
	e, err := eval.Play(ctx, f.cfg.Sim, p, seed)
	if err != nil {
		return 0, fmt.Errorf("tune: %v: %w", c, err)
	}
	s, err := e.Schedule.Summarize()
	if err != nil {
		return 0, fmt.Errorf("tune: %v: %w", c, err)
	}
	cost := f.cfg.Objective.Of(&s)
	if !(cost > 0) || math.IsInf(cost, 1) {
		return 0, fmt.Errorf("tune: %v: %s of episode %d is %v, want finite and > 0", c, f.cfg.Objective.Name, seed, cost)
	}
	return cost, nil
}
