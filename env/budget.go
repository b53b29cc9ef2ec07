package env

import (
	"slices"
	"strings"
)

// PartsPerGPU is the number of parts that GPUs are counted in where jobs share
// them: a job takes all eight parts of a GPU, or four, two or one.
const PartsPerGPU = 8

// Budget is what is left of a cluster's GPUs and of its tenants' quotas while
// an allocation is built. Every policy, mask and validator counts with it, so
// that all agree on what is valid. It is not safe for concurrent use.
//
// It adds up parts of GPUs and knows nothing of nodes. For powers of two that is
// exact: largest first, they always pack into whole GPUs.
type Budget struct {
	capacity []int // [T], parts of the GPUs on nodes in service
	free     []int // [T], of them not taken
	left     int   // sum of free
	quotas   []Quota
	unused   []int // [len(quotas)], parts that the quota's tenant may still take
}

// NewBudget returns the budget of s with nothing taken. It keeps s's quotas.
func NewBudget(s *State) *Budget {
	b := new(Budget)
	b.Reset(s)
	return b
}

// Reset makes b the budget of s with nothing taken, reusing b's memory.
func (b *Budget) Reset(s *State) {
	b.capacity = s.addCapacity(b.capacity[:0])
	for t := range b.capacity {
		b.capacity[t] *= PartsPerGPU
	}
	b.quotas = s.Quotas
	b.unused = slices.Grow(b.unused[:0], len(b.quotas))[:len(b.quotas)]
	b.Clear()
}

// Clear gives everything back.
func (b *Budget) Clear() {
	b.free = append(b.free[:0], b.capacity...)
	b.left = 0
	for _, n := range b.free {
		b.left += n
	}
	for i := range b.quotas {
		b.unused[i] = b.quotas[i].GPUs * PartsPerGPU
	}
}

// Fits reports whether job can be given st with what is left.
func (b *Budget) Fits(job *JobState, st *Strategy) bool {
	parts := st.Parts()
	if parts > b.free[st.Type] {
		return false
	}
	if len(b.quotas) == 0 {
		return true
	}
	for i := b.first(job.Tenant); i < len(b.quotas) && b.quotas[i].Tenant == job.Tenant; i++ {
		if b.quotas[i].limits(st.Type) && parts > b.unused[i] {
			return false
		}
	}
	return true
}

// Possible reports whether job could be given st if nothing were taken.
func (b *Budget) Possible(job *JobState, st *Strategy) bool {
	parts := st.Parts()
	if parts > b.capacity[st.Type] {
		return false
	}
	if len(b.quotas) == 0 {
		return true
	}
	for i := b.first(job.Tenant); i < len(b.quotas) && b.quotas[i].Tenant == job.Tenant; i++ {
		if b.quotas[i].limits(st.Type) && parts > b.quotas[i].GPUs*PartsPerGPU {
			return false
		}
	}
	return true
}

// Take gives job st, whether it fits or not: what is left may become negative,
// which Overdrawn reports.
func (b *Budget) Take(job *JobState, st *Strategy) { b.add(job, st, -st.Parts()) }

// Return takes back what Take gave.
func (b *Budget) Return(job *JobState, st *Strategy) { b.add(job, st, st.Parts()) }

func (b *Budget) add(job *JobState, st *Strategy, parts int) {
	b.free[st.Type] += parts
	b.left += parts
	if len(b.quotas) == 0 {
		return
	}
	for i := b.first(job.Tenant); i < len(b.quotas) && b.quotas[i].Tenant == job.Tenant; i++ {
		if b.quotas[i].limits(st.Type) {
			b.unused[i] += parts
		}
	}
}

// Free returns the number of whole GPUs of type t that are left.
func (b *Budget) Free(t int) int { return b.free[t] / PartsPerGPU }

// FreeParts returns how many parts of GPUs of type t are left.
func (b *Budget) FreeParts(t int) int { return b.free[t] }

// Exhausted reports whether no part of any GPU is left.
func (b *Budget) Exhausted() bool { return b.left <= 0 }

// Overdrawn reports whether more was taken than there was.
func (b *Budget) Overdrawn() bool {
	return slices.ContainsFunc(b.free, negative) || slices.ContainsFunc(b.unused, negative)
}

func negative(n int) bool { return n < 0 }

// limits reports whether q counts GPUs of type t.
func (q *Quota) limits(t int) bool { return q.Type == t || q.Type == AnyType }

// first returns the index of the first quota of a tenant, or where it would be.
func (b *Budget) first(tenant string) int {
	i, _ := slices.BinarySearchFunc(b.quotas, tenant, func(q Quota, tenant string) int { return strings.Compare(q.Tenant, tenant) })
	return i
}
