package synth

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// interval is a gap of a stream.
type interval struct {
	from, to time.Duration
	weight   float64
	job      int // index of the job that ends it; len(rows) at the end of the window
	// Set by fitGaps.
	class, level int
}

// gaps returns the gaps of a stream, in order. The silence before the first job
// and that after the last are gaps, too, where they are longer than the mean one:
// without them a tenant that has gone, or that has just come, would seem to be as
// busy as ever. The weight of a gap is the mean of the weights of its instants,
// so that Σ weight / Σ weight·gap is the number of jobs over the time, both with
// weights that fade.
func (f *fitter) gaps(rows []*datasets.Row) []interval {
	var gaps []interval
	add := func(from, to time.Duration, job int) {
		gaps = append(gaps, interval{from: from, to: to, job: job, weight: f.meanWeight(from, to)})
	}
	first, last := rows[0].Submit, rows[len(rows)-1].Submit
	mean := (f.cfg.To - f.cfg.From) / time.Duration(len(rows)+1)
	if first-f.cfg.From > mean || len(rows) == 1 {
		add(f.cfg.From, first, 0)
	}
	for i := 1; i < len(rows); i++ {
		add(rows[i-1].Submit, rows[i].Submit, i)
	}
	if f.cfg.To-last > mean || len(rows) == 1 {
		add(last, f.cfg.To, len(rows))
	}
	return gaps
}

// meanWeight returns the mean weight of the instants of an interval.
func (f *fitter) meanWeight(from, to time.Duration) float64 {
	h := f.cfg.ArrivalsHalfLife
	if h <= 0 {
		return 1
	}
	end := fading(f.cfg.To-to, h)
	x := math.Ln2 * float64(to-from) / float64(h)
	if x < 1e-9 {
		return end
	}
	return end * -math.Expm1(-x) / x // (1/g)·∫ 2^(−age/h), of which end is the largest
}

// steadies are the candidates for Stream.SteadyFor, seconds: always (a year),
// an hour, a quarter of an hour, a minute, never.
var steadies = []float64{365 * 86400, 3600, 900, 60, 0}

// steady returns the candidate under which the gaps are most likely, the first of
// equals. The likelihood is that of a density estimated from the gaps themselves:
// with the activity λ and the gap x(g), whose density is f, it is Σ log f(x) +
// log λ(end of the gap), the second where the gap outlasts the steady part. The
// mean of −log f is estimated by entropy.
func (f *fitter) steady(gaps []interval) float64 {
	if len(gaps) < perClass || len(f.clock.ByHour) == 0 {
		return steadies[0]
	}
	best, most := steadies[0], math.Inf(-1)
	for _, steady := range steadies {
		x := make([]float64, len(gaps))
		likelihood := 0.0
		for i, g := range gaps {
			x[i] = f.calendar.gap(g.from, g.to, steady)
			if (g.to - g.from).Seconds() > steady {
				h, d, _ := f.calendar.hourAt(g.to - 1)
				likelihood += math.Log(f.calendar.hour[h]*f.calendar.day[d]) / float64(len(gaps))
			}
		}
		// Not by a hair: each candidate has the same number of parameters, but
		// the estimate of the entropy is noisy.
		if likelihood -= entropy(x, f.clock.grain()); likelihood > most+0.01 {
			best, most = steady, likelihood
		}
	}
	return best
}

// entropy estimates the differential entropy of a sample from its spacings of
// order m = √n (Vasicek, JRSS B 38, 1976): the mean of log(n/2m·(x[i+m] − x[i−m])),
// where no spacing counts as less than the grain. It sorts x.
func entropy(x []float64, grain float64) float64 {
	slices.Sort(x)
	n := len(x)
	m := int(math.Sqrt(float64(n)))
	sum := 0.0
	for i := range x {
		low, high := max(0, i-m), min(n-1, i+m)
		sum += math.Log(float64(n) / float64(high-low) * max(x[high]-x[low], grain))
	}
	return sum / float64(n)
}

// fitGaps fits the classes of gaps and the chain through them.
func (f *fitter) fitGaps(s *Stream, gaps []interval) {
	grain := f.clock.grain()
	sizes := make([]float64, len(gaps))
	sample := make([]weighted, len(gaps))
	for i, g := range gaps {
		sizes[i] = f.calendar.gap(g.from, g.to, s.SteadyFor)
		sample[i] = weighted{sizes[i], g.weight}
	}
	bounds := cuts(sample, min(maxClasses, max(1, len(gaps)/perClass)))
	members := make([][]weighted, len(bounds)+1)
	for i := range gaps {
		gaps[i].class, _ = slices.BinarySearch(bounds, sizes[i])
		members[gaps[i].class] = append(members[gaps[i].class], weighted{sizes[i], gaps[i].weight})
	}
	for _, m := range members {
		s.Gaps = append(s.Gaps, GapClass{Seconds: sketch(m, grain)})
	}
	f.fitLevels(s, gaps, sizes)
	if len(s.Gaps) > 1 {
		s.Next = transitions(gaps, len(s.Busy)+1, len(s.Gaps))
	}
}

// cuts returns bounds, ascending, that divide a sample into at most n classes of
// about equal weight; a class holds what is at most its bound. The last class has
// none. It sorts the sample.
func cuts(sample []weighted, n int) []float64 {
	slices.SortFunc(sample, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for _, s := range sample {
		total += s.weight
	}
	var bounds []float64
	sum := 0.0
	largest := sample[len(sample)-1].value
	for i, s := range sample {
		sum += s.weight
		if i+1 < len(sample) && sample[i+1].value == s.value {
			continue
		}
		if s.value < largest && len(bounds) < n-1 && sum >= total*float64(len(bounds)+1)/float64(n) {
			bounds = append(bounds, s.value)
			for len(bounds) < n-1 && sum >= total*float64(len(bounds)+1)/float64(n) {
				n-- // an atom that fills more than one class
			}
		}
	}
	return bounds
}

// fitLevels sets the levels of activity, and that of each gap: the one before it.
func (f *fitter) fitLevels(s *Stream, gaps []interval, sizes []float64) {
	grain := f.clock.grain()
	recent := make([]weighted, len(gaps))
	mean := math.Log(sizes[0] + grain)
	for i := range gaps {
		recent[i] = weighted{mean, gaps[i].weight}
		mean = memory*mean + (1-memory)*math.Log(sizes[i]+grain)
	}
	if levels := min(maxLevels, len(gaps)/perLevel); levels > 1 {
		for _, bound := range cuts(slices.Clone(recent), levels) {
			s.Busy = append(s.Busy, max(0, round(math.Exp(bound)-grain, 4)))
		}
		s.Busy = slices.Compact(s.Busy)
	}
	for i := range gaps {
		gaps[i].level = s.level(recent[i].value, grain)
	}
}

// transitions returns the weights of the next class by level and last class. Rows
// are shrunk: that of a level to that of the class at all levels, with the weight
// of shrink gaps, and that to the shares of the classes.
func transitions(gaps []interval, levels, classes int) [][]float64 {
	const shrink = 2
	share := make([]float64, classes)
	byClass := table(classes, classes)
	byLevel := table(levels*classes, classes)
	total := 0.0
	for i := range gaps {
		share[gaps[i].class] += gaps[i].weight
		total += gaps[i].weight
		if i > 0 {
			byClass[gaps[i-1].class][gaps[i].class] += gaps[i].weight
			byLevel[gaps[i].level*classes+gaps[i-1].class][gaps[i].class] += gaps[i].weight
		}
	}
	for c := range share {
		share[c] /= total
	}
	for _, row := range byClass {
		blend(row, share, shrink)
	}
	for i, row := range byLevel {
		blend(row, byClass[i%classes], shrink)
		for c := range row {
			row[c] = round(row[c], 4)
		}
	}
	return byLevel
}

func table(rows, columns int) [][]float64 {
	t := make([][]float64, rows)
	for i := range t {
		t[i] = make([]float64, columns)
	}
	return t
}

// blend makes a row of weights into probabilities, after adding n times prior.
func blend(row, prior []float64, n float64) {
	total := 0.0
	for i := range row {
		row[i] += n * prior[i]
		total += row[i]
	}
	for i := range row {
		row[i] /= total
	}
}
