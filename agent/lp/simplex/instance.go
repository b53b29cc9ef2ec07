package simplex

import (
	"math"
	"slices"
)

// none is the candidate that is not there: it yields and takes nothing.
const none = -1

// instance is a Problem in the form the method works on. Only what can matter
// is left: resources that could run out, and candidates that can run and yield
// something. Each resource is counted in units of the largest amount that one
// candidate takes of it, so that usage lies in [0, 1]; each rate in MaxMin in
// units of its job's target, so that the program is "every rate at least z". A
// resource of which something has to be used is a row more, in which usage
// counts negative.
type instance struct {
	n, k     int
	start    []int32   // [n+1] delimits the jobs' candidates
	rate     []float64 // [m]
	value    []float64 // [m] of Sum; the rates, if the Problem has no more than that
	vector   []int32   // [m] usage vector of each candidate
	ptr      []int32   // [q+1] delimits the usage vectors' terms
	row      []int32   // resource of each term
	amount   []float64 // in (0, 1], or [-1, 0) for a least use
	capacity []float64 // [k] over 0, or minus the least use
	fastest  []int32   // [n] candidate of the highest rate
	demand   []demand  // [n] nil where no job needs more than "every rate at least z"
	count    []float64 // [n] how many identical jobs this one stands for
	origin   []int32   // [m] candidate of the Problem, nil if borrowed
	job      []int32   // [n] job of the Problem
	resource []int32   // [k] resource of the Problem
	unit     []float64 // [k] amount of the Problem that is 1 here
	sizes    []float64 // [k] capacity before it is perturbed, over 0
	// borrowed says that start, rate and vector are those of the Problem, for which
	// they must not be written to, and candidates and jobs are numbered as there.
	borrowed bool
}

// demand is what a job needs: base, and b + z/(1 - h·z) where it is lifted.
type demand struct {
	base   float64 // Floor of Sum, b of MaxMin
	lag    float64 // h
	weight float64 // f of Total
	lifted bool    // f > 0 in MaxMin
}

// newInstance returns p, which is valid, in the form of the method. Jobs without
// a usable candidate are not in it.
func newInstance(p *Problem) *instance {
	in := new(instance)
	in.read(p)
	return in
}

// read makes in the instance of p, reusing in's memory.
func (in *instance) read(p *Problem) {
	n, m := p.Jobs(), len(p.Rate)
	if in.borrowed {
		in.start, in.rate, in.vector = nil, nil, nil
	}
	*in = instance{
		start: in.start, rate: in.rate, vector: in.vector, origin: in.origin,
		fastest: sized(in.fastest, n), job: sized(in.job, n), count: sized(in.count, n),
	}
	runs := in.addVectors(p)
	if in.borrow(p, runs) {
		return
	}
	in.start, in.rate, in.vector, in.origin = sized(in.start, n+1), sized(in.rate, m), sized(in.vector, m), sized(in.origin, m)
	wide := p.wide()
	at := int32(0)
	in.start[0] = 0
	for j := range n {
		first, last := p.Offsets[j], p.Offsets[j+1]
		scale := 1.0
		if p.Objective == MaxMin && p.Target[j] > 0 {
			scale = 1 / p.Target[j]
		}
		begin, best, most := at, int32(none), -1.0
		rates, vectors := p.Rate[first:last], p.Usage[first:last]
		to := int(last - first)
		toRates, toVectors, toOrigin := in.rate[at:][:to], in.vector[at:][:to], in.origin[at:][:to]
		i := 0
		for c, rate := range rates {
			q := vectors[c]
			rate *= scale
			if rate == 0 && !wide || !runs[q] {
				continue
			}
			toRates[i], toVectors[i], toOrigin[i] = rate, q, first+int32(c)
			if rate > most {
				most, best = rate, at+int32(i)
			}
			i++
		}
		if at += int32(i); at > begin {
			in.start[in.n+1], in.fastest[in.n], in.count[in.n], in.job[in.n] = at, best, 1, int32(j)
			in.n++
		}
	}
	in.start, in.rate, in.vector, in.origin = in.start[:in.n+1], in.rate[:at], in.vector[:at], in.origin[:at]
	in.fastest, in.count, in.job = in.fastest[:in.n], in.count[:in.n], in.job[:in.n]
	in.addValues(p)
	in.addDemands(p)
}

// borrow uses p's own lists where all of them are needed as they are, and reports
// whether they could be: reading is then all that there is to do.
func (in *instance) borrow(p *Problem, runs []bool) bool {
	n := p.Jobs()
	if p.Objective != Sum || p.wide() || slices.Contains(runs, false) || n == 0 {
		return false
	}
	for j := range n {
		first, last := p.Offsets[j], p.Offsets[j+1]
		best, most, least := first, -1.0, math.Inf(1)
		for i, rate := range p.Rate[first:last] {
			if rate > most {
				most, best = rate, first+int32(i)
			}
			least = min(least, rate)
		}
		if least == 0 || first == last {
			return false
		}
		in.fastest[j], in.count[j], in.job[j] = best, 1, int32(j)
	}
	in.n, in.borrowed = n, true
	in.start, in.rate, in.vector, in.origin = p.Offsets, p.Rate, p.Usage, nil
	in.value = in.rate
	return true
}

// originOf returns the candidate of the Problem that i is.
func (in *instance) originOf(i int32) int32 {
	if in.borrowed {
		return i
	}
	return in.origin[i]
}

// sized returns a slice of n elements, of any values, in the memory of s if there is
// enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// emptied returns s without elements and with room for n.
func emptied[T any](s []T, n int) []T { return slices.Grow(s[:0], n) }

// addValues takes over what Sum maximises.
func (in *instance) addValues(p *Problem) {
	in.value = in.rate
	if p.Value == nil {
		return
	}
	in.value = make([]float64, len(in.origin))
	for i, original := range in.origin {
		in.value[i] = p.Value[original]
	}
}

// addDemands takes over what single jobs need.
func (in *instance) addDemands(p *Problem) {
	if p.Base == nil && p.Lag == nil && p.Floor == nil && p.Objective != Total {
		return
	}
	in.demand = make([]demand, in.n)
	for j, original := range in.job {
		d := &in.demand[j]
		if p.Objective == Sum {
			if in.rate[in.fastest[j]] > 0 { // else nothing helps
				d.base = p.Floor[original]
			}
			continue
		}
		f := p.Target[original]
		d.base, d.lag, d.weight, d.lifted = p.baseOf(int(original)), p.lagOf(int(original)), f, f > 0
		if p.Objective == MaxMin && f > 0 {
			d.base /= f
			d.weight = 1
		}
	}
}

// addVectors takes over the usage vectors and the resources they need. It
// reports which vectors can run.
func (in *instance) addVectors(p *Problem) (runs []bool) {
	largest := make([]float64, len(p.Capacity))
	runs = make([]bool, len(p.Usages))
	for q, u := range p.Usages {
		if runs[q] = p.runnable(u); !runs[q] {
			continue
		}
		for _, t := range u {
			largest[t.Resource] = max(largest[t.Resource], t.Amount)
		}
	}
	index, least := make([]int32, len(p.Capacity)), make([]int32, len(p.Capacity))
	for k, amount := range largest {
		// A resource that suffices for every job's largest candidate binds
		// nobody.
		index[k], least[k] = none, none
		if amount > 0 && p.Capacity[k]/amount < float64(p.Jobs()) {
			index[k] = in.addRow(k, amount, p.Capacity[k])
		}
		if amount > 0 && at(p.Least, k) > 0 {
			least[k] = in.addRow(k, -amount, p.Least[k])
		}
	}
	in.ptr = append(make([]int32, 0, len(p.Usages)+1), 0)
	for q, u := range p.Usages {
		for _, t := range u {
			if runs[q] && t.Amount > 0 && index[t.Resource] != none {
				in.row = append(in.row, index[t.Resource])
				in.amount = append(in.amount, t.Amount/largest[t.Resource])
			}
			if runs[q] && t.Amount > 0 && least[t.Resource] != none {
				in.row = append(in.row, least[t.Resource])
				in.amount = append(in.amount, -t.Amount/largest[t.Resource])
			}
		}
		in.ptr = append(in.ptr, int32(len(in.row)))
	}
	return runs
}

// addRow adds a row for resource k of the Problem, of which there is so much.
func (in *instance) addRow(k int, unit, capacity float64) int32 {
	in.k++
	in.resource = append(in.resource, int32(k))
	in.unit = append(in.unit, unit)
	in.capacity = append(in.capacity, capacity/unit)
	in.sizes = append(in.sizes, max(capacity/unit, -capacity/unit))
	return int32(in.k - 1)
}

// rateOf returns the rate of candidate i, 0 for none.
func (in *instance) rateOf(i int32) float64 {
	if i == none {
		return 0
	}
	return in.rate[i]
}

// addUsage adds f times the usage of candidate i to dst, shape [k].
func (in *instance) addUsage(dst []float64, i int32, f float64) {
	if i == none || f == 0 {
		return
	}
	q := in.vector[i]
	for t := in.ptr[q]; t < in.ptr[q+1]; t++ {
		dst[in.row[t]] += f * in.amount[t]
	}
}

// needed returns the rate at which job j has reached level z >= 0, in the
// instance's units, and how fast that rises with z.
func (in *instance) needed(j int32, z float64) (rate, slope float64) {
	if in.demand == nil {
		return z, 1
	}
	d := &in.demand[j]
	most := in.rate[in.fastest[j]] // rounding must not ask for more
	if !d.lifted {
		return min(d.base, most), 0
	}
	room := 1 / (1 - d.lag*z)
	return min(d.base+z*room, most), room * room
}

// ceiling returns the level that job j reaches alone, below 0 where it does not
// even reach its base.
func (in *instance) ceiling(j int32) float64 {
	rate := in.rate[in.fastest[j]]
	if in.demand == nil {
		return rate
	}
	d := &in.demand[j]
	switch rate -= d.base; {
	case rate < -feasibility*d.base:
		return rate
	case !d.lifted:
		return maxNumber * maxNumber
	}
	rate = max(rate, 0)
	return rate / (1 + d.lag*rate)
}

// addVector adds f times usage vector q to dst, shape [k].
func (in *instance) addVector(dst []float64, q int32, f float64) {
	if q == none {
		return
	}
	for t := in.ptr[q]; t < in.ptr[q+1]; t++ {
		dst[in.row[t]] += f * in.amount[t]
	}
}
