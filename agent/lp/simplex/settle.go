package simplex

import "math"

// settling says how prices of a search that was ended early, which are off, so that
// too many jobs want some resources and too few others, are moved: so many times,
// by this power of what is wanted over what there is. One over the elasticity of
// demand would be Newton's step; more than twice that overshoots.
type settling struct {
	times int
	power float64
}

var (
	settleSum    = settling{8, 0.2}
	settleLevels = settling{8, 0.1} // a job that needs a rate compares costs only
)

// settle moves the prices towards those at which what all keys take is what there
// is; reply makes the keys those that fit the prices.
func (e *core) settle(s settling, reply func()) {
	if !sanitize(e.price) {
		return
	}
	for range s.times {
		e.requote()
		reply()
		for k, used := range e.usageOfKeys() {
			ratio := min(max(used/e.capacity[k], 0.25), 4)
			if ratio > 1 {
				e.price[k] = max(e.price[k], 0.01*e.box.unit[k])
			}
			e.price[k] *= math.Pow(ratio, s.power)
		}
	}
	e.requote()
	reply()
}
