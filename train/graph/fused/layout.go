package fused

import "github.com/yardmaster/yardmaster/models/nn/kernel"

// Layout says how candidates' rows are cut into rounds. Operations that take a
// *Layout follow its changes.
type Layout struct {
	starts []int // first row of each round, then the number of rows
	mask   []bool
}

// Reset empties the layout.
func (l *Layout) Reset() {
	l.starts, l.mask = append(l.starts[:0], 0), l.mask[:0]
}

// Add appends a round with these legal candidates.
func (l *Layout) Add(mask []bool) {
	l.mask = append(l.mask, mask...)
	l.starts = append(l.starts, len(l.mask))
}

// Rounds returns the number of rounds.
func (l *Layout) Rounds() int { return max(0, len(l.starts)-1) }

// Rows returns the number of rows of all rounds.
func (l *Layout) Rows() int { return len(l.mask) }

// span returns the rows of round r.
func (l *Layout) span(r int) (from, to int) { return l.starts[r], l.starts[r+1] }

// pool writes the mean of each round's rows of x to its row of out.
func (l *Layout) pool(out, x []float32, cols int) {
	for r := range l.Rounds() {
		from, to := l.span(r)
		kernel.MeanRows(out[r*cols:][:cols], x[from*cols:], l.mask[from:to])
	}
}

// unpool adds to dx what each round's mean passes back of dy.
func (l *Layout) unpool(dx, dy []float32, cols int) {
	for r := range l.Rounds() {
		from, to := l.span(r)
		kernel.MeanRowsGradient(dx[from*cols:], dy[r*cols:][:cols], l.mask[from:to])
	}
}

// sums writes the sum of each round's rows of x to its row of out.
func (l *Layout) sums(out, x []float32, cols int) {
	clear(out)
	for r := range l.Rounds() {
		from, to := l.span(r)
		kernel.SumRows(out[r*cols:][:cols], x[from*cols:], to-from, nil)
	}
}
