package gavel

import (
	"math/bits"
	"slices"
)

// noFraction is the factor of the share of a job on a type that no job has
// received time on (the 1e9 of scheduler.py).
const noFraction = 1e9

// queue holds the jobs that fit a type, in the order of the last round that
// needed it.
type queue []entry

type entry struct {
	priority float64
	job      int32
}

// before reports whether a is served before b on type t: Gavel's stable sort by
// (priority, deficit, share), descending, of jobs in the order of their IDs.
func (s *Sim) before(a, b entry, t int) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return s.compare(a, b, t) < 0
}

func (s *Sim) compare(a, b entry, t int) int {
	c, d := s.cell(a.job, t), s.cell(b.job, t)
	switch {
	case a.priority != b.priority:
		return sign(b.priority > a.priority)
	case c.deficit != d.deficit:
		return sign(d.deficit > c.deficit)
	case c.share != d.share:
		return sign(d.share > c.share)
	}
	return int(a.job) - int(b.job)
}

func sign(after bool) int {
	if after {
		return 1
	}
	return -1
}

// prioritize computes the priorities of the queue of type t and sorts it. The
// jobs that ran in the last round fell back; those that did not are still in
// order, for their priorities grew alike. So both parts are all but sorted and
// are merged.
func (s *Sim) prioritize(t int) {
	c := &s.choice
	q := c.queues[t]
	worked := s.worked[t]
	idle, ran := 0, c.scratch[:0]
	for i := range q {
		e := &q[i]
		cell := s.cell(e.job, t)
		e.priority = 0
		switch {
		case cell.share == 0:
		case worked == 0:
			e.priority = cell.share * noFraction
		default:
			e.priority = cell.share / (cell.received / worked)
		}
		if cell.ran == c.number-1 {
			ran = append(ran, *e)
		} else {
			q[idle] = *e
			idle++
		}
	}
	s.sort(q[:idle], t)
	s.sort(ran, t)
	s.merge(q, idle, ran, t)
}

// sort sorts entries that are nearly sorted: by insertion, until that proves
// slow.
func (s *Sim) sort(q queue, t int) {
	budget := 4 * len(q) * bits.Len(uint(len(q)))
	for i := 1; i < len(q); i++ {
		e := q[i]
		at := i
		for ; at > 0 && s.before(e, q[at-1], t); at-- {
			q[at] = q[at-1]
		}
		q[at] = e
		if budget -= i - at; budget < 0 {
			slices.SortFunc(q, func(a, b entry) int { return s.compare(a, b, t) })
			return
		}
	}
}

// merge merges the first n entries of q and those of other, both sorted, into q.
func (s *Sim) merge(q queue, n int, other []entry, t int) {
	i, j := n-1, len(other)-1
	for at := len(q) - 1; j >= 0; at-- {
		if i >= 0 && s.before(other[j], q[i], t) {
			q[at] = q[i]
			i--
		} else {
			q[at] = other[j]
			j--
		}
	}
}
