package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"text/tabwriter"

	policies "github.com/yardmaster/yardmaster/agent/gavel"
	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// continuousFile holds the mean completion times at a range of loads that Gavel's
// authors plot (OSDI 2020, figures 8 and 9: continuous traces on 36 GPUs of each
// type), by policy.
const continuousFile = "expected_continuous.csv"

// experiments are the two of them, with the stream of jobs of each.
var experiments = []struct{ name, about, stream string }{
	{"continuous_jobs", "jobs of one GPU", "continuous/single_seed0.csv"},
	{"continuous_jobs_multigpu", "jobs of 1 to 8 GPUs", "continuous/multi_seed0.csv"},
}

// continuousPolicies are those that are played here, by the names of the file:
// without co-location, which env/gavel does not model, and without the plain
// FIFO, which sends every job to a V100. Blind comes before its aware form.
var continuousPolicies = []struct {
	name string
	make func() gavel.Policy
}{
	{"fifo_perf", func() gavel.Policy { return new(policies.FIFO) }},
	{"max_min_fairness", func() gavel.Policy { return &policies.MaxMinFairness{Blind: true} }},
	{"max_min_fairness_perf", func() gavel.Policy { return new(policies.MaxMinFairness) }},
	{"finish_time_fairness", func() gavel.Policy { return &policies.FinishTimeFairness{Blind: true} }},
	{"finish_time_fairness_perf", func() gavel.Policy { return new(policies.FinishTimeFairness) }},
	{"allox", func() gavel.Policy { return new(policies.AlloX) }},
}

// awareForms pairs a policy that is blind to GPU types with the one that is not.
var awareForms = [][2]string{
	{"max_min_fairness", "max_min_fairness_perf"},
	{"finish_time_fairness", "finish_time_fairness_perf"},
}

// ContinuousConfig says how much of the comparison is made. The zero value is all
// of it.
type ContinuousConfig struct {
	MaxLoad float64  // jobs per hour; 0 is no limit
	Every   int      // take every so manieth load; 0 is 1
	Only    []string // policies; none is all
	Report  func(done, total int)
}

// Point is one policy at one load: the mean completion time in hours.
type Point struct {
	Experiment  string  `json:"experiment"`
	JobsPerHour float64 `json:"jobs_per_hour"`
	Policy      string  `json:"policy"`
	Ours        float64 `json:"ours_h"`
	Theirs      float64 `json:"theirs_h"`
}

// Continuous plays Gavel's policies at the loads of its figures, on its stream of
// jobs, and returns our mean completion times beside the published ones, ordered
// by experiment, load and policy. The published ones were made with an earlier
// state of Gavel's scheduler, so that order and ratios are compared, not values:
// [Orders] and [Gains] do so. A blind program's answer is one draw of many (see
// [Draws]).
func Continuous(ctx context.Context, data fs.FS, cfg ContinuousConfig) ([]Point, error) {
	published, err := load(data, continuousFile, files.ReadContinuous)
	if err != nil {
		return nil, fmt.Errorf("verify: gavel: %w", err)
	}
	points := choosePoints(published, &cfg)
	if len(points) == 0 {
		return nil, errors.New("verify: gavel: " + continuousFile + " has no point to compare")
	}
	l := newLoader(data)
	configs := make([]gavel.Config, len(points))
	for i := range points {
		if configs[i], err = continuousConfig(l, &points[i]); err != nil {
			return nil, fmt.Errorf("verify: gavel: %w", err)
		}
	}
	errs := make([]error, len(points))
	var next, done atomic.Int64
	var mu sync.Mutex // Report is called by one goroutine at a time
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(points)) {
		wg.Go(func() {
			for {
				// The last points are those of the highest loads, which take longest.
				i := len(points) - int(next.Add(1))
				if i < 0 || ctx.Err() != nil {
					return
				}
				points[i].Ours, errs[i] = meanJCT(ctx, configs[i])
				n := int(done.Add(1))
				if cfg.Report != nil {
					mu.Lock()
					cfg.Report(n, len(points))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return points, errors.Join(append(errs, ctx.Err())...)
}

// choosePoints lists what is to be played.
func choosePoints(published []files.Continuous, cfg *ContinuousConfig) []Point {
	var points []Point
	for _, e := range experiments {
		var loads []float64
		for _, p := range published {
			if p.Experiment == e.name && !slices.Contains(loads, p.JobsPerHour) {
				loads = append(loads, p.JobsPerHour)
			}
		}
		slices.Sort(loads)
		for n, rate := range loads {
			if cfg.Every > 1 && n%cfg.Every != 0 || cfg.MaxLoad > 0 && rate > cfg.MaxLoad {
				continue
			}
			for _, policy := range continuousPolicies {
				if len(cfg.Only) > 0 && !slices.Contains(cfg.Only, policy.name) {
					continue
				}
				for _, p := range published {
					if p.Experiment == e.name && p.JobsPerHour == rate && p.Policy == policy.name && p.Metric == "avg_jct_h_seed0" {
						points = append(points, Point{e.name, rate, policy.name, math.NaN(), p.Value})
					}
				}
			}
		}
	}
	return points
}

// continuousConfig returns the simulation of a point.
func continuousConfig(l *loader, p *Point) (gavel.Config, error) {
	ref := files.Reference{Interarrival: 3600 / p.JobsPerHour, GPUs: []int{publishedGPUs, publishedGPUs, publishedGPUs}, Throughputs: publishedOracle, First: publishedFirst, End: publishedEnd}
	for _, e := range experiments {
		if e.name == p.Experiment {
			ref.Trace = e.stream
		}
	}
	cfg, err := l.config(&ref)
	if err != nil {
		return cfg, err
	}
	for _, policy := range continuousPolicies {
		if policy.name == p.Policy {
			cfg.Policy = policy.make()
		}
	}
	return cfg, nil
}

// meanJCT plays a simulation and returns the mean of its window in hours.
func meanJCT(ctx context.Context, cfg gavel.Config) (float64, error) {
	r, err := play(ctx, cfg)
	if err != nil {
		return 0, err
	}
	s, err := r.Summarize(cfg.Window)
	return s.Mean / 3600, err
}

// Gain is how much longer jobs take at one load under a policy that is blind to
// GPU types than under its aware form, as a ratio.
type Gain struct {
	Experiment  string  `json:"experiment"`
	JobsPerHour float64 `json:"jobs_per_hour"`
	Policy      string  `json:"policy"` // the blind one
	Ours        float64 `json:"ours"`
	Theirs      float64 `json:"theirs"`
}

// Gains returns the gains at all loads where both forms were played.
func Gains(points []Point) []Gain {
	var gains []Gain
	for i := range points {
		for _, pair := range awareForms {
			if points[i].Policy != pair[0] {
				continue
			}
			blind := &points[i]
			if aware := find(points, blind, pair[1]); aware != nil {
				gains = append(gains, Gain{blind.Experiment, blind.JobsPerHour, pair[0], blind.Ours / aware.Ours, blind.Theirs / aware.Theirs})
			}
		}
	}
	return gains
}

// find returns the point of another policy at the load of p, or nil.
func find(points []Point, p *Point, policy string) *Point {
	i := slices.IndexFunc(points, func(q Point) bool {
		return q.Experiment == p.Experiment && q.JobsPerHour == p.JobsPerHour && q.Policy == policy
	})
	if i < 0 {
		return nil
	}
	return &points[i]
}

// apart is the ratio from which on two published means count as different: the
// later changes to Gavel move single means by up to this much.
const apart = 1.1

// Order is a pair of policies at one load whose published means are apart.
type Order struct {
	Experiment    string
	JobsPerHour   float64
	Better, Worse string  // by the published means
	Ours, Theirs  float64 // the worse one's mean over the better one's
}

// Holds reports whether the better one is better here, too.
func (o *Order) Holds() bool { return o.Ours > 1 }

// Orders returns all pairs of policies whose published means are apart.
func Orders(points []Point) []Order {
	var orders []Order
	for i := range points {
		for k := range points {
			a, b := &points[i], &points[k]
			if a.Experiment == b.Experiment && a.JobsPerHour == b.JobsPerHour && b.Theirs > apart*a.Theirs {
				orders = append(orders, Order{a.Experiment, a.JobsPerHour, a.Policy, b.Policy, b.Ours / a.Ours, b.Theirs / a.Theirs})
			}
		}
	}
	return orders
}

// inOrder is the part of the orders that has to hold. Published means that are far
// apart come from overloaded clusters too, where a run's mean depends on when it
// ends.
const inOrder = 0.95

// ContinuousMisses returns an error that names what does not hold, or nil: the
// aware form of a policy beats the blind one at every load, and pairs of policies
// are in the published order, all but a few.
func ContinuousMisses(points []Point) error {
	var errs []error
	for _, g := range Gains(points) {
		if g.Ours <= 1 {
			errs = append(errs, fmt.Errorf("verify: gavel: %s at %g jobs/h: %s takes %.3g times as long as its aware form, want more than 1 (published %.3g)", g.Experiment, g.JobsPerHour, g.Policy, g.Ours, g.Theirs))
		}
	}
	orders := Orders(points)
	var broken []error
	for i := range orders {
		if o := &orders[i]; !o.Holds() {
			broken = append(broken, fmt.Errorf("verify: gavel: %s at %g jobs/h: %s takes %.3g times as long as %s (published %.3g)", o.Experiment, o.JobsPerHour, o.Worse, o.Ours, o.Better, o.Theirs))
		}
	}
	if float64(len(broken)) > (1-inOrder)*float64(len(orders)) {
		errs = append(errs, fmt.Errorf("verify: gavel: %d of %d pairs of policies are in another order than published, want at most %.0f %%: %w", len(broken), len(orders), 100*(1-inOrder), errors.Join(broken...)))
	}
	return errors.Join(errs...)
}

// WriteContinuous writes a table for each experiment: a line for each load with
// our mean completion time of every policy and, in brackets, the published one;
// then the ratios of blind to aware forms.
func WriteContinuous(w io.Writer, points []Point) error {
	c := continuousTable{points, Gains(points), Orders(points)}
	for _, e := range experiments {
		var loads []float64
		for i := range points {
			if points[i].Experiment == e.name && !slices.Contains(loads, points[i].JobsPerHour) {
				loads = append(loads, points[i].JobsPerHour)
			}
		}
		if len(loads) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s, mean completion time in hours: ours (published)\n", e.about)
		if err := c.write(w, e.name, loads); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	holds, of := c.held(func(*Order) bool { return true })
	_, err := fmt.Fprintf(w, "order: pairs of policies whose published means differ by more than %.0f %% and are in the same order here, %d of %d in all\nblind/aware: how much longer jobs take under the form that is blind to GPU types\n", 100*(apart-1), holds, of)
	return err
}

// continuousTable is what WriteContinuous writes.
type continuousTable struct {
	points []Point
	gains  []Gain
	orders []Order
}

// write writes the lines of one experiment.
func (c *continuousTable) write(w io.Writer, experiment string, loads []float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "jobs/h\t")
	for _, policy := range continuousPolicies {
		fmt.Fprintf(t, "%s\t", policy.name)
	}
	fmt.Fprintln(t, "blind/aware max-min\tblind/aware ftf\torder\t")
	for _, rate := range loads {
		fmt.Fprint(t, strconv.FormatFloat(rate, 'g', -1, 64), "\t")
		at := Point{Experiment: experiment, JobsPerHour: rate}
		for _, policy := range continuousPolicies {
			cell := "-"
			if p := find(c.points, &at, policy.name); p != nil {
				cell = fmt.Sprintf("%.2f (%.2f)", p.Ours, p.Theirs)
			}
			fmt.Fprint(t, cell, "\t")
		}
		for _, pair := range awareForms {
			cell := "-"
			for _, g := range c.gains {
				if g.Experiment == experiment && g.JobsPerHour == rate && g.Policy == pair[0] {
					cell = fmt.Sprintf("%.2f (%.2f)", g.Ours, g.Theirs)
				}
			}
			fmt.Fprint(t, cell, "\t")
		}
		holds, of := c.held(func(o *Order) bool { return o.Experiment == experiment && o.JobsPerHour == rate })
		fmt.Fprintf(t, "%d of %d\t\n", holds, of)
	}
	return t.Flush()
}

// held counts the orders that hold among those that are meant.
func (c *continuousTable) held(meant func(*Order) bool) (holds, of int) {
	for i := range c.orders {
		if o := &c.orders[i]; meant(o) {
			of++
			if o.Holds() {
				holds++
			}
		}
	}
	return holds, of
}
