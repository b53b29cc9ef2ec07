package gavel

import (
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/gavel"
	"github.com/yardmaster/yardmaster/env/rng"
)

// ties finds the shares of the programs "each job gets its need, times a z that
// is as large as it can be", and decides between those that are equally good,
// as the package comment says. Its zero value is ready to use.
type ties struct {
	need    []float64 // [N] what z multiplies: rate, or share if blind
	problem simplex.Problem

	room   []float64 // [N] 1 - Σ_t x
	order  []int     // [N]
	stream *rand.Rand
	free   []float64 // [K] GPUs
}

// needs returns s.need with n elements.
func (s *ties) needs(n int) []float64 {
	s.need = slices.Grow(s.need[:0], n)[:n]
	return s.need
}

// spread writes the shares of a blind program, in which only the sum of a job's
// shares counts. There, z is what the job of the largest need or the number of
// GPUs allows.
func (s *ties) spread(v *gavel.View, x []float64, seed uint64) {
	gpus, wanted, largest := 0.0, 0.0, 0.0
	s.free = s.free[:0]
	for _, t := range v.Types {
		s.free = append(s.free, float64(t.GPUs))
		gpus += float64(t.GPUs)
	}
	for i, need := range s.need {
		wanted += float64(v.GPUs[i]) * need
		largest = max(largest, need)
	}
	z := min(1/largest, gpus/wanted)
	spare, lacking := gpus-z*wanted, 0.0
	for i, need := range s.need {
		lacking += float64(v.GPUs[i]) * (1 - z*need)
	}
	extra := portion(spare, lacking)
	s.shuffle(v.Jobs(), seed)
	k := len(v.Types)
	for _, i := range s.order {
		share := z * s.need[i]
		share += extra * (1 - share)
		for _, t := range v.ByName {
			here := clamp(min(share, s.free[t]/float64(v.GPUs[i])))
			x[i*k+t] = here
			share -= here
			s.free[t] -= here * float64(v.GPUs[i])
		}
	}
}

// shuffle draws an order of n jobs.
func (s *ties) shuffle(n int, seed uint64) {
	if s.stream == nil {
		s.stream = rng.New(seed, "gavel/ties")
	}
	s.order = slices.Grow(s.order[:0], n)[:n]
	for i := range s.order {
		s.order[i] = i
	}
	s.stream.Shuffle(n, func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
}

// giveAway adds to x what it leaves of each type, in the order of their names.
func (s *ties) giveAway(v *gavel.View, x []float64) {
	k := len(v.Types)
	s.room = s.room[:0]
	for i := range v.IDs {
		room := 1.0
		for _, share := range x[i*k : (i+1)*k] {
			room -= share
		}
		s.room = append(s.room, clamp(room))
	}
	for _, t := range v.ByName {
		spare, lacking := float64(v.Types[t].GPUs), 0.0
		for i, g := range v.GPUs {
			spare -= float64(g) * x[i*k+t]
			if v.Rates[i*k+t] > 0 {
				lacking += float64(g) * s.room[i]
			}
		}
		extra := portion(spare, lacking)
		for i := range v.IDs {
			if v.Rates[i*k+t] > 0 {
				more := extra * s.room[i]
				x[i*k+t] = clamp(x[i*k+t] + more)
				s.room[i] -= more
			}
		}
	}
}

// portion returns which part of what is lacking the spare covers.
func portion(spare, lacking float64) float64 {
	if spare <= 0 || lacking <= 0 {
		return 0
	}
	return min(1, spare/lacking)
}

func clamp(x float64) float64 { return max(0, min(1, x)) }
