// Package oracle states the solver's problems as general linear programs, so that
// other solvers can be asked for their optimum: HiGHS, CLP and GLPK by way of MPS
// files (cmd/lporacle), gonum's simplex in tests. It shares nothing with package
// agent/lp/simplex but the Problem.
//
// # Units
//
// Rows and columns are in those of the Problem, but for the rows of the jobs'
// rates, which are divided by what the job needs: in other solvers' absolute
// tolerances, rates that differ by decades would be lost.
package oracle

import (
	"math"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// Model is a linear program: minimise Cost·x with Low <= A·x <= High for every
// row and x >= 0.
type Model struct {
	Cost []float64
	Rows []Row
	// Whole says that all x are whole numbers.
	Whole bool
	// Unit times the least Cost·x is the objective of the Problem; below 0 where that
	// is the highest. Costs are scaled such that the answer given is about 1:
	// solvers' tolerances are absolute.
	Unit float64
	// Size is what the objective is a difference of: differences that are small
	// beside it are rounding.
	Size float64
	// lags are the jobs of a MaxMin with lags: their columns z are in units of the
	// rates that r's level needs.
	lags []lagging
}

// lagging is a job whose level is rate / (target + lag·rate).
type lagging struct{ target, lag, needed float64 }

// Row is one row of a Model.
type Row struct {
	Terms     []Term
	Low, High float64 // -Inf and +Inf are none
}

// Term is one coefficient of a Row.
type Term struct {
	Column int
	Value  float64
}

// Objective returns the objective of the Problem that belongs to an optimum of m.
func (m *Model) Objective(optimum float64) float64 {
	if m.lags == nil {
		return m.Unit * optimum
	}
	least := math.Inf(1)
	for _, l := range m.lags {
		rate := -optimum * l.needed
		least = min(least, rate/(l.target+l.lag*rate))
	}
	return least
}

// FromProblem returns p, which is valid, as a Model. Two of the objectives are not
// linear and need r, an answer to p:
//
//   - MaxMin with lags asks by which factor every job's rate can exceed what r's
//     level needs, and Objective returns the level that these rates reach.
//   - Total has f/rate replaced by tangents, at r's rates and at others beside
//     them. Its optimum is a lower bound of p's, and equal to r's objective where
//     that is the least.
//
// Without columns for candidates that cannot run, it has one for each other, in
// their order, and then those for what the jobs reach.
func FromProblem(p *simplex.Problem, r *simplex.Result) *Model {
	b := &builder{p: p, r: r, m: &Model{}}
	b.columns()
	b.capacity()
	switch p.Objective {
	case simplex.Sum:
		b.sum()
	case simplex.MaxMin:
		b.maxMin()
	default:
		b.total()
	}
	return b.m
}

type builder struct {
	p      *simplex.Problem
	r      *simplex.Result
	m      *Model
	column []int     // [M] of the candidates, -1 if they cannot run
	rate   []float64 // [N] of r
}

// columns makes a column of every candidate that can run, and a row of every job.
func (b *builder) columns() {
	p := b.p
	b.column = make([]int, len(p.Rate))
	b.rate = make([]float64, p.Jobs())
	weights := make([]float64, len(p.Rate))
	for _, s := range b.r.Shares {
		weights[s.Candidate] = s.Weight
	}
	for j := range p.Jobs() {
		row := Row{Low: math.Inf(-1), High: 1}
		for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
			b.rate[j] += weights[i] * p.Rate[i]
			b.column[i] = -1
			if !b.runs(i) {
				continue
			}
			b.column[i] = b.add(0)
			row.Terms = append(row.Terms, Term{b.column[i], 1})
		}
		if len(row.Terms) > 0 {
			b.m.Rows = append(b.m.Rows, row)
		}
	}
}

func (b *builder) runs(i int32) bool {
	for _, t := range b.p.Usages[b.p.Usage[i]] {
		if t.Amount > 0 && b.p.Capacity[t.Resource] == 0 {
			return false
		}
	}
	return true
}

// add makes a column.
func (b *builder) add(cost float64) int {
	b.m.Cost = append(b.m.Cost, cost)
	return len(b.m.Cost) - 1
}

func (b *builder) capacity() {
	rows := make([]Row, len(b.p.Capacity))
	for k, c := range b.p.Capacity {
		rows[k] = Row{Low: math.Inf(-1), High: c}
		if b.p.Least != nil && b.p.Least[k] > 0 {
			rows[k].Low = b.p.Least[k]
		}
	}
	for i, c := range b.column {
		if c < 0 {
			continue
		}
		for _, t := range b.p.Usages[b.p.Usage[i]] {
			if t.Amount > 0 {
				rows[t.Resource].Terms = append(rows[t.Resource].Terms, Term{c, t.Amount})
			}
		}
	}
	b.m.Rows = append(b.m.Rows, rows...)
}

// rates returns the row Σ r·x of job j in units of size, nil if it cannot make
// progress.
func (b *builder) rates(j int, size float64) []Term {
	var terms []Term
	for i := b.p.Offsets[j]; i < b.p.Offsets[j+1]; i++ {
		if b.column[i] >= 0 && b.p.Rate[i] > 0 {
			terms = append(terms, Term{b.column[i], b.p.Rate[i] / size})
		}
	}
	return terms
}

func (b *builder) sum() {
	value := b.p.Value
	if value == nil {
		value = b.p.Rate
	}
	for _, s := range b.r.Shares {
		b.m.Size += s.Weight * math.Abs(value[s.Candidate])
	}
	unit := b.m.Size
	if unit == 0 {
		unit = 1
	}
	b.m.Unit = -unit
	for i, c := range b.column {
		if c >= 0 {
			b.m.Cost[c] = -value[i] / unit
		}
	}
	for j, f := range b.p.Floor {
		if terms := b.rates(j, max(f, 1e-300)); f > 0 && terms != nil {
			b.m.Rows = append(b.m.Rows, Row{terms, 1, math.Inf(1)})
		}
	}
}

// maxMin adds the column z, in units of r's level, and the rows rate - z·f >= b,
// or, with lags, rate - z·(rate needed for r's level) >= 0.
func (b *builder) maxMin() {
	owed, needed := 0.0, 0.0
	for j, base := range b.p.Base {
		owed += b.r.JobPrices[j] * b.p.Target[j]
		needed += b.r.JobPrices[j] * base
	}
	if needed > 0 && owed > 0 {
		b.m.Size = needed / owed
	}
	unit := max(b.r.Objective, b.m.Size)
	if unit == 0 {
		unit = 1
	}
	b.m.Unit = -unit
	lift := b.add(-1)
	lifted := false
	for j, f := range b.p.Target {
		base, slope := 0.0, f*unit
		if b.p.Base != nil {
			base = b.p.Base[j]
		}
		if b.p.Lag != nil {
			slope /= 1 - b.p.Lag[j]*unit
		}
		size := max(base, slope)
		terms := b.rates(j, max(size, 1e-300))
		if terms == nil || size == 0 {
			continue
		}
		if b.p.Lag != nil {
			b.m.lags = append(b.m.lags, lagging{f, b.p.Lag[j], slope})
		}
		if slope > 0 {
			terms, lifted = append(terms, Term{lift, -slope / size}), true
		}
		b.m.Rows = append(b.m.Rows, Row{terms, base / size, math.Inf(1)})
	}
	if !lifted {
		b.m.Cost[lift] = 0 // nobody is to be lifted: 0, not without bounds
	}
}

// tangents are where f/rate is replaced, relative to the rate of the answer.
var tangents = []float64{0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 1, 1.001, 1.01, 1.05, 1.2, 2, 5, 20}

// total adds, for every job that can make progress, a column y in units of what it
// costs in r, and the rows y >= 2/q - (rate/rate of r)/q² for the tangents q.
func (b *builder) total() {
	b.m.Unit = b.r.Objective
	if b.m.Unit == 0 {
		b.m.Unit = 1
	}
	for j, f := range b.p.Target {
		terms := b.rates(j, b.rate[j])
		if terms == nil {
			continue
		}
		y := b.add(f / b.rate[j] / b.m.Unit)
		for _, q := range tangents {
			row := Row{[]Term{{y, 1}}, 2 / q, math.Inf(1)}
			for _, t := range terms {
				row.Terms = append(row.Terms, Term{t.Column, t.Value / (q * q)})
			}
			b.m.Rows = append(b.m.Rows, row)
		}
	}
}
