package gavel

import "math/bits"

// mersenne draws the numbers of Python's random.Random(seed), on which the
// original depends: MT19937 (Matsumoto and Nishimura, ACM TOMACS 1998) seeded
// by array (their mt19937ar.c), with the ways of Python's random module to make
// indices and fractions of its words.
type mersenne struct {
	state [mtWords]uint32
	next  int
}

const (
	mtWords  = 624
	mtMiddle = 397
)

func newMersenne(seed uint64) *mersenne {
	key := []uint32{uint32(seed)}
	if high := uint32(seed >> 32); high != 0 {
		key = append(key, high)
	}
	m := &mersenne{next: mtWords}
	m.fill(19650218)
	m.mix(key)
	return m
}

// fill makes the state from one word.
func (m *mersenne) fill(word uint32) {
	m.state[0] = word
	for i := 1; i < mtWords; i++ {
		before := m.state[i-1]
		m.state[i] = 1812433253*(before^before>>30) + uint32(i)
	}
}

// mix stirs a key of at most 624 words into the state.
func (m *mersenne) mix(key []uint32) {
	i, k := 1, 0
	advance := func() {
		if i++; i == mtWords {
			m.state[0], i = m.state[mtWords-1], 1
		}
	}
	for range mtWords {
		before := m.state[i-1]
		m.state[i] = (m.state[i] ^ (before^before>>30)*1664525) + key[k] + uint32(k)
		advance()
		k = (k + 1) % len(key)
	}
	for range mtWords - 1 {
		before := m.state[i-1]
		m.state[i] = (m.state[i] ^ (before^before>>30)*1566083941) - uint32(i)
		advance()
	}
	m.state[0] = 1 << 31
}

// twist makes the next 624 words.
func (m *mersenne) twist() {
	for i := range m.state {
		y := m.state[i]&(1<<31) | m.state[(i+1)%mtWords]&(1<<31-1)
		word := m.state[(i+mtMiddle)%mtWords] ^ y>>1
		if y&1 != 0 {
			word ^= 0x9908b0df
		}
		m.state[i] = word
	}
	m.next = 0
}

func (m *mersenne) uint32() uint32 {
	if m.next == mtWords {
		m.twist()
	}
	y := m.state[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 returns a number in [0, 1): random().
func (m *mersenne) float64() float64 {
	high, low := m.uint32()>>5, m.uint32()>>6
	return float64(uint64(high)<<26|uint64(low)) / (1 << 53)
}

// below returns a number from 0 to n-1: the high bits of words until one fits.
func (m *mersenne) below(n int) int {
	shift := 32 - bits.Len(uint(n))
	for {
		if r := int(m.uint32() >> shift); r < n {
			return r
		}
	}
}

// shuffle permutes order: shuffle().
func (m *mersenne) shuffle(order []int) {
	for i := len(order) - 1; i > 0; i-- {
		j := m.below(i + 1)
		order[i], order[j] = order[j], order[i]
	}
}
