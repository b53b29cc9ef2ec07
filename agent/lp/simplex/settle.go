package simplex

import "math"

// Prices of a search that was ended early are off, so that too many jobs want some
// resources and too few others. settlings times, prices move by the settlePower-th
// power of what is wanted over what there is: with the elasticity of demand that
// real jobs have, about 5, that is nearly Newton's step.
const (
	settlings   = 4
	settlePower = 0.1
)

// settle moves the prices towards those at which what all keys take is what there
// is; reply makes the keys those that fit the prices.
func (e *core) settle(reply func()) {
	if !sanitize(e.price) {
		return
	}
	for range settlings {
		e.requote()
		reply()
		for k, used := range e.usageOfKeys() {
			ratio := min(max(used/e.capacity[k], 0.25), 4)
			if ratio > 1 {
				e.price[k] = max(e.price[k], 0.01*e.box.unit[k])
			}
			e.price[k] *= math.Pow(ratio, settlePower)
		}
	}
	e.requote()
	reply()
}
