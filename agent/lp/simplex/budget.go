package simplex

import "context"

// budget counts the pivots of one Solve over all its stages.
type budget struct {
	ctx    context.Context
	limit  int
	pivots int
	over   bool
	// interrupt ends the search early; may be nil.
	interrupt func() bool
}

// ended asks the caller whether to go on.
func (b *budget) ended() bool {
	return b.ctx.Err() != nil || b.interrupt != nil && b.interrupt()
}

// spend counts one pivot and reports whether it may be done. Once false, it
// stays so.
func (b *budget) spend() bool {
	// Asking a context takes a lock, so it is asked now and then only.
	if b.pivots >= b.limit || b.pivots%8 == 0 && b.ended() {
		b.over = true
	}
	if !b.over {
		b.pivots++
	}
	return !b.over
}

// interrupted asks the caller whether to go on, between passes over the jobs, and
// reports whether the search has been ended.
func (b *budget) interrupted() bool {
	b.over = b.over || b.ended()
	return b.over
}
