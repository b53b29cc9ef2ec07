package fused

import "github.com/yardmaster/yardmaster/models/nn/kernel"

// Layout says how candidates' rows are cut into rounds. Operations that take a
// *Layout follow its changes.
type Layout struct {
	starts []int // first row of each round, then the number of rows
	mask   []bool
	legal  []int // candidates that count of each round
}

// Reset empties the layout.
func (l *Layout) Reset() {
	l.starts, l.mask, l.legal = append(l.starts[:0], 0), l.mask[:0], l.legal[:0]
}

// Add appends a round with these legal candidates.
func (l *Layout) Add(mask []bool) {
	l.mask = append(l.mask, mask...)
	l.starts = append(l.starts, len(l.mask))
	l.legal = append(l.legal, count(mask))
}

// Rounds returns the number of rounds.
func (l *Layout) Rounds() int { return len(l.legal) }

// Rows returns the number of rows of all rounds.
func (l *Layout) Rows() int { return len(l.mask) }

// span returns the rows of round r.
func (l *Layout) span(r int) (from, to int) { return l.starts[r], l.starts[r+1] }

// counts returns the mask of round r and how many rows a mean over it takes:
// the legal ones, or all where none is.
func (l *Layout) counts(r int) (mask []bool, all bool, n int) {
	from, to := l.span(r)
	n = l.legal[r]
	if all = n == 0; all {
		n = to - from
	}
	return l.mask[from:to], all, n
}

func count(mask []bool) int {
	n := 0
	for _, legal := range mask {
		if legal {
			n++
		}
	}
	return n
}

// pool writes the mean of each round's rows of x to its row of out.
func (l *Layout) pool(out, x []float32, cols int) {
	for r := range l.Rounds() {
		from, _ := l.span(r)
		mask, _, _ := l.counts(r)
		kernel.MeanRows(out[r*cols:][:cols], x[from*cols:], mask)
	}
}

// unpool adds to dx what each round's mean passes back of dy.
func (l *Layout) unpool(dx, dy []float32, cols int) {
	for r := range l.Rounds() {
		from, _ := l.span(r)
		mask, all, n := l.counts(r)
		for i, legal := range mask {
			if legal || all {
				kernel.AddScaled(dx[(from+i)*cols:][:cols], dy[r*cols:][:cols], 1/float32(n))
			}
		}
	}
}

// sums writes the sum of each round's rows of x to its row of out.
func (l *Layout) sums(out, x []float32, cols int) {
	clear(out)
	for r := range l.Rounds() {
		from, to := l.span(r)
		for i := from; i < to; i++ {
			kernel.AddScaled(out[r*cols:][:cols], x[i*cols:][:cols], 1)
		}
	}
}
