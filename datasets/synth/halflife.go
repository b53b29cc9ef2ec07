package synth

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// HalfLives is how fast a model forgets, and why.
type HalfLives struct {
	Arrivals, Jobs time.Duration // -1 is never
	Folds          int           // forecasts that decided; 0 where the window is too short for any
	Distance       float64       // mean KS distance of these forecasts; that of never is Never
	Never          float64
}

// The forecasts that choose half-lives: two weeks, from an origin every week, the
// last six of them that have two weeks before them.
const (
	foldHorizon = 14 * day
	foldStep    = 7 * day
	foldHistory = 14 * day
	maxFolds    = 6
	leastFold   = 100 // jobs, before and after the origin
	mostFold    = 1 << 18
)

// halfLives are the candidates, slowest first; -1 is never.
var halfLives = []time.Duration{-1, 60 * day, 30 * day, 21 * day, 14 * day, 10 * day, 7 * day, 5 * day, 3 * day, 2 * day}

// ChooseHalfLives forecasts parts of a window from what came before them, with
// every pair of half-lives (jobs at least as slow as arrivals), and returns the
// pair with the least mean Kolmogorov–Smirnov distance of gaps, sizes and
// durations, each counting alike. Nothing outside the window is looked at. The
// forecast is the distribution with fading weights itself, not a draw from a
// model: of the gaps between all jobs, and of the sizes and durations of each
// tenant, mixed by the tenants' weights.
//
// Of more than a quarter of a million jobs every second, third, … is looked at.
func ChooseHalfLives(rows []datasets.Row, from, to time.Duration) HalfLives {
	choice := HalfLives{Arrivals: -1, Jobs: -1}
	jobs := observe(rows)
	var folds []*fold
	for origin := to - foldHorizon; origin-from >= foldHistory && len(folds) < maxFolds; origin -= foldStep {
		if f := newFold(jobs, origin); f != nil {
			folds = append(folds, f)
		}
	}
	choice.Folds = len(folds)
	if choice.Folds == 0 {
		return choice
	}
	choice.Distance = math.Inf(1)
	for i, arrivals := range halfLives {
		for _, jobs := range halfLives[:i+1] {
			distance := 0.0
			for _, f := range folds {
				distance += f.distance(arrivals, jobs) / float64(len(folds))
			}
			if arrivals < 0 {
				choice.Never = distance
			}
			// Slower wins unless it is worse by a thousandth.
			if distance < choice.Distance-1e-3 {
				choice.Arrivals, choice.Jobs, choice.Distance = arrivals, jobs, distance
			}
		}
	}
	return choice
}

// observation is what forecasts see of a job.
type observation struct {
	submit            time.Duration
	gap, size, length float64
	tenant            int
}

// observe returns at most mostFold jobs, evenly spaced, with the gap before each.
func observe(rows []datasets.Row) []observation {
	stride := (len(rows) + mostFold - 1) / mostFold
	index := make(map[string]int)
	jobs := make([]observation, 0, len(rows)/max(1, stride)+1)
	for i := 0; i < len(rows); i += stride {
		r := &rows[i]
		k, known := index[r.Tenant]
		if !known {
			k = len(index)
			index[r.Tenant] = k
		}
		o := observation{submit: r.Submit, size: float64(r.GPUs), length: length(r), tenant: k}
		if i > 0 {
			o.gap = (r.Submit - rows[i-1].Submit).Seconds()
		}
		jobs = append(jobs, o)
	}
	return jobs
}

// fold is one forecast: the jobs before an origin and those after it, in the
// orders in which distances are swept.
type fold struct {
	origin               time.Duration
	jobs                 []observation
	first                int // index of the first job after the origin
	tenants              int
	gaps, sizes, lengths sweep
	weights              map[time.Duration][]float64 // [first] by half-life
}

// newFold returns nil where there are too few jobs on either side.
func newFold(jobs []observation, origin time.Duration) *fold {
	at := func(t time.Duration) int {
		i, _ := slices.BinarySearchFunc(jobs, t, func(o observation, t time.Duration) int { return cmp.Compare(o.submit, t) })
		return i
	}
	f := &fold{origin: origin, first: at(origin), weights: make(map[time.Duration][]float64)}
	f.jobs = jobs[:at(origin+foldHorizon)]
	if f.first < leastFold || len(f.jobs)-f.first < leastFold {
		return nil
	}
	gaps, sizes, lengths := make([]float64, len(f.jobs)), make([]float64, len(f.jobs)), make([]float64, len(f.jobs))
	for i, o := range f.jobs {
		gaps[i], sizes[i], lengths[i] = o.gap, o.size, o.length
		f.tenants = max(f.tenants, o.tenant+1)
	}
	f.gaps, f.sizes, f.lengths = newSweep(gaps), newSweep(sizes), newSweep(lengths)
	return f
}

// length is a job's duration in seconds, or its steps where that is not known.
func length(r *datasets.Row) float64 {
	if r.Duration > 0 {
		return r.Duration.Seconds()
	}
	return r.Steps
}

// fade returns the weights of the jobs before the origin.
func (f *fold) fade(halfLife time.Duration) []float64 {
	if w := f.weights[halfLife]; w != nil {
		return w
	}
	w := make([]float64, f.first)
	for i := range w {
		w[i] = fading(f.origin-f.jobs[i].submit, halfLife)
	}
	f.weights[halfLife] = w
	return w
}

// distance returns the mean KS distance of the forecast with these half-lives.
func (f *fold) distance(arrivals, jobs time.Duration) float64 {
	recent, known := f.fade(arrivals), f.fade(jobs)
	active, seen := make([]float64, f.tenants), make([]float64, f.tenants)
	for i := range recent {
		active[f.jobs[i].tenant] += recent[i]
		seen[f.jobs[i].tenant] += known[i]
	}
	mixed := make([]float64, f.first)
	for i := range mixed {
		mixed[i] = known[i] * active[f.jobs[i].tenant] / seen[f.jobs[i].tenant]
	}
	return (f.gaps.ks(recent) + f.sizes.ks(mixed) + f.lengths.ks(mixed)) / 3
}

// sweep is values in ascending order.
type sweep struct {
	values []float64
	order  []int
}

func newSweep(values []float64) sweep {
	s := sweep{values: values, order: make([]int, len(values))}
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(cmp.Compare(values[a], values[b]), cmp.Compare(a, b)) })
	return s
}

// ks returns the Kolmogorov–Smirnov distance of the first len(weights) values,
// with weights, from the other values.
func (s *sweep) ks(weights []float64) float64 {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	each := 1 / float64(len(s.values)-len(weights))
	before, after, distance := 0.0, 0.0, 0.0
	for i, k := range s.order {
		if k < len(weights) {
			before += weights[k] / total
		} else {
			after += each
		}
		if i+1 == len(s.order) || s.values[s.order[i+1]] != s.values[k] {
			distance = max(distance, math.Abs(before-after))
		}
	}
	return distance
}
