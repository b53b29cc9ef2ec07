// Package radix sorts items by integer keys in time proportional to their
// number: least significant digit first, so that items of equal keys stay in
// their order. From some hundred items on it is several times faster than
// sorting by comparisons.
package radix

import "math"

// Item is a key and what it stands for.
type Item struct {
	Key   uint64
	Index int32
}

const (
	digitBits = 8
	digits    = (64 + digitBits - 1) / digitBits
	values    = 1 << digitBits
)

// Sorter sorts. It holds scratch memory: the zero value is ready to use, and it
// is not safe for concurrent use.
type Sorter struct {
	counts [digits][values]uint32
	spare  []Item
}

// Sort sorts items by ascending key, in the order they came in where keys are
// equal. Digits in which no two keys differ cost one look each.
func (s *Sorter) Sort(items []Item) {
	if len(items) < 2 {
		return
	}
	if cap(s.spare) < len(items) {
		s.spare = make([]Item, len(items)+len(items)/2)
	}
	s.count(items)
	from, to := items, s.spare[:len(items)]
	for d := range digits {
		if int(s.counts[d][digit(items[0].Key, d)]) == len(items) {
			continue
		}
		distribute(to, from, &s.counts[d], d)
		from, to = to, from
	}
	if &from[0] != &items[0] {
		copy(items, from)
	}
}

func digit(key uint64, d int) int { return int(key >> (d * digitBits) % values) }

// count counts the values of every digit, in one pass.
func (s *Sorter) count(items []Item) {
	clear(s.counts[:])
	for i := range items {
		key := items[i].Key
		for d := range digits {
			s.counts[d][digit(key, d)]++
		}
	}
}

// distribute moves from to to by digit d, whose values counts has.
func distribute(to, from []Item, counts *[values]uint32, d int) {
	var starts [values]uint32
	total := uint32(0)
	for v, n := range counts {
		starts[v] = total
		total += n
	}
	shift := d * digitBits
	for i := range from {
		v := from[i].Key >> shift % values
		to[starts[v]] = from[i]
		starts[v]++
	}
}

// Float64 returns a key that orders as x does, both zeros alike; x must not be
// NaN.
func Float64(x float64) uint64 {
	bits := math.Float64bits(x + 0) // -0 + 0 is +0
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// Float32 is [Float64] for float32: its keys have 32 bits, which sort in half the
// time.
func Float32(x float32) uint64 {
	bits := math.Float32bits(x + 0)
	if bits>>31 != 0 {
		return uint64(^bits)
	}
	return uint64(bits | 1<<31)
}
