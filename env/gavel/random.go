package gavel

// Random draws as Python's random.Random(seed) does, for policies of the
// original that draw.
type Random struct{ m *mersenne }

// NewRandom returns the generator of this seed.
func NewRandom(seed uint64) *Random { return &Random{newMersenne(seed)} }

// Two returns two different numbers from 0 to n-1, those that sample(range(n), 2)
// returns. It panics if n < 2.
func (r *Random) Two(n int) (first, second int) {
	if n < 2 {
		panic("gavel: two of fewer than two")
	}
	const poolSize = 21 // up to which the original draws from what is left
	first = r.m.below(n)
	if n <= poolSize {
		if second = r.m.below(n - 1); second == first {
			second = n - 1 // which took the place of the first
		}
		return first, second
	}
	for second = r.m.below(n); second == first; {
		second = r.m.below(n)
	}
	return first, second
}
