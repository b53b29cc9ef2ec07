package gavel

import "math/bits"

// shuffler draws the order of the GPU types as the original does: Python's
// random.Random(seed).shuffle. The generator is MT19937 (Matsumoto and
// Nishimura, ACM TOMACS 1998) seeded by array (their mt19937ar.c); an index
// below n is drawn by taking the high bits of words until one is below n.
// Python documents that seed and shuffle keep their results over versions for
// seeds that are whole numbers.
type shuffler struct {
	state [mtWords]uint32
	next  int
}

const (
	mtWords  = 624
	mtMiddle = 397
)

func newShuffler(seed uint64) *shuffler {
	key := []uint32{uint32(seed)}
	if seed>>32 != 0 {
		key = append(key, uint32(seed>>32))
	}
	s := &shuffler{next: mtWords}
	s.seed(19650218)
	s.mix(key)
	return s
}

// seed fills the state from one word.
func (s *shuffler) seed(word uint32) {
	s.state[0] = word
	for i := 1; i < mtWords; i++ {
		before := s.state[i-1]
		s.state[i] = 1812433253*(before^before>>30) + uint32(i)
	}
}

// mix stirs a key of at most 624 words into the state.
func (s *shuffler) mix(key []uint32) {
	i, k := 1, 0
	wrap := func() {
		if i++; i == mtWords {
			s.state[0], i = s.state[mtWords-1], 1
		}
	}
	for range mtWords {
		before := s.state[i-1]
		s.state[i] = (s.state[i] ^ (before^before>>30)*1664525) + key[k] + uint32(k)
		wrap()
		k = (k + 1) % len(key)
	}
	for range mtWords - 1 {
		before := s.state[i-1]
		s.state[i] = (s.state[i] ^ (before^before>>30)*1566083941) - uint32(i)
		wrap()
	}
	s.state[0] = 1 << 31
}

// twist makes the next 624 words.
func (s *shuffler) twist() {
	for i := range s.state {
		y := s.state[i]&(1<<31) | s.state[(i+1)%mtWords]&(1<<31-1)
		word := s.state[(i+mtMiddle)%mtWords] ^ y>>1
		if y&1 != 0 {
			word ^= 0x9908b0df
		}
		s.state[i] = word
	}
	s.next = 0
}

func (s *shuffler) uint32() uint32 {
	if s.next == mtWords {
		s.twist()
	}
	y := s.state[s.next]
	s.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// below returns a number from 0 to n-1.
func (s *shuffler) below(n int) int {
	shift := 32 - bits.Len(uint(n))
	for {
		if r := int(s.uint32() >> shift); r < n {
			return r
		}
	}
}

// shuffle permutes order.
func (s *shuffler) shuffle(order []int) {
	for i := len(order) - 1; i > 0; i-- {
		j := s.below(i + 1)
		order[i], order[j] = order[j], order[i]
	}
}
