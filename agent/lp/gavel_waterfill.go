package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// maxLevels bounds how often water is poured; what is left then goes by the round
// mechanism. Each time freezes all jobs that hold the level down, most often all
// that compete for some GPU type.
const maxLevels = 24

// kept is the part of a level that the next one has to keep: a little less than
// all, so that rounding cannot make it impossible.
const kept = 1 - 1e-7

// solveWaterFill is Gavel's hierarchical max-min fairness
// (scheduler/policies/max_min_fairness_water_filling.py; OSDI 2020, section 4.3):
// tenants share the cluster equally, the jobs of each by their weights. The level
// of all jobs rises together, each by its weight; jobs that cannot rise any more
// keep what they have, and their tenant's other jobs take over their weight.
//
//	max z,  thr(X) >= (sofar[j] + z·share[j]) · thr[j,prop] / g[j]
//
// The original finds the jobs that hold the level down with a mixed integer
// program. Here those are the jobs whose row has a price: lowering their share
// would lift the others.
func solveWaterFill(r *run) (*program, *simplex.Result, error) {
	w := newWater(r)
	p := w.program
	p.goal = "level of the jobs that can still rise, beyond what the others have kept"
	var last *simplex.Result
	for range maxLevels {
		if !w.pour() {
			break
		}
		result, err := r.solve(p, nil)
		if err != nil {
			return nil, nil, err
		}
		if result == nil || last != nil && result.Status != simplex.Optimal {
			break
		}
		last = result
		if result.Status != simplex.Optimal || !w.freeze(result) {
			break
		}
		p = w.next()
	}
	if last == nil { // no job can run: any answer will do
		result, err := r.solve(p, nil)
		return p, result, err
	}
	return r.lastProgram(p, last)
}

// lastProgram returns p with the problem that result answers.
func (r *run) lastProgram(p *program, result *simplex.Result) (*program, *simplex.Result, error) {
	q := *p
	for _, s := range r.stages {
		if s.Result == result {
			q.problem = *s.Problem
		}
	}
	return &q, result, nil
}

// water is the state of the filling.
type water struct {
	program *program
	tenant  []int     // [N] number of the job's tenant
	unit    []float64 // [N] steps/s per level
	sofar   []float64 // [N] level reached
	share   []float64 // [N] how fast the job's level rises; 0 is frozen
	weight  []float64 // [N]
	frozen  []bool    // [N]
}

func newWater(r *run) *water {
	s := r.state
	n := len(s.Jobs)
	w := &water{
		program: gavelMaxMinProgram(s, r.config), tenant: make([]int, n), unit: make([]float64, n),
		sofar: make([]float64, n), share: make([]float64, n), weight: make([]float64, n), frozen: make([]bool, n),
	}
	p := w.program
	numbers := make(map[string]int)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if _, seen := numbers[j.Tenant]; !seen {
			numbers[j.Tenant] = len(numbers)
		}
		w.tenant[i] = numbers[j.Tenant]
		w.weight[i] = target(j.Weight)
		w.unit[i] = target(p.problem.Target[i] / w.weight[i])
		first, last := p.candidates(i)
		w.frozen[i] = first == last
	}
	p.problem.Base = make([]float64, n)
	return w
}

// pour divides the weight of each tenant among its jobs that can still rise, and
// reports whether there are any.
func (w *water) pour() bool {
	total := make([]float64, len(w.tenant)+1)
	for i, t := range w.tenant {
		if !w.frozen[i] {
			total[t] += w.weight[i]
		}
	}
	q := &w.program.problem
	rising := false
	for i, t := range w.tenant {
		w.share[i] = 0
		if !w.frozen[i] {
			w.share[i] = max(w.weight[i]/total[t], 1e-9)
			rising = true
		}
		q.Base[i] = within(w.sofar[i] * w.unit[i] * kept)
		q.Target[i] = 0
		if w.share[i] > 0 {
			q.Target[i] = target(w.share[i] * w.unit[i])
		}
	}
	return rising
}

// freeze raises the levels to those of the answer and freezes the jobs that hold
// them down. It reports whether others may still rise.
func (w *water) freeze(r *simplex.Result) bool {
	owed := 0.0
	for i, price := range r.JobPrices {
		owed = max(owed, price*w.program.problem.Target[i])
	}
	active, frozen := 0, 0
	for i, price := range r.JobPrices {
		if w.frozen[i] {
			continue
		}
		w.sofar[i] += max(0, r.Objective) * w.share[i]
		if price*w.program.problem.Target[i] > 1e-7*owed {
			w.frozen[i] = true
			frozen++
		} else {
			active++
		}
	}
	return frozen > 0 && active > 0
}

// next returns the program with room for the next level's numbers.
func (w *water) next() *program {
	p := *w.program
	n := len(w.tenant)
	p.problem.Target, p.problem.Base = make([]float64, n), make([]float64, n)
	w.program = &p
	return &p
}
