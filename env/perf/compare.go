package perf

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// Comparison says how far the analytic model is from the measurements of one
// source: |predicted - measured| / measured over its rows.
type Comparison struct {
	Source string
	Rows   int     // with a measured throughput
	Median float64 // relative error; 0 without rows
	P90    float64
	Bias   float64 // median of predicted / measured - 1
	// Misfits counts rows that ran although the model says that they do not
	// fit; they have no error. OutOfMemory counts rows that did not run, and
	// Foreseen those of them for which the model's plainest plan does not fit
	// either.
	Misfits, OutOfMemory, Foreseen int
}

// Compare holds the analytic model, without any measured rows, against rows,
// and returns one Comparison per Source in ascending order. A row with a plan
// is compared under that plan, others under the model's best.
func (p *Performance) Compare(rows []Measurement) ([]Comparison, error) {
	bySource := make(map[string][]Measurement)
	for i := range rows {
		if err := rows[i].validate(p.cfg.Catalogue); err != nil {
			return nil, fmt.Errorf("compare: row %d: %w", i, err)
		}
		bySource[rows[i].Source] = append(bySource[rows[i].Source], rows[i])
	}
	var all []Comparison
	for _, source := range slices.Sorted(maps.Keys(bySource)) {
		all = append(all, p.compare(source, bySource[source]))
	}
	return all, nil
}

func (p *Performance) compare(source string, rows []Measurement) Comparison {
	c := Comparison{Source: source}
	var errs, ratios []float64
	for i := range rows {
		predicted, fits := p.analytic(&rows[i])
		switch measured := rows[i].StepsPerSecond; {
		case measured == 0:
			c.OutOfMemory++
			if !fits {
				c.Foreseen++
			}
		case predicted == 0:
			c.Misfits++
		default:
			errs = append(errs, math.Abs(predicted-measured)/measured)
			ratios = append(ratios, predicted/measured)
		}
	}
	c.Rows = len(errs)
	if c.Rows > 0 {
		c.Median, c.P90 = quantile(errs, 0.5), quantile(errs, 0.9)
		c.Bias = quantile(ratios, 0.5) - 1
	}
	return c
}

// analytic returns the steps/s that the model predicts for r, 0 where no plan
// fits, and whether the plan of r fits: plain data parallelism without
// accumulation where r has none.
func (p *Performance) analytic(r *Measurement) (stepsPerSecond float64, fits bool) {
	m, _ := p.cfg.Catalogue.Model(r.Model)
	g, _ := p.cfg.Catalogue.GPU(r.GPUType)
	q := &query{m: m, g: g, memory: g.MemoryGiB * gib, gpus: r.GPUs, nodes: max(r.Nodes, 1), global: r.Batch * r.GPUs}
	if r.Plan != (env.Plan{}) {
		return float64(r.GPUs) / q.iteration(&r.Plan), q.fits(&r.Plan)
	}
	plain := plain(r)
	if _, seconds, ok := q.best(); ok {
		stepsPerSecond = float64(r.GPUs) / seconds
	}
	return stepsPerSecond, q.fits(&plain)
}

// plain returns the plan of r without any sharing but of the batch.
func plain(r *Measurement) env.Plan {
	return env.Plan{Data: r.GPUs, Tensor: 1, Pipeline: 1, MicroBatch: r.Batch}
}

// quantile returns the q-quantile of x, which it sorts: the smallest value with
// at least that share of x at or below it.
func quantile(x []float64, q float64) float64 {
	slices.Sort(x)
	return x[max(0, int(math.Ceil(q*float64(len(x))))-1)]
}
