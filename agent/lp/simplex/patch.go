package simplex

// levels is into how many classes patch sorts the jobs by what they gain beyond
// their cost: the answer is the better, the finer, and n·log n would be too slow.
const levels = 64

// patch makes an answer to Sum of prices that are about right, for a search that
// was ended early: each job takes the candidate that gains most at the prices, the
// ones that gain most come first, and where there is no room, the next best is
// taken that there is room for. Scaling all down instead would cost as much as the
// prices are off; this costs the square of it. It returns the weights, shape [m]
// of the full instance. e has been quoted.
func (s *solver) patch(e *core) []float64 {
	p := &patching{s: s, e: e, x: make([]float64, len(s.full.rate)), left: make([]float64, s.full.k)}
	copy(p.left, s.full.capacity)
	order := p.order()
	var waiting []int32
	for _, j := range order {
		if !p.take(j, 0) {
			waiting = append(waiting, j)
		}
	}
	for _, loss := range []float64{0.02, 0.1, 0.5} { // what is left goes for less
		rest := waiting[:0]
		for _, j := range waiting {
			if !p.take(j, loss) {
				rest = append(rest, j)
			}
		}
		waiting = rest
	}
	for _, j := range waiting {
		p.takePart(j)
	}
	return p.x
}

// patched returns the better of the answers that e, which was ended early, holds
// and that its prices make.
func (s *solver) patched(e *core) *Result {
	r := s.result(e, nil)
	if len(e.jobs) < e.in.n {
		return r
	}
	e.settle(settleSum, func() {
		for _, j := range e.jobs {
			e.quote(j)
			e.keys[j], _ = e.pricer.improve(e, j)
		}
	})
	x := s.patch(e)
	if shares := s.sharesOf(sparse(x)); objective(s.p, shares) > objective(s.p, r.Shares) {
		r.Shares = shares
	}
	if prices := s.pricesOf(e.price, 1); bound(s.p, prices, nil) < bound(s.p, r.Prices, nil) {
		r.Prices = prices
	}
	return r
}

// patching is an answer in the making.
type patching struct {
	s    *solver
	e    *core
	x    []float64 // [m]
	left []float64 // [k]
}

// order returns all jobs, those that gain most beyond their cost first, in levels.
func (p *patching) order() []int32 {
	in := p.s.full
	level := make([]uint8, in.n)
	for j := range level {
		best, cost := 0.0, 1.0
		for i := in.start[j]; i < in.start[j+1]; i++ {
			if c := p.e.cost[in.vector[i]]; in.rate[i]-c > best {
				best, cost = in.rate[i]-c, c
			}
		}
		l := levels - 1
		if best < cost {
			l = int(best / cost * levels)
		}
		level[j] = uint8(levels - 1 - min(l, levels-1))
	}
	return byLevel(level)
}

// byLevel returns the jobs in the order of their levels, ascending, those of one
// level in their own: a counting sort.
func byLevel(level []uint8) []int32 {
	var count [levels + 1]int32
	for _, l := range level {
		count[l+1]++
	}
	for l := range levels {
		count[l+1] += count[l]
	}
	order := make([]int32, len(level))
	for j, l := range level {
		order[count[l]] = int32(j)
		count[l]++
	}
	return order
}

// take gives job j the candidate that gains most of those that there is room for,
// if it loses no more than this part of its cost.
func (p *patching) take(j int32, loss float64) bool {
	in := p.s.full
	best, gain := int32(none), 0.0
	for i := in.start[j]; i < in.start[j+1]; i++ {
		c := p.e.cost[in.vector[i]]
		if g := in.rate[i] - c; g >= -loss*c && (best == none || g > gain) && p.room(i) >= 1 {
			best, gain = i, g
		}
	}
	if best == none {
		return false
	}
	p.give(best, 1)
	return true
}

// takePart gives job j the part of a candidate that there is room for.
func (p *patching) takePart(j int32) {
	in := p.s.full
	best, gain, part := int32(none), 0.0, 0.0
	for i := in.start[j]; i < in.start[j+1]; i++ {
		if room := min(p.room(i), 1); room*in.rate[i] > gain {
			best, gain, part = i, room*in.rate[i], room
		}
	}
	if best != none && part > 1e-9 {
		p.give(best, part)
	}
}

// room returns how much of candidate i there is room for.
func (p *patching) room(i int32) float64 {
	in := p.s.full
	q := in.vector[i]
	room := maxNumber
	for t := in.ptr[q]; t < in.ptr[q+1]; t++ {
		room = min(room, p.left[in.row[t]]/in.amount[t])
	}
	return room
}

func (p *patching) give(i int32, part float64) {
	p.x[i] = part
	p.s.full.addUsage(p.left, i, -part)
	for k, left := range p.left {
		p.left[k] = max(left, 0)
	}
}
