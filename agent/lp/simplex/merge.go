package simplex

import (
	"math"
	"slices"
)

// merge returns the instance in which identical jobs are one, standing for all of
// them, and the class of each job of in, shape [n]. It returns in and nil where
// that would save little. Equal jobs list equal candidates in the same order.
func (in *instance) merge() (*instance, []int32) {
	class := make([]int32, in.n)
	var t table
	for j := range in.n {
		class[j] = t.class(in.hash(j), int32(j), func(first int32) bool { return in.equal(int(first), j) })
	}
	if len(t.firsts) > in.n*9/10 {
		return in, nil
	}
	return in.choose(t.firsts, class), class
}

// table numbers the classes of jobs that are equal: a hash table with linear
// probing.
type table struct {
	slots  []int32  // class, or none
	hashes []uint64 // of each class
	firsts []int32  // first job of each class
}

// class returns the class of job j, which has this hash; equal says whether it is
// equal to the first job of a class.
func (t *table) class(hash uint64, j int32, equal func(first int32) bool) int32 {
	if 2*len(t.firsts) >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		c := t.slots[i]
		if c == none {
			t.slots[i] = int32(len(t.firsts))
			t.hashes, t.firsts = append(t.hashes, hash), append(t.firsts, j)
			return t.slots[i]
		}
		if t.hashes[c] == hash && equal(t.firsts[c]) {
			return c
		}
	}
}

func (t *table) grow() {
	t.slots = make([]int32, max(1024, 2*len(t.slots)))
	for i := range t.slots {
		t.slots[i] = none
	}
	mask := uint64(len(t.slots) - 1)
	for c, hash := range t.hashes {
		i := hash & mask
		for t.slots[i] != none {
			i = (i + 1) & mask
		}
		t.slots[i] = int32(c)
	}
}

// choose returns the instance of the first job of each class, with the number of
// jobs in it as its count.
func (in *instance) choose(firsts, class []int32) *instance {
	out := *in // the resources and usage vectors are shared
	out.n = len(firsts)
	out.start = []int32{0}
	out.rate, out.vector, out.origin = nil, nil, nil
	out.fastest, out.job, out.count = nil, nil, make([]float64, len(firsts))
	out.demand, out.borrowed = nil, false
	values := len(in.value) > 0 && &in.value[0] != &in.rate[0]
	if values {
		out.value = nil
	}
	for _, j := range firsts {
		first, last := in.start[j], in.start[j+1]
		shift := int32(len(out.rate)) - first
		out.rate = append(out.rate, in.rate[first:last]...)
		out.vector = append(out.vector, in.vector[first:last]...)
		for i := first; i < last; i++ {
			out.origin = append(out.origin, in.originOf(i))
		}
		out.start = append(out.start, int32(len(out.rate)))
		out.fastest = append(out.fastest, in.fastest[j]+shift)
		out.job = append(out.job, in.job[j])
		if values {
			out.value = append(out.value, in.value[first:last]...)
		}
		if in.demand != nil {
			out.demand = append(out.demand, in.demand[j])
		}
	}
	if !values {
		out.value = out.rate
	}
	for _, c := range class {
		out.count[c]++
	}
	return &out
}

// hash returns a number that equal jobs share. It looks at a few candidates
// only: equal is exact.
func (in *instance) hash(j int) uint64 {
	first, last := in.start[j], in.start[j+1]
	h := uint64(last - first)
	for _, i := range [3]int32{first, (first + last) / 2, last - 1} {
		h = (h ^ math.Float64bits(in.rate[i])) * 0x9e3779b97f4a7c15 // 2⁶⁴ over the golden ratio
		h = (h ^ h>>29 ^ uint64(in.vector[i])) * 0xbf58476d1ce4e5b9 // from splitmix64
	}
	return h
}

func (in *instance) equal(a, b int) bool {
	if in.demand != nil && in.demand[a] != in.demand[b] {
		return false
	}
	return slices.Equal(in.value[in.start[a]:in.start[a+1]], in.value[in.start[b]:in.start[b+1]]) &&
		slices.Equal(in.rate[in.start[a]:in.start[a+1]], in.rate[in.start[b]:in.start[b+1]]) &&
		slices.Equal(in.vector[in.start[a]:in.start[a+1]], in.vector[in.start[b]:in.start[b+1]])
}
