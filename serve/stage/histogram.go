package stage

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in eight buckets per octave, so a quantile is at
// most 13 % too high whatever its size. The zero value is empty. It is not safe for
// concurrent use.
type Histogram struct {
	counts [64 * perOctave]uint64
	total  uint64
	sum    time.Duration
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

// Add counts a duration; a negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)))]++
	h.total++
	h.sum += max(d, 0)
}

// Quantile returns the q-quantile in microseconds, 0 while empty.
func (h *Histogram) Quantile(q float64) float64 {
	rank, seen := uint64(math.Ceil(q*float64(h.total))), uint64(0)
	for b, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return upper(b) / 1e3
		}
	}
	return 0
}

// Latency is a distribution of durations.
type Latency struct {
	Count   uint64
	Sum     time.Duration
	Buckets []LatencyBucket // ascending, each an octave
}

// LatencyBucket counts the durations below Below, shorter ones included.
type LatencyBucket struct {
	Below time.Duration
	Count uint64
}

// Bounds of Latency.Buckets in octaves of nanoseconds: 33 µs to 17 s.
const (
	firstOctave = 15
	lastOctave  = 34
)

// Cumulative returns what was counted, by octaves.
func (h *Histogram) Cumulative() Latency {
	l := Latency{Count: h.total, Sum: h.sum}
	seen, b := uint64(0), 0
	for octave := firstOctave; octave <= lastOctave; octave++ {
		for ; b < octave*perOctave; b++ {
			seen += h.counts[b]
		}
		l.Buckets = append(l.Buckets, LatencyBucket{Below: 1 << octave, Count: seen})
	}
	return l
}
