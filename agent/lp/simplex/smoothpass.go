package simplex

// pass sums up what the jobs take at the prices, and how that changes.
func (s *smoothing) pass() {
	e := s.e
	clear(s.curve)
	for k, c := range e.capacity {
		s.excess[k] = s.used[k] - c
		s.lift[k] = s.rise[k]
		if s.level != nil {
			s.excess[k] += s.rise[k] * (*s.level - s.listed)
		}
	}
	s.near = 0
	for _, j := range s.active {
		e.quote(j)
		var w float64
		s.choices, w = s.jobs.choices(e, j, s.window, s.choices[:0])
		count := e.in.count[j]
		switch n := len(s.choices); {
		case n == 1:
			e.in.addVector(s.excess, s.choices[0].vector, count)
		case s.level == nil:
			s.near++
			s.divide(count, w)
		default:
			if n > 2 {
				s.near++
			}
			s.mix(j, w)
		}
	}
}

// divide shares a job's time among its choices: x = t - loss/w, with the t for which
// the sum is 1, over those where that is positive.
func (s *smoothing) divide(count, w float64) {
	list := s.choices
	for {
		t := w
		for _, c := range list {
			t += c.loss
		}
		t /= float64(len(list))
		rest := list[:0]
		for _, c := range list {
			if c.x = (t - c.loss) / w; c.x > 0 {
				rest = append(rest, c)
			}
		}
		if len(rest) == len(list) {
			break
		}
		list = rest
	}
	for _, c := range list {
		s.e.in.addVector(s.excess, c.vector, count*c.x)
	}
	if len(list) > 1 {
		s.bend(list, count/w, momentsOf(list), false)
	}
}

// moments are sums over choices: their number, the sums of their rates and of the
// squares of these.
type moments struct{ n, r, rr float64 }

func momentsOf(list []choice) moments {
	m := moments{n: float64(len(list))}
	for _, c := range list {
		m.r += c.rate
		m.rr += c.rate * c.rate
	}
	return m
}

// det is the determinant of the equations for the two multipliers of mix, 0 where
// rounding decides it.
func (m moments) det() float64 {
	if d := m.n*m.rr - m.r*m.r; d > 1e-9*m.n*m.rr {
		return d
	}
	return 0
}

// mix shares the time of job j among its choices so that it gets its rate.
func (s *smoothing) mix(j int32, w float64) {
	in := s.e.in
	rate, rise := s.jobs.target(j)
	count := in.count[j]
	lo, hi := s.choices[0], s.choices[1]
	list, m := solveMix(s.choices, w, rate)
	if list == nil { // rounding has the word, or the rate is that of one choice
		part := min(max((rate-lo.rate)/(hi.rate-lo.rate), 0), 1)
		in.addVector(s.excess, lo.vector, count*(1-part))
		in.addVector(s.excess, hi.vector, count*part)
		f := count * rise / (hi.rate - lo.rate)
		in.addVector(s.lift, hi.vector, f)
		in.addVector(s.lift, lo.vector, -f)
		return
	}
	for _, c := range list {
		in.addVector(s.excess, c.vector, count*c.x)
		in.addVector(s.lift, c.vector, count*rise*(m.n*c.rate-m.r)/m.det())
	}
	if len(list) > 2 {
		s.bend(list, count/w, m, true)
	}
}

// solveMix finds x = t + u·rate - loss/w with the t and u for which the sum is 1 and
// the mean rate right, leaving out the worst below 0 until there is none. It returns
// those that are left, nil if that is no use.
func solveMix(list []choice, w, rate float64) ([]choice, moments) {
	for len(list) >= 2 {
		m := momentsOf(list)
		det := m.det()
		if det == 0 {
			break
		}
		loss, weighted := w, w*rate
		for _, c := range list {
			loss += c.loss
			weighted += c.rate * c.loss
		}
		t, u := (loss*m.rr-weighted*m.r)/det, (weighted*m.n-loss*m.r)/det
		least, worst := 0.0, none
		for i := range list {
			c := &list[i]
			if c.x = (t + u*c.rate - c.loss) / w; c.x < least {
				least, worst = c.x, i
			}
		}
		if worst == none {
			return list, m
		}
		list[worst] = list[len(list)-1]
		list = list[:len(list)-1]
	}
	return nil, moments{}
}

// bend adds f times the projection of the choices' usage to the curvature: onto
// those changes of x that keep its sum and, if rated, the rate.
func (s *smoothing) bend(list []choice, f float64, m moments, rated bool) {
	in, k := s.e.in, s.e.in.k
	s.rows = s.rows[:0]
	for _, c := range list {
		if c.vector == none {
			continue
		}
		first, last := in.ptr[c.vector], in.ptr[c.vector+1]
		for t := first; t < last; t++ {
			r, a := in.row[t], in.amount[t]
			if s.sum[r] == 0 {
				s.rows = append(s.rows, r)
			}
			s.sum[r] += a
			s.rated[r] += a * c.rate
			for o := first; o < last; o++ {
				s.curve[int(r)*k+int(in.row[o])] += f * a * in.amount[o]
			}
		}
	}
	nn, nr, rr := f/m.n, 0.0, 0.0 // the inverse of the moments' matrix
	if rated {
		det := m.det()
		nn, nr, rr = f*m.rr/det, -f*m.r/det, f*m.n/det
	}
	for _, r := range s.rows {
		row := s.curve[int(r)*k : int(r)*k+k]
		a, b := nn*s.sum[r]+nr*s.rated[r], nr*s.sum[r]+rr*s.rated[r]
		for _, c := range s.rows {
			row[c] -= a*s.sum[c] + b*s.rated[c]
		}
	}
	for _, r := range s.rows {
		s.sum[r], s.rated[r] = 0, 0
	}
}
