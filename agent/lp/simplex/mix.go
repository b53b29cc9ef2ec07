package simplex

// mixPricer prices the program in which every job gets the rate that lifts it to
// a level, no more and no less: its columns mix a candidate below that rate, or
// none, and one at or above it. More is never worth its price, because a share
// can be reduced.
type mixPricer struct {
	in    *instance
	level float64   // z >= 0; at most the ceiling of every job
	proof []float64 // [k] prices at which a higher level costs too much
	// hasty says that the guess was good: levels are not worked out to the last
	// digit before the prices are right, and pivots go by a shortlist.
	hasty bool
	// hopeless says that, at these prices, level 0 costs too much.
	hopeless bool
}

func (m *mixPricer) cost(column) float64 { return 0 }

func (m *mixPricer) improve(e *core, j int32) (column, float64) {
	key := e.keys[j]
	before := e.costOfMix(key)
	best, cost, _ := m.best(e, key)
	if gain := before - cost; gain > e.tol*(before+e.floor) {
		return best, gain
	}
	return key, 0
}

// best returns the cheapest mix of the job of c, a mix of this level, with its
// cost and how fast the cost rises with the rate.
func (m *mixPricer) best(e *core, c column) (_ column, cost, slope float64) {
	rate, _ := m.in.needed(c.job, m.level)
	c, slope = e.hull(c, rate, nil)
	return c, e.costOfMix(c), slope
}

// bracket turns a mix of another level into one of this level.
func (m *mixPricer) bracket(c column) column {
	rate, _ := m.in.needed(c.job, m.level)
	return m.in.bracket(c, rate)
}
