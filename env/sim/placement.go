package sim

import (
	"github.com/yardmaster/yardmaster/env"
)

// placement says which GPUs of which nodes each running job holds. The pieces
// of a job form a list; all lists share one slice.
type placement struct {
	free     []int32   // free GPUs of each node
	segments []segment // lists of pieces
	unused   int32     // list of the pieces that no job has
}

// segment is the share of one job on one node.
type segment struct {
	node, gpus int32
	next       int32 // index of the job's next segment, or none
}

// none ends a list of segments.
const none = -1

// reset frees all nodes.
func (p *placement) reset(nodes []env.Node) {
	p.free = p.free[:0]
	for _, n := range nodes {
		p.free = append(p.free, int32(n.GPUs))
	}
	p.segments = p.segments[:0]
	p.unused = none
}

// place takes gpus GPUs from these nodes, which have that many free, on as few
// nodes as possible: while no node has enough, the emptiest one is filled; the
// rest goes to the fullest node that still has room for it. Ties go to the
// first node. It returns the list of pieces and its length.
func (p *placement) place(nodes []int32, gpus int) (first int32, count int) {
	first = none
	for left := int32(gpus); left > 0; count++ {
		node := p.choose(nodes, left)
		taken := min(left, p.free[node])
		p.free[node] -= taken
		left -= taken
		first = p.link(segment{node: node, gpus: taken, next: first})
	}
	return first, count
}

// choose returns the node with the fewest free GPUs among those with at least
// want, or the one with the most if none has as many.
func (p *placement) choose(nodes []int32, want int32) int32 {
	best, bestFree := int32(none), int32(0)
	for _, n := range nodes {
		free := p.free[n]
		switch {
		case free == want:
			return n
		case best == none, bestFree < want && free > bestFree, free > want && free < bestFree:
			best, bestFree = n, free
		}
	}
	return best
}

func (p *placement) link(g segment) int32 {
	at := p.unused
	if at == none {
		p.segments = append(p.segments, g)
		return int32(len(p.segments) - 1)
	}
	p.unused = p.segments[at].next
	p.segments[at] = g
	return at
}

// release frees the GPUs of the list that begins at *first and empties it.
func (p *placement) release(first *int32) {
	for at := *first; at != none; {
		g := &p.segments[at]
		p.free[g.node] += g.gpus
		next := g.next
		g.next, p.unused = p.unused, at
		at = next
	}
	*first = none
}

// copyTo copies p into dst, reusing dst's memory.
func (p *placement) copyTo(dst *placement) {
	dst.free = append(dst.free[:0], p.free...)
	dst.segments = append(dst.segments[:0], p.segments...)

	dst.unused = p.unused
}
