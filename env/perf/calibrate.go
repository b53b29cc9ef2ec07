package perf

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// Calibrate returns a copy of c whose figures are fitted to rows: of each GPU
// type among them the rate that its arithmetic, its kernels, its links, its
// network and its host's memory achieve, of each model its efficiency, its
// kernels, the host's work and how much of the gradient exchange is hidden. A
// part of the efficiency is common to all models, also to those that no row is
// of: it is how the code runs. Other figures, GPU types and models stay. Rows that ran out of memory, that do not fit as the model sees
// it, or that are modelled are not fitted to.
//
// The fit is the maximum of a posterior: least squares of log(predicted /
// measured), where errors beyond outlier count linearly (Huber, 1964), and of
// the logarithms of what is fitted, relative to c, each in units of its
// prior's width. So a figure that the rows do not tell stays at c's, and one
// row moves what it can tell most of all. The Levenberg-Marquardt steps, their
// number and the order of all sums are fixed: equal rows, in any order, give the
// same catalogue.
func (c *Catalogue) Calibrate(rows []Measurement) (*Catalogue, error) {
	if err := validateAll(rows, c); err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	f := newFit(c, rows)
	if len(f.rows) > 0 {
		f.search()
	}
	next := c.clone()
	for i := range f.gpus {
		next.gpus[f.gpus[i].Name] = f.gpus[i]
	}
	for name, m := range next.models {
		m.Efficiency = min(1, m.Efficiency*math.Exp(f.common))
		next.models[name] = m
	}
	for i := range f.models {
		next.models[f.models[i].Name] = f.models[i]
	}
	return next, nil
}

const (
	// noise is the standard deviation of a measured log throughput around a
	// perfect model; outlier is where an error stops counting by its square.
	noise   = 0.1
	outlier = 0.3
)

// factor is one fitted figure: it is changed by the factor exp(x).
type factor struct {
	gpu, model int     // index of what it belongs to, or -1; both -1 belongs to all
	width      float64 // standard deviation of x before anything is measured
	apply      func(f *fit, x float64)
}

// observation is one row of a fit.
type observation struct {
	gpu, model int
	query      query
	plan       env.Plan
	log        float64 // of the measured iterations/s
}

// fit is the part of a catalogue that some rows tell of.
type fit struct {
	start struct { // as they were
		gpus   []GPU
		models []Model
	}
	gpus    []GPU
	models  []Model
	common  float64   // log of the efficiency's factor common to all models
	own     []float64 // log of that of each model
	factors []factor
	rows    []observation
}

// setEfficiency applies the factors of a model's efficiency.
func (f *fit) setEfficiency(i int) {
	f.models[i].Efficiency = min(1, f.start.models[i].Efficiency*math.Exp(f.common+f.own[i]))
}

func newFit(c *Catalogue, all []Measurement) *fit {
	rows := slices.DeleteFunc(slices.Clone(all), func(r Measurement) bool { return r.StepsPerSecond == 0 || r.Modelled })
	slices.SortFunc(rows, compareRows)
	gpus, models := make(map[string]int), make(map[string]int)
	for i := range rows {
		gpus[rows[i].GPUType], models[rows[i].Model] = 0, 0
	}
	f := new(fit)
	f.factors = append(f.factors, commonFactor())
	for i, name := range slices.Sorted(maps.Keys(gpus)) {
		g, _ := c.GPU(name)
		gpus[name], f.start.gpus = i, append(f.start.gpus, *g)
		f.factors = append(f.factors, gpuFactors(i)...)
	}
	for i, name := range slices.Sorted(maps.Keys(models)) {
		m, _ := c.Model(name)
		models[name], f.start.models = i, append(f.start.models, *m)
		f.factors = append(f.factors, modelFactors(i)...)
	}
	f.gpus, f.models, f.own = slices.Clone(f.start.gpus), slices.Clone(f.start.models), make([]float64, len(models))
	for i := range rows {
		f.observe(&rows[i], gpus[rows[i].GPUType], models[rows[i].Model], c)
	}
	return f
}

// compareRows is a total order of measurements, but for their source.
func compareRows(a, b Measurement) int {
	if c := comparePoints(a, b); c != 0 {
		return c
	}
	switch {
	case a.StepsPerSecond < b.StepsPerSecond:
		return -1
	case a.StepsPerSecond > b.StepsPerSecond:
		return 1
	}
	return 0
}

// observe adds r, unless the model has no plan for it. A plan that is not known
// is chosen once, by the figures from which the fit starts.
func (f *fit) observe(r *Measurement, gpu, model int, c *Catalogue) {
	q := r.query(c)
	plan, ok := q.complete(r.Plan)
	if !ok {
		return
	}
	q.g, q.m = &f.gpus[gpu], &f.models[model]
	f.rows = append(f.rows, observation{gpu, model, *q, plan, math.Log(r.StepsPerSecond / float64(r.GPUs))})
}

// commonFactor is that of the efficiency of all models: how the code runs.
func commonFactor() factor {
	return factor{-1, -1, 0.5, func(f *fit, x float64) {
		f.common = x
		for i := range f.models {
			f.setEfficiency(i)
		}
	}}
}

// gpuFactors returns what is fitted of GPU type i. Their widths say how far such
// figures lie from data sheets as a rule: arithmetic and kernels by a third,
// what collectives reach of a link or a network, and an optimizer of the host's
// memory, by a factor of two.
func gpuFactors(i int) []factor {
	return []factor{
		{i, -1, 0.3, func(f *fit, x float64) {
			g, s := &f.gpus[i], &f.start.gpus[i]
			g.Achievable = min(1, s.Achievable*math.Exp(x))
			g.AchievableTensor = min(1, s.AchievableTensor*math.Exp(x))
		}},
		{i, -1, 0.3, func(f *fit, x float64) { f.gpus[i].KernelUS = f.start.gpus[i].KernelUS * math.Exp(x) }},
		{i, -1, 0.7, func(f *fit, x float64) {
			f.gpus[i].LinkEfficiency = min(1, f.start.gpus[i].LinkEfficiency*math.Exp(x))
		}},
		{i, -1, 0.7, func(f *fit, x float64) {
			f.gpus[i].NetworkEfficiency = min(1, f.start.gpus[i].NetworkEfficiency*math.Exp(x))
		}},
		{i, -1, 0.7, func(f *fit, x float64) { f.gpus[i].HostMemoryGBs = f.start.gpus[i].HostMemoryGBs * math.Exp(x) }},
	}
}

// modelFactors returns what is fitted of model i: least is known of the host's
// work, most of the number of kernels, which can be counted. Of an efficiency,
// known to a factor of two, a half of the variance is common to all.
func modelFactors(i int) []factor {
	return []factor{
		{-1, i, 0.5, func(f *fit, x float64) {
			f.own[i] = x
			f.setEfficiency(i)
		}},
		{-1, i, 0.4, func(f *fit, x float64) { f.models[i].Kernels = f.start.models[i].Kernels * math.Exp(x) }},
		{-1, i, 1.5, func(f *fit, x float64) {
			// From 1 ms where nothing was known, so that a factor can move it.
			s := f.start.models[i].HostMS
			f.models[i].HostMS = max(0, s+max(s, 1)*math.Expm1(x))
		}},
		{-1, i, 1, func(f *fit, x float64) {
			s := f.start.models[i].Overlap
			f.models[i].Overlap = max(1, min(maxOverlap, s+max(s-1, 0.05)*math.Expm1(x)))
		}},
	}
}
