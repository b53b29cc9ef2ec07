package serve

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations in eight buckets per octave, so a quantile is at
// most 13 % too high whatever its size. The zero value is empty.
type histogram struct {
	counts [64 * perOctave]uint64
	total  uint64
}

const perOctave = 8

// bucket returns the bucket of n nanoseconds: the octave, and the eighth of it
// on a linear scale.
func bucket(n uint64) int {
	octave := bits.Len64(n|perOctave) - 1 // at least 3
	return octave*perOctave + int(n>>(octave-3))&(perOctave-1)
}

// upper returns the largest duration of a bucket, in nanoseconds.
func upper(b int) float64 {
	octave, eighth := b/perOctave, b%perOctave
	return math.Ldexp(float64(perOctave+eighth+1), octave-3) - 1
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)))]++
	h.total++
}

// quantile returns the q-quantile in microseconds, 0 while empty.
func (h *histogram) quantile(q float64) float64 {
	rank, seen := uint64(math.Ceil(q*float64(h.total))), uint64(0)
	for b, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return upper(b) / 1e3
		}
	}
	return 0
}
