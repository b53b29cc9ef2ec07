package simplex

import "math"

// move goes towards the prices and the level at which jobs would take the capacity if
// they went on changing like this, as far as that can be trusted, and returns the
// length of the way, relative to the prices. Where the last step was too long, it is
// shortened instead, and the length is +Inf.
func (s *smoothing) move() float64 {
	e := s.e
	size := 0.0
	if s.level != nil {
		size = s.raise()
	}
	if s.shorten() {
		return math.Inf(1)
	}
	copy(s.last, e.price)
	longest := s.solve()
	scale := 1 / max(1, longest/(smoothTrust*s.window))
	s.gain = 0
	for k, p := range e.price {
		s.step[k] = min(max(scale*s.step[k], -p), e.box.cap[k]-p)
		s.gain += s.step[k] * s.excess[k]
		e.price[k] += s.step[k]
	}
	return max(size, scale*longest)
}

// shorten goes back along the last step if the dual function, which is convex, rises
// again at its end: to where it is flat if its slope changes evenly. It reports
// whether it did.
func (s *smoothing) shorten() bool {
	gain := 0.0
	for k, step := range s.step {
		gain += step * s.excess[k]
	}
	if !(s.gain > 0 && gain < -0.5*s.gain) || s.backs == 3 {
		s.backs = 0
		return false
	}
	s.backs++
	t := s.gain / (s.gain - gain)
	s.gain *= t
	for k := range s.step {
		s.step[k] *= t
		s.e.price[k] = max(0, s.last[k]+s.step[k])
	}
	return true
}

// raise moves the level to where what the jobs need costs as much as the capacity,
// and returns by which part.
func (s *smoothing) raise() float64 {
	cost, slope := 0.0, 0.0
	for k, p := range s.e.price {
		cost += p * s.excess[k]
		slope += p * s.lift[k]
	}
	z := *s.level
	step := -cost / slope
	if !(math.Abs(step) <= z/2) {
		step = math.Copysign(z/2, step)
	}
	step = min(step, s.top-z)
	for k, lift := range s.lift {
		s.excess[k] += step * lift
	}
	*s.level = z + step
	return math.Abs(step) / z
}

// solve finds Newton's step of the prices and returns its length, relative to them.
// Where few jobs have a choice, the way is long: it is damped such that an excess
// alone moves its price by no more than a step may.
func (s *smoothing) solve() float64 {
	e, n := s.e, s.e.in.k
	m, width := s.lines, n+1
	for r := range n {
		line := m[r*width : r*width+width]
		if e.price[r] <= 0 && s.excess[r] <= 0 {
			clear(line)
			line[r] = 1
			continue
		}
		copy(line, s.curve[r*n:r*n+n])
		damping := max(smoothPrior, math.Abs(s.excess[r])/(smoothTrust*s.window*e.capacity[r]))
		line[r] += damping * e.capacity[r] / s.sizeOf(r)
		line[n] = s.excess[r]
	}
	if !eliminate(m, n, width) {
		clear(s.step)
		return 0
	}
	longest := 0.0
	for r := range n {
		s.step[r] = m[r*width+n]
		if e.price[r] > 0 || s.step[r] > 0 {
			longest = max(longest, math.Abs(s.step[r])/s.sizeOf(r))
		}
	}
	return longest
}

// sizeOf returns what changes of the price of row k are relative to.
func (s *smoothing) sizeOf(k int) float64 { return max(s.e.price[k], s.e.box.unit[k]) }
