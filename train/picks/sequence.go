// Package picks is the probability of a round's picks and its derivatives.
//
// Within a round the scores s[i] of the candidates stay as they are. Pick p
// chooses row i among the rows that are legal at that time, L(p), with
// probability
//
//	π(i | p) = exp(s[i]) / Z(p),  Z(p) = Σ_{i ∈ L(p)} exp(s[i])
//
// so the log-probability of the round is the sum over its picks. Legal sets
// shrink as GPUs are taken, which makes every sum here cost O(N + P) for N rows
// and P picks, not O(N·P): Z(p) is a suffix sum over the rows by the pick at
// which they stop being legal, and the derivative of a row needs only sums of
// 1/Z(p) over the picks at which it was legal. All terms are positive, so that
// nothing cancels.
package picks

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// Sequence is what was picked in a round and what was legal at each pick.
type Sequence struct {
	Actions []env.Action // [P]
	// Row i is legal at the picks From[i] <= p < Until[i]. Shapes [N].
	From, Until []int32
}

// Legal reports whether row i was legal at pick p.
func (q *Sequence) Legal(i, p int) bool { return int(q.From[i]) <= p && p < int(q.Until[i]) }

// ErrNotInterval is returned by Add for a mask under which a row becomes legal
// again: the round has to be split there.
var ErrNotInterval = errors.New("picks: a row is legal again")

// Reset makes q the empty sequence over n rows, reusing its memory.
func (q *Sequence) Reset(n int) {
	q.Actions = q.Actions[:0]
	q.From, q.Until = grow(q.From, n), grow(q.Until, n)
	clear(q.From)
	clear(q.Until)
}

// Add appends the pick of action a under mask. It returns ErrNotInterval and
// leaves q as it was if mask allows a row that was legal before and then was
// not.
func (q *Sequence) Add(a env.Action, mask []bool) error {
	p := int32(len(q.Actions))
	if len(mask) != len(q.Until) || a < 0 || int(a) >= len(mask) || !mask[a] {
		return fmt.Errorf("%w: pick %d is row %d of %d", env.ErrInvalidAction, p, a, len(mask))
	}
	for i, legal := range mask {
		if legal && q.Until[i] != p && q.Until[i] != 0 {
			return ErrNotInterval
		}
	}
	for i, legal := range mask {
		if !legal {
			continue
		}
		if q.Until[i] == 0 {
			q.From[i] = p
		}
		q.Until[i] = p + 1
	}
	q.Actions = append(q.Actions, a)
	return nil
}

// CopyTo copies q into dst, reusing dst's memory.
func (q *Sequence) CopyTo(dst *Sequence) {
	dst.Actions = append(dst.Actions[:0], q.Actions...)
	dst.From = append(dst.From[:0], q.From...)
	dst.Until = append(dst.Until[:0], q.Until...)
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}
