package simplex

// none is the candidate that is not there: it yields and takes nothing.
const none = -1

// instance is a Problem in the form the method works on. Only what can matter
// is left: resources that could run out, and candidates that can run and yield
// something. Each resource is counted in
// units of the largest amount that one candidate takes of it, so that usage lies
// in [0, 1]; each rate in units of its job's target, so that MaxMin is
// "every rate at least z".
type instance struct {
	n, k     int
	start    []int32   // [n+1] delimits the jobs' candidates
	rate     []float64 // [m] over 0
	vector   []int32   // [m] usage vector of each candidate
	ptr      []int32   // [q+1] delimits the usage vectors' terms
	row      []int32   // resource of each term
	amount   []float64 // in (0, 1]
	capacity []float64 // [k] over 0
	fastest  []int32   // [n] candidate of the highest rate
	count    []float64 // [n] how many identical jobs this one stands for
	origin   []int32   // [m] candidate of the Problem
	job      []int32   // [n] job of the Problem
	resource []int32   // [k] resource of the Problem
	unit     []float64 // [k] amount of the Problem that is 1 here
}

// newInstance returns p, which is valid, in the form of the method. Jobs without
// a usable candidate are not in it.
func newInstance(p *Problem) *instance {
	in := &instance{}
	runs := in.addVectors(p)
	n, m := p.Jobs(), len(p.Rate)
	in.start = append(make([]int32, 0, n+1), 0)
	in.rate, in.vector, in.origin = make([]float64, 0, m), make([]int32, 0, m), make([]int32, 0, m)
	for j := range n {
		best := int32(none)
		scale := 1.0
		if p.Objective == MaxMin {
			scale = 1 / p.Target[j]
		}
		for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
			rate := p.Rate[i] * scale
			if rate == 0 || !runs[p.Usage[i]] {
				continue
			}
			if best == none || rate > in.rate[best] {
				best = int32(len(in.rate))
			}
			in.rate = append(in.rate, rate)
			in.vector = append(in.vector, p.Usage[i])
			in.origin = append(in.origin, i)
		}
		if best != none {
			in.start = append(in.start, int32(len(in.rate)))
			in.fastest = append(in.fastest, best)
			in.count = append(in.count, 1)
			in.job = append(in.job, int32(j))
		}
	}
	in.n = len(in.job)
	return in
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
	index := make([]int32, len(p.Capacity))
	for k, amount := range largest {
		// A resource that suffices for every job's largest candidate binds
		// nobody.
		index[k] = none
		if amount > 0 && p.Capacity[k]/amount < float64(p.Jobs()) {
			index[k] = int32(in.k)
			in.k++
			in.resource = append(in.resource, int32(k))
			in.unit = append(in.unit, amount)
			in.capacity = append(in.capacity, p.Capacity[k]/amount)
		}
	}
	in.ptr = append(make([]int32, 0, len(p.Usages)+1), 0)
	for q, u := range p.Usages {
		for _, t := range u {
			if runs[q] && t.Amount > 0 && index[t.Resource] != none {
				in.row = append(in.row, index[t.Resource])
				in.amount = append(in.amount, t.Amount/largest[t.Resource])
			}
		}
		in.ptr = append(in.ptr, int32(len(in.row)))
	}
	return runs
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
