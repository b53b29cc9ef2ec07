package simplex

import "math"

// pricer finds the columns of jobs that improve the objective: the one part in
// which the programs differ.
type pricer interface {
	// improve returns the column of job j of the least reduced cost at the
	// core's prices and by how much it is better than the job's key: 0, with the
	// key, if it is not better by more than rounding.
	improve(e *core, j int32) (column, float64)
	// cost returns the objective coefficient of a job's column; the core
	// minimises.
	cost(c column) float64
}

const (
	blockSize   = 64    // jobs priced before the best of them enters
	maxUpdates  = 60    // pivots between factorizations
	tinyGain    = 1e-11 // relative reduced cost that counts as 0 at first
	boxSlack    = 1e-11 // relative violation of the box on the prices that counts as 0
	tinyPivot   = 1e-10 // pivot elements below this part of the largest are not used
	harrisSlack = 1e-11 // infeasibility, per job merged, allowed in exchange for larger pivots
	eagerLimit  = 512   // up to so many usage vectors, all are priced at every pivot
)

// core is the revised simplex method with generalized upper bounds, over the
// jobs of an instance or a sample of them. In row k,
//
//	Σ_j usage - over[k] + under[k] (- θ·capacity[k]) = limit[k],
//
// where over costs box.high[k] and under refunds box.low[k], so that the price
// of the row stays between the two. Each job has a key column, which takes what
// its columns in the basis leave of the job. The K basic columns count
// relative to their jobs' keys.
//
// The basic values are feasible from start on and stay so.
type core struct {
	in       *instance
	pricer   pricer
	budget   *budget
	jobs     []int32   // the jobs considered, ascending
	keys     []column  // [n] key of every job of the instance
	capacity []float64 // [k] of the jobs considered, slightly perturbed
	limit    []float64 // [k] right-hand sides
	box      box

	cols    []column  // [k] the basis
	x       []float64 // [k] its values
	inverse []float64 // [k,k] row r belongs to cols[r]
	updates int       // pivots since the last factorization

	price  []float64 // [k] λ
	cost   []float64 // [q] λ·usage of each vector
	taken  []float64 // [q] scratch of tally
	priced []uint32  // [q] epoch in which cost was computed, if not eager
	epoch  uint32
	next   int     // position in jobs at which pricing goes on
	tol    float64 // relative reduced cost that counts as 0
	floor  float64 // cost that reduced costs are relative to where a job's own are less
	stall  stall
	short  shortlist

	slack   float64   // infeasibility that counts as 0
	d, w    []float64 // [k] entering column: its usage relative to the key; inverse·d
	touched []touched
	matrix  []float64 // [k,2k] scratch of factorize
}

// newCore returns a core over jobs, whose keys the caller provides. It has no
// basis yet.
func newCore(in *instance, pr pricer, jobs []int32, keys []column, b *budget) *core {
	k := in.k
	vectors := func() []float64 { return make([]float64, k) }
	e := &core{
		in: in, pricer: pr, budget: b, jobs: jobs, keys: keys,
		capacity: in.shareOf(jobs), limit: vectors(), box: newBox(k),
		cols: make([]column, k), x: vectors(), inverse: make([]float64, k*k),
		price: vectors(), cost: make([]float64, len(in.ptr)-1), taken: make([]float64, len(in.ptr)-1),
		tol: tinyGain, d: vectors(), w: vectors(),
		touched: make([]touched, 0, k+1), matrix: make([]float64, 2*k*k),
	}
	for _, j := range jobs {
		e.slack = max(e.slack, harrisSlack*in.count[j])
	}
	if len(e.cost) > eagerLimit {
		e.priced = make([]uint32, len(e.cost))
	}
	return e
}

// run pivots until no column improves the objective. It reports false if the
// budget or the precision of the numbers ran out first; the basic values are
// feasible either way.
func (e *core) run() bool {
	for {
		c, gain := e.entering()
		if gain == 0 {
			if e.updates == 0 {
				return true
			}
			if !e.factorize() { // confirm with fresh numbers
				return false
			}
			continue
		}
		if e.isBasic(c) { // then its reduced cost is 0, but for rounding
			if e.updates > 0 && !e.factorize() {
				return false
			}
			e.tol *= 2
		} else if !e.budget.spend() || !e.pivot(c, gain) {
			return false
		}
		if e.stall.over(e, gain) {
			return false
		}
		if e.updates >= maxUpdates && !e.factorize() {
			return false
		}
	}
}

// entering returns the column to enter next and its gain per unit, 0 if there
// is none: first a row whose price is outside its box, then the best job of the
// next block that has one.
func (e *core) entering() (column, float64) {
	if c, gain := e.box.violated(e.price); gain > 0 {
		return c, gain
	}
	if e.short.pricer != nil {
		return e.enteringShort()
	}
	return e.bestOf(e.jobs, &e.next, len(e.jobs))
}

// pivot brings c, which gains so much per unit, into the basis. It reports false
// if no pivot element is large enough.
func (e *core) pivot(c column, gain float64) bool {
	e.relativeUsage(e.d, c)
	e.solve(e.w, e.d)
	out, ok := e.ratioTest(c)
	if !ok {
		return false
	}
	for r, w := range e.w {
		e.x[r] -= out.step * w
	}
	e.stall.step(out.step * gain)
	r := out.row
	if out.job != none {
		if r = e.heaviest(out.job); r == none {
			e.keys[out.job] = c // its key was the only column it had
			return true
		}
		e.swapKey(r)
		e.w[r] = out.pivot
	}
	e.replace(r, c, out.step)
	e.movePrices(r, gain)
	return true
}

// movePrices makes the reduced cost of the column that came into row r, -gain
// so far, 0.
func (e *core) movePrices(r int, gain float64) {
	for i, v := range e.row(r) {
		e.price[i] += gain * v
	}
	e.requote()
}

// computePrices solves for the prices at which all basic columns have reduced
// cost 0: price = -cost·inverse.
func (e *core) computePrices() {
	clear(e.price)
	for r, c := range e.cols {
		cost := e.costOf(c)
		if c.job >= 0 {
			cost -= e.costOf(e.keys[c.job])
		}
		for i, v := range e.row(r) {
			e.price[i] -= cost * v
		}
	}
	e.requote()
}

func (e *core) costOf(c column) float64 {
	switch c.job {
	case over:
		return e.box.high[c.lo]
	case under:
		return -e.box.low[c.lo]
	case scale:
		return 1
	}
	return e.pricer.cost(c)
}

// requote brings cost up to date with price, or marks it as stale.
func (e *core) requote() {
	if e.priced != nil {
		e.epoch++
		return
	}
	for q := range e.cost {
		e.cost[q] = e.quoteVector(int32(q))
	}
}

// quote makes sure that cost is right for the candidates of job j.
func (e *core) quote(j int32) {
	if e.priced == nil {
		return
	}
	for _, q := range e.in.vector[e.in.start[j]:e.in.start[j+1]] {
		if e.priced[q] != e.epoch {
			e.priced[q] = e.epoch
			e.cost[q] = e.quoteVector(q)
		}
	}
}

func (e *core) quoteVector(q int32) float64 {
	total := 0.0
	for t := e.in.ptr[q]; t < e.in.ptr[q+1]; t++ {
		total += e.price[e.in.row[t]] * e.in.amount[t]
	}
	return total
}

// costOfCandidate returns λ·usage of candidate i, 0 for none. Its job has been
// quoted.
func (e *core) costOfCandidate(i int32) float64 {
	if i == none {
		return 0
	}
	return e.cost[e.in.vector[i]]
}

// stall notices that pivots have stopped to improve the objective. Capacities
// are perturbed, so that no basis is degenerate and none comes again; what is
// left is the noise of rounding, which this raises the tolerance above.
type stall struct {
	pivots  int     // since the last look
	gained  float64 // in them
	largest float64 // gained in any such stretch so far
}

func (s *stall) step(gained float64) {
	s.pivots++
	s.gained += gained
}

// over reports that the search should be given up, looking once in a while.
func (s *stall) over(e *core, gain float64) bool {
	if math.IsNaN(gain) || math.IsInf(gain, 0) {
		return true
	}
	if s.pivots >= 1_000+20*len(e.cols) {
		s.largest = max(s.largest, s.gained)
		if s.gained <= 1e-12*s.largest {
			e.tol *= 10
		}
		s.pivots, s.gained = 0, 0
	}
	return e.tol > 1e-4
}
