package simplex

import "math"

// box keeps the price of each resource within [low, high], around a centre.
type box struct {
	centre, width []float64 // [k]; width in units of unit
	unit          []float64 // [k] what counts as a natural change of the price
	cap           []float64 // [k] no optimal price is higher
	low, high     []float64 // [k]
}

func newBox(k int) box {
	vectors := func() []float64 { return make([]float64, k) }
	return box{vectors(), vectors(), vectors(), vectors(), vectors(), vectors()}
}

// set centres the box on prices, width·max(price, unit) to each side.
func (b *box) set(prices []float64) {
	copy(b.centre, prices)
	for k := range prices {
		b.centre[k] = min(b.centre[k], b.cap[k])
		b.fit(k)
	}
}

func (b *box) fit(k int) {
	side := b.width[k] * max(b.centre[k], b.unit[k])
	b.low[k] = max(0, b.centre[k]-side)
	b.high[k] = min(b.cap[k], b.centre[k]+side)
}

// violated returns the elastic column of the row whose price is furthest outside
// the box, and by how much; 0 if all are inside.
func (b *box) violated(prices []float64) (column, float64) {
	var c column
	most := 0.0
	for k, p := range prices {
		if by := p - b.high[k]; by > most && by > boxSlack*b.high[k] {
			c, most = column{job: over, lo: int32(k)}, by
		}
		if by := b.low[k] - p; by > most && by > boxSlack*(b.low[k]+b.unit[k]) {
			c, most = column{job: under, lo: int32(k)}, by
		}
	}
	return c, most
}

// grow widens the box of the rows whose elastic columns are still in use, where
// that can help, and reports whether there were any.
func (e *core) grow() bool {
	grown := false
	for r, c := range e.cols {
		k := c.lo
		if c.job != over && c.job != under || e.x[r] <= 4e-10*math.Abs(e.capacity[k]) {
			continue
		}
		b := &e.box
		if c.job == over && b.high[k] < b.cap[k] || c.job == under && b.low[k] > 0 {
			b.width[k] *= 3
			b.fit(int(k))
			grown = true
		}
	}
	if grown {
		e.computePrices()
	}
	return grown
}

// shrink narrows the box around the prices for the next stage.
func (b *box) shrink() {
	for k := range b.width {
		b.width[k] = max(b.width[k]/10, 1e-6)
	}
}

// setAll gives every row the same width.
func (b *box) setAll(width float64) {
	for k := range b.width {
		b.width[k] = width
	}
}

// sanitize replaces negative prices, which rounding leaves, by 0, and reports
// whether all are finite.
func sanitize(prices []float64) bool {
	for k, p := range prices {
		if math.IsNaN(p) || math.IsInf(p, 0) {
			return false
		}
		prices[k] = max(p, 0)
	}
	return true
}
