package gavel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/agent/assignment"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// ErrGang is returned for jobs of several GPUs by policies that know only jobs
// of one.
var ErrGang = errors.New("gavel: job needs more than one GPU")

// noRate stands for a rate of 0, steps/s (allox.py).
const noRate = 1e-10

// AlloX is AlloX_Perf (allox.py, after Le et al., EuroSys 2020): the jobs
// without a GPU are matched to the free GPUs so that the sum of completion
// times is least, where the job that is q-th from the last on its GPU delays q
// jobs by its run time. The first job of each GPU gets it and keeps it until
// it leaves. As in the original, m jobs and n GPUs are a matching of m rows and
// m·n columns: a backlog of thousands of jobs is slow.
type AlloX struct {
	// Alpha is the fraction of the waiting jobs, longest waiting first, that
	// are looked at, though always as many as there are free GPUs. 0 means 1.
	Alpha float64

	solver  assignment.Solver
	typeOf  []int16 // [IDs seen] GPU type that a job holds, or waiting
	pending []int   // rows of the View that are looked at
	workers []int   // type of each free GPU
	cost    []float64
	first   []int // [free GPUs] the job to run first, or none
}

const waiting = -1

// Rules implements [gavel.Policy].
func (*AlloX) Rules() gavel.Rules { return gavel.Rules{} }

// Allocate implements [gavel.Policy].
func (p *AlloX) Allocate(v *gavel.View, x []float64) error {
	for i, g := range v.GPUs {
		if g != 1 {
			return fmt.Errorf("%w: job %d needs %d", ErrGang, v.IDs[i], g)
		}
	}
	p.survey(v)
	if len(p.pending) > 0 && len(p.workers) > 0 {
		if err := p.match(v); err != nil {
			return err
		}
	}
	k := len(v.Types)
	for i, id := range v.IDs {
		if t := p.typeOf[id]; t != waiting {
			x[i*k+int(t)] = 1
		}
	}
	return nil
}

// survey lists the jobs that are looked at and the free GPUs.
func (p *AlloX) survey(v *gavel.View) {
	if p.typeOf == nil {
		p.typeOf = make([]int16, 0, 1<<14) // Gavel's runs have fewer jobs
	}
	for len(p.typeOf) <= int(v.IDs[len(v.IDs)-1]) {
		p.typeOf = append(p.typeOf, waiting)
	}
	p.pending, p.workers = p.pending[:0], p.workers[:0]
	for i, id := range v.IDs {
		if p.typeOf[id] == waiting {
			p.pending = append(p.pending, i)
		}
	}
	for _, t := range v.ByName {
		free := v.Types[t].GPUs
		for _, id := range v.IDs {
			if p.typeOf[id] == int16(t) {
				free--
			}
		}
		for range free {
			p.workers = append(p.workers, t)
		}
	}
	slices.SortStableFunc(p.pending, func(a, b int) int { return cmp.Compare(v.Age[b], v.Age[a]) })
	alpha := cmp.Or(p.Alpha, 1)
	looked := max(int(alpha*float64(len(p.pending))), len(p.workers))
	p.pending = p.pending[:min(looked, len(p.pending))]
}

// match gives free GPUs to pending jobs.
func (p *AlloX) match(v *gavel.View) error {
	m, n := len(p.pending), len(p.workers)
	p.fillCost(v)
	columns, err := p.solver.Solve(p.cost, m, m*n)
	if err != nil {
		return fmt.Errorf("gavel: allox: %w", err)
	}
	// The job furthest from the last runs first. Column c is position c/n, from
	// the last, on GPU c%n.
	p.first = p.first[:0]
	for range n {
		p.first = append(p.first, waiting)
	}
	for row, c := range columns {
		if at := &p.first[int(c)%n]; *at == waiting || c > columns[*at] {
			*at = row
		}
	}
	for w, row := range p.first {
		if row != waiting {
			p.typeOf[v.IDs[p.pending[row]]] = int16(p.workers[w])
		}
	}
	return nil
}

// fillCost writes the cost of each pending job at each position of each free
// GPU: position · run time + time waited, shape [m, m·n].
func (p *AlloX) fillCost(v *gavel.View) {
	k, m := len(v.Types), len(p.pending)
	p.cost = p.cost[:0]
	if need := m * m * len(p.workers); need > cap(p.cost) {
		p.cost = make([]float64, 0, 2*need)
	}
	for _, i := range p.pending {
		for q := range m {
			for _, t := range p.workers {
				time := v.Left[i] / cmp.Or(v.Rates[i*k+t], noRate)
				p.cost = append(p.cost, float64(float64(q+1)*time)+v.Age[i])
			}
		}
	}
}
