package simplex

import "math"

// smoothing moves the prices of a core, and the level of MaxMin, near to the best
// ones before any pivot. Of what is best within a window, every job takes parts that
// change in proportion to the prices instead of all of one: those of the least
//
//	Σ_s loss[s]·x[s] + w/2·Σ_s x[s]²,
//
// where loss says how much worse than the best s is (Nesterov, Math. Program. 2005:
// this makes the dual function smooth). What all jobs take is then piecewise linear
// in the prices, and Newton's method finds where it is what there is. The window
// shrinks until few jobs have a choice in it; from there on pivots are quicker. Jobs
// far from a choice are looked at once, not in every step.
type smoothing struct {
	e      *core
	jobs   chooser
	level  *float64 // of MaxMin, nil for Sum
	top    float64  // the level is not higher
	window float64  // relative to what a job's best costs

	active []int32   // jobs that may come near to a choice
	from   []float64 // [k] prices at which active was listed
	part   float64   // of the prices, within which active holds
	used   []float64 // [k] what the other jobs take
	rise   []float64 // [k] how that rises with the level
	listed float64   // level of which it is true
	taken  []float64 // [q] scratch of list

	near    int       // active jobs with a choice
	excess  []float64 // [k] what all jobs take beyond the capacity
	lift    []float64 // [k] how that rises with the level
	curve   []float64 // [k,k] how it falls with the prices
	choices []choice  // scratch of pass
	sum     []float64 // [k] scratch of bend, 0 between calls
	rated   []float64 // [k] the same
	rows    []int32   // scratch of bend

	last  []float64 // [k] prices before the last step
	step  []float64 // [k] the last step
	gain  float64   // what it promised: step·excess
	backs int       // how often in a row it was shortened
	lines []float64 // [k,k+1] scratch of solve
}

// chooser is a pricer whose jobs can be smoothed.
type chooser interface {
	pricer
	// reply makes the key of job j what is best at the core's prices, and reports
	// whether prices that differ by this part could make something else best.
	reply(e *core, j int32, part float64) bool
	// choices appends what job j may take that loses less than w, which it returns:
	// the window in the core's units. One choice is taken whole; of more, in MaxMin,
	// the first two alone give the rate.
	choices(e *core, j int32, window float64, list []choice) (_ []choice, w float64)
	// target returns the rate that job j has to get and how fast it rises with the
	// level; in Sum 0.
	target(j int32) (rate, rise float64)
}

// choice is something that a job may take.
type choice struct {
	vector int32 // none for nothing
	rate   float64
	loss   float64
	x      float64 // part of the job's time
}

// The schedule, found by trial on clusters like those of the benchmark.
const (
	smoothTrust  = 2     // windows that a step moves a price at most
	smoothShrink = 4     // the window shrinks by so much at most
	smoothGrow   = 2     // and grows by so much where the way is far:
	smoothLong   = 4     // after so many steps in a row longer than it,
	smoothLeap   = 16    // or by so much, after four times as many, once it was not
	smoothKeep   = 5     // windows within which a job is active
	mixKeep      = 3     // in MaxMin, where many more are
	smoothTries  = 20    // steps in a window
	smoothPasses = 100   // steps in all
	smoothEnough = 1.5   // jobs with a choice, per resource, that are few
	smoothMany   = 10    // times as many are too many
	smoothLeast  = 1e-10 // smallest window
	smoothPrior  = 0.02  // elasticity of demand beside that in the window
	copyWindow   = 2e-3  // near-copies all have a choice in it
	copyPart     = 3     // others less than one in so many
)

func newSmoothing(e *core, jobs chooser) *smoothing {
	k := e.in.k
	vectors := func() []float64 { return make([]float64, k) }
	return &smoothing{
		e: e, jobs: jobs,
		from: vectors(), used: vectors(), rise: vectors(), taken: make([]float64, len(e.cost)),
		excess: vectors(), lift: vectors(), curve: make([]float64, k*k), sum: vectors(), rated: vectors(),
		last: vectors(), step: vectors(), lines: make([]float64, k*(k+1)),
	}
}

// run moves the prices to the best ones for windows from size start, or more if the
// way is far, down to size last, and reports whether it came near to them. wary says
// to give up where most jobs have a choice in any window: near-copies.
func (s *smoothing) run(start, last float64, wary bool) bool {
	e := s.e
	s.enter(start, e.jobs)
	settled, tries, long := false, 0, 0
	farFrom, grow := smoothLong, float64(smoothGrow)
	for passes := 0; passes < smoothPasses && tries < smoothTries && !e.budget.interrupted(); passes++ {
		s.pass()
		if wary && s.window <= copyWindow && s.crowded() {
			return false
		}
		size := s.move()
		if s.level != nil && *s.level >= s.top {
			return false // there is enough of everything
		}
		tries++
		if long++; size < s.window || math.IsInf(size, 1) {
			long = 0
		}
		switch {
		case size < s.window/2:
			next := max(last, s.window/smoothShrink, min(size, s.window/2))
			if s.window <= last || next < smoothLeast || s.few(next) {
				e.requote()
				return true
			}
			s.enter(next, s.rest(next))
			settled, tries = true, 0
			farFrom, grow = 4*smoothLong, smoothLeap // some prices have settled: it is far for few
		case long >= farFrom && grow*s.window <= copyWindow:
			s.enter(grow*s.window, e.jobs)
			tries, long = 0, 0
		case s.moved() > s.part:
			s.list(e.jobs)
		default:
			e.requote()
		}
	}
	e.requote()
	return settled && !e.budget.over && (!wary || s.few(s.window/smoothMany))
}

// few reports whether few jobs would have a choice in a window of this size.
func (s *smoothing) few(window float64) bool {
	return float64(s.near)*window < smoothEnough*s.window*float64(s.e.in.k)
}

// crowded reports whether so many jobs have a choice as only near-copies do.
func (s *smoothing) crowded() bool { return copyPart*s.near > len(s.e.jobs) }

// copies reports whether, at prices that are the best ones, most jobs are near-copies.
// Keys may change.
func (s *smoothing) copies() bool {
	s.enter(copyWindow, s.e.jobs)
	s.pass()
	return s.crowded()
}

// enter goes on with another window, in which the other jobs than these stay as they
// were.
func (s *smoothing) enter(window float64, jobs []int32) {
	s.window, s.gain = window, 0
	clear(s.step)
	s.list(jobs)
}

// rest returns the jobs that have to be looked at again for a smaller window: the
// active ones, if the others are known to be far enough from a choice.
func (s *smoothing) rest(window float64) []int32 {
	if s.moved()+s.keep()*window > s.part {
		return s.e.jobs
	}
	return s.active
}

// moved returns by which part the prices have moved since active was listed.
func (s *smoothing) moved() float64 {
	most := 0.0
	for k, p := range s.e.price {
		most = max(most, math.Abs(p-s.from[k])/max(s.from[k], s.e.box.unit[k]))
	}
	return most
}

// keep returns the number of windows within which a job is active.
func (s *smoothing) keep() float64 {
	if s.level != nil {
		return mixKeep
	}
	return smoothKeep
}

// list finds those of jobs, all or the active ones, that are near to a choice, and
// sums up what the others take.
func (s *smoothing) list(jobs []int32) {
	e := s.e
	if len(jobs) == len(e.jobs) {
		clear(s.used)
		clear(s.rise)
		s.active = s.active[:0]
	} else if s.level != nil { // the others go on in proportion
		for k, rise := range s.rise {
			s.used[k] += rise * (*s.level - s.listed)
		}
	}
	if s.level != nil {
		s.listed = *s.level
	}
	s.part = s.keep() * s.window
	copy(s.from, e.price)
	e.requote()
	used, rises := tally{e.in, e.taken}, tally{e.in, s.taken}
	active := s.active[:0]
	for _, j := range jobs {
		e.quote(j)
		if s.jobs.reply(e, j, s.part) {
			active = append(active, j)
			continue
		}
		key := e.keys[j]
		used.column(key, e.in.count[j])
		if s.level != nil {
			_, rise := s.jobs.target(j)
			f := e.in.count[j] * rise / (e.in.rateOf(key.hi) - e.in.rateOf(key.lo))
			rises.column(column{lo: none, hi: key.hi, weight: f}, 1)
			rises.column(column{lo: none, hi: key.lo, weight: -f}, 1)
		}
	}
	used.add(s.used)
	rises.add(s.rise)
	s.active = active
}
