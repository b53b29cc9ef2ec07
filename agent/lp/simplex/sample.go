package simplex

import (
	"math/rand/v2"
	"slices"
)

const (
	sampleSize  = 100 // samples are not smaller than this
	sampleRatio = 4   // a sample is this much smaller than what it is from
)

// The streams of chance here are fixed: they only pick among ways to the same
// optimum, and the same problem must always take the same one.
const (
	sampleSeed  = 0x5ca1ab1e
	perturbSeed = 0x0ddba11
)

// sample returns some of jobs, ascending: at random, but for those that stand for so
// many that the others would say little without them.
func (in *instance) sample(jobs []int32) []int32 {
	n := max(len(jobs)/sampleRatio, sampleSize)
	r := rand.New(rand.NewPCG(sampleSeed, uint64(len(jobs))))
	pool := slices.Clone(jobs)
	many, first := in.countOf(jobs)/float64(n), 0
	for i, j := range pool {
		if first < n && in.count[j] > many {
			pool[first], pool[i] = j, pool[first]
			first++
		}
	}
	for i := first; i < n; i++ {
		k := i + r.IntN(len(pool)-i)
		pool[i], pool[k] = pool[k], pool[i]
	}
	slices.Sort(pool[:n])
	return pool[:n]
}

// countOf returns how many jobs jobs stand for.
func (in *instance) countOf(jobs []int32) float64 {
	total := 0.0
	for _, j := range jobs {
		total += in.count[j]
	}
	return total
}

// shareOf returns the part of the capacity that is due to jobs by their number,
// perturbed downward so that bases are not degenerate.
func (in *instance) shareOf(jobs []int32) []float64 {
	all := 0.0
	for _, count := range in.count {
		all += count
	}
	share := in.countOf(jobs) / all
	r := rand.New(rand.NewPCG(perturbSeed, 0))
	capacity := make([]float64, in.k)
	for k, c := range in.capacity {
		capacity[k] = c * share * (1 - 1e-9*(0.5+r.Float64()))
		if c < 0 { // a least use: eased by more than any capacity is cut
			capacity[k] -= 2e-9 * c * share
		}
	}
	return capacity
}
