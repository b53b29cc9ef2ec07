package perf

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// Comparison says how far predictions are from the measurements of one source:
// |predicted - measured| / measured over its rows.
type Comparison struct {
	Source string
	Rows   int     // with a measured throughput and a prediction
	Median float64 // relative error; 0 without rows
	P90    float64
	Bias   float64 // median of predicted / measured - 1
	// Misfits counts rows that ran although the model says that they do not
	// fit; they have no error. OutOfMemory counts rows that did not run, and
	// Foreseen those of them for which their plan, or where it is not known the
	// plainest, does not fit either.
	Misfits, OutOfMemory, Foreseen int
	// Unknown counts rows left out because no row of their model on their GPU
	// type was left to learn from; 0 where nothing was held out.
	Unknown int
	// Modelled says that the source computed its rows from measured parts.
	Modelled bool
}

// Compare holds the analytic model, without any measured rows, against rows,
// and returns one Comparison per Source in ascending order; modelled rows of a
// source have one of their own. A row with a plan is compared under that plan,
// others under the model's best.
func (p *Performance) Compare(rows []Measurement) ([]Comparison, error) {
	if err := validateAll(rows, p.cfg.Catalogue); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	scores := make(scores)
	for i := range rows {
		predicted, fits := p.analytic(&rows[i])
		scores.add(&rows[i], predicted, fits)
	}
	return scores.comparisons(), nil
}

func validateAll(rows []Measurement, c *Catalogue) error {
	for i := range rows {
		if err := rows[i].validate(c); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// analytic returns the steps/s that the model predicts for r, 0 where no plan
// fits, and whether the plan of r fits: plain data parallelism without
// accumulation where r has none.
func (p *Performance) analytic(r *Measurement) (stepsPerSecond float64, fits bool) {
	q := r.query(p.cfg.Catalogue)
	plan, ok := q.complete(r.Plan)
	if ok {
		stepsPerSecond = float64(r.GPUs) / q.iteration(&plan)
	}
	if r.Plan == (env.Plan{}) {
		plan, ok = env.Plan{Data: r.GPUs, Tensor: 1, Pipeline: 1, MicroBatch: ceilDiv(q.global, q.gpus)}, true
	}
	return stepsPerSecond, ok && q.fits(&plan)
}

// corrected returns the steps/s of r, under its plan where it has one, that the
// analytic model predicts as corrected by the measured rows, 0 where no plan
// fits, and whether r's plan does.
func (p *Performance) corrected(r *Measurement) (stepsPerSecond float64, fits bool) {
	_, fits = p.analytic(r)
	q := r.query(p.cfg.Catalogue)
	if r.Plan == (env.Plan{}) {
		if _, samples, ok := p.predict(q); ok {
			stepsPerSecond = samples / float64(q.global) * float64(r.GPUs)
		}
		return stepsPerSecond, fits
	}
	plan, ok := q.complete(r.Plan)
	if !ok {
		return 0, fits
	}
	rows := p.measured[place{r.Model, r.GPUType}]
	samples := scaled(rows, q, &plan, float64(q.global)/q.iteration(&plan))
	return samples / float64(q.global) * float64(r.GPUs), fits
}

// score gathers the errors of one source's rows.
type score struct {
	Comparison
	errs, ratios []float64
}

// scoreKey separates what a source measured from what it computed.
type scoreKey struct {
	source   string
	modelled bool
}

type scores map[scoreKey]*score

func (s scores) of(r *Measurement) *score {
	k := scoreKey{r.Source, r.Modelled}
	if s[k] == nil {
		s[k] = &score{Comparison: Comparison{Source: r.Source, Modelled: r.Modelled}}
	}
	return s[k]
}

// add counts r, whose predicted steps/s are 0 where no plan fits.
func (s scores) add(r *Measurement, predicted float64, fits bool) {
	c := s.of(r)
	switch measured := r.StepsPerSecond; {
	case measured == 0:
		c.OutOfMemory++
		if !fits {
			c.Foreseen++
		}
	case predicted == 0:
		c.Misfits++
	default:
		c.errs = append(c.errs, math.Abs(predicted-measured)/measured)
		c.ratios = append(c.ratios, predicted/measured)
	}
}

// comparisons returns one Comparison per source, ordered by name, what was
// measured before what was modelled.
func (s scores) comparisons() []Comparison {
	keys := slices.SortedFunc(maps.Keys(s), func(a, b scoreKey) int {
		switch {
		case a.source < b.source || a.source == b.source && !a.modelled && b.modelled:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	var all []Comparison
	for _, k := range keys {
		all = append(all, s[k].finish())
	}
	return all
}

// pooled returns the comparison of all measured rows together.
func (s scores) pooled() Comparison {
	var all score
	for _, c := range s.comparisons() { // in order, so that sums are the same each time
		k := s[scoreKey{c.Source, c.Modelled}]
		if k.Modelled {
			continue
		}
		all.Misfits += k.Misfits
		all.OutOfMemory += k.OutOfMemory
		all.Foreseen += k.Foreseen
		all.Unknown += k.Unknown
		all.errs = append(all.errs, k.errs...)
		all.ratios = append(all.ratios, k.ratios...)
	}
	return all.finish()
}

func (c *score) finish() Comparison {
	c.Rows = len(c.errs)
	if c.Rows > 0 {
		c.Median, c.P90 = quantile(c.errs, 0.5), quantile(c.errs, 0.9)
		c.Bias = quantile(c.ratios, 0.5) - 1
	}
	return c.Comparison
}

// quantile returns the q-quantile of x, which it sorts: the smallest value with
// at least that share of x at or below it.
func quantile(x []float64, q float64) float64 {
	slices.Sort(x)
	return x[max(0, int(math.Ceil(q*float64(len(x))))-1)]
}
