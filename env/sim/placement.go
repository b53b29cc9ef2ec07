package sim

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// placement says which GPUs of which nodes each running job holds. The pieces
// of a job form a list; all lists share one slice.
type placement struct {
	free     []int32   // GPUs of each node in service that no job has a part of
	segments []segment // lists of pieces
	unused   int32     // list of the pieces that no job has
	slots    []slot    // GPUs that jobs share
	stirred  bool      // who shares them changed since rates were worked out
}

// Placement says which of the nodes with room a job gets.
type Placement uint8

const (
	// Consolidate takes the node with the fewest free GPUs that are enough, and
	// GPUs that are shared already before free ones: large jobs find room.
	Consolidate Placement = iota
	// Spread takes the node with the most free GPUs, and GPUs of its own for a
	// job that would share them: jobs disturb each other less, large ones are
	// split over more nodes sooner.
	Spread
)

var placementNames = [...]string{"consolidate", "spread"}

func (p Placement) String() string {
	if int(p) < len(placementNames) {
		return placementNames[p]
	}
	return fmt.Sprintf("Placement(%d)", uint8(p))
}

// segment is the share of one job on one node.
type segment struct {
	node, gpus int32
	slot       int32 // the GPU, of which it is one part, where that is shared, or none
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
	p.segments, p.slots = p.segments[:0], p.slots[:0]
	p.unused, p.stirred = none, false
}

// place takes gpus GPUs from these nodes, which have that many free, on as few
// nodes as possible: while no node has enough, the emptiest one is filled; the
// rest goes to the fullest node that still has room for it, or to the emptiest
// where how is Spread. Ties go to the first node. It returns the list of pieces.
func (p *placement) place(nodes []int32, gpus int, how Placement) (first int32) {
	first = none
	for left := int32(gpus); left > 0; {
		node := p.choose(nodes, left, how)
		taken := min(left, p.free[node])
		p.free[node] -= taken
		left -= taken
		first = p.link(segment{node: node, gpus: taken, slot: none, next: first})
	}
	return first
}

// choose returns the node with the fewest free GPUs among those with at least
// want, or the one with the most if none has as many or how is Spread.
func (p *placement) choose(nodes []int32, want int32, how Placement) int32 {
	if how == Spread {
		want = math.MaxInt32
	}
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

// nodesOf returns the number of nodes of the list of pieces at first.
func (p *placement) nodesOf(first int32) int {
	n := 0
	for at := first; at != none; at = p.segments[at].next {
		node, again := p.segments[at].node, false
		if p.segments[at].slot != none { // GPUs that a job shares have a piece each
			for before := first; before != at && !again; before = p.segments[before].next {
				again = p.segments[before].node == node
			}
		}
		if !again {
			n++
		}
	}
	return n
}

// setFree says that this many GPUs of a node, which no job is on, can be taken.
func (p *placement) setFree(node int, gpus int32) {
	if p.free != nil {
		p.free[node] = gpus
	}
}

// release frees the GPUs of the list of a job (index in episode.jobs) that begins
// at *first and empties it.
func (p *placement) release(first *int32, job int) {
	for at := *first; at != none; {
		g := &p.segments[at]
		if g.slot != none {
			p.leave(g.slot, job)
		} else {
			p.free[g.node] += g.gpus
		}
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
	dst.slots = append(dst.slots[:0], p.slots...)
	dst.unused, dst.stirred = p.unused, p.stirred
}
