package simplex

// nearer is a pricer that can tell which jobs may change their column soon.
type nearer interface {
	// near reports whether key, a job's, is worse than another column at prices that
	// differ by this part from the core's, or at these already.
	near(e *core, key column, part float64) bool
}

// shortlist keeps the jobs that may soon change their column, so that most pivots
// look at these only: the others are looked at when none of these improves
// anything any more, which is the proof of optimality too. Only searches from a
// good guess have one: otherwise too many jobs are near.
type shortlist struct {
	pricer nearer // nil for none
	jobs   []int32
	next   int     // position at which pricing goes on
	part   float64 // of the prices
	alone  bool    // the other jobs are not looked at: something else proves the answer
	stays  bool    // it is as good for the next level of MaxMin, with the same box
}

// nearBoxes is how many widths of the box on the prices count as near.
const nearBoxes = 2

// shorten makes e keep a shortlist, if its pricer can.
func (e *core) shorten() {
	if p, ok := e.pricer.(nearer); ok {
		e.short.pricer = p
		e.list()
	}
}

// list fills the shortlist anew.
func (e *core) list() {
	s := &e.short
	s.jobs, s.next, s.part = s.jobs[:0], 0, 0
	for _, width := range e.box.width {
		s.part = max(s.part, nearBoxes*width)
	}
	for _, j := range e.jobs {
		e.quote(j)
		if s.pricer.near(e, e.keys[j], s.part) {
			s.jobs = append(s.jobs, j)
		}
	}
}

// enteringShort is entering's part for jobs where there is a shortlist.
func (e *core) enteringShort() (column, float64) {
	s := &e.short
	if best, gain := e.bestOf(s.jobs, &s.next, len(s.jobs)); gain > 0 {
		return best, gain
	}
	if e.updates > 0 || s.alone {
		return column{}, 0 // run asks again with fresh numbers
	}
	next := 0
	best, gain := e.bestOf(e.jobs, &next, len(e.jobs))
	if gain > 0 {
		e.list()
	}
	return best, gain
}

// bestOf returns the best column of the first block of jobs, from next on, that
// has any, looking at most at so many jobs.
func (e *core) bestOf(jobs []int32, next *int, most int) (column, float64) {
	var best column
	gain := 0.0
	for seen := 0; seen < most && gain == 0; {
		for i := 0; i < blockSize && seen < most; i++ {
			j := jobs[*next]
			e.quote(j)
			if c, g := e.pricer.improve(e, j); g > gain {
				best, gain = c, g
			}
			if *next++; *next == len(jobs) {
				*next = 0
			}
			seen++
		}
	}
	return best, gain
}

func (s sumPricer) near(e *core, key column, part float64) bool {
	j := key.job
	keyCost := e.costOfCandidate(key.hi)
	least := keyCost - s.in.rateOf(key.hi)
	if key.hi != none && -least < part*keyCost {
		return true
	}
	first, last := s.in.start[j], s.in.start[j+1]
	for i := first; i < last; i++ {
		cost := e.cost[s.in.vector[i]]
		if i != key.hi && cost-s.in.rate[i]-least < part*(cost+keyCost) {
			return true
		}
	}
	return false
}

// near reports whether a mix that prices which differ by this part from the core's
// could make better than c is in sight; also one that is better already.
func (m *mixPricer) near(e *core, c column, part float64) bool {
	loRate, loCost := m.in.rateOf(c.lo), e.costOfCandidate(c.lo)
	hiRate, hiCost := m.in.rateOf(c.hi), e.costOfCandidate(c.hi)
	slope := (hiCost - loCost) / (hiRate - loRate)
	at0 := loCost - slope*loRate
	if c.lo != none && -at0 < part*hiCost {
		return true
	}
	first, last := m.in.start[c.job], m.in.start[c.job+1]
	rates, vectors, costs := m.in.rate[first:last], m.in.vector[first:last], e.cost
	for i, rate := range rates {
		cost := costs[vectors[i]]
		if cost-slope*rate-at0 < part*(cost+hiCost) && int32(i) != c.lo-first && int32(i) != c.hi-first {
			return true
		}
	}
	return false
}
