package simplex

import "context"

// budget counts the pivots of one Solve over all its stages.
type budget struct {
	ctx    context.Context
	limit  int
	pivots int
	over   bool
}

// spend counts one pivot and reports whether it may be done. Once false, it
// stays so.
func (b *budget) spend() bool {
	// Asking a context takes a lock, so it is asked now and then only.
	if b.pivots >= b.limit || b.pivots%8 == 0 && b.ctx.Err() != nil {
		b.over = true
	}
	if !b.over {
		b.pivots++
	}
	return !b.over
}
