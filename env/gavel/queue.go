package gavel

import "slices"

// queue holds the jobs that fit a type, in the order of the last round that
// needed it.
type queue struct {
	entries []entry
	known   roster // of entries
	sorted  int64  // the choice that needed it last

	slow      []int32 // the jobs by the time that the steps of a round take, longest first, then by ID
	knownSlow roster  // of slow
}

// roster is how far a list of jobs follows who arrived and who left.
type roster struct {
	next       int32 // the first job not seen to arrive
	departures int   // seen
}

// update returns the jobs that arrived since the last call and have not left,
// and whether others left.
func (r *roster) update(s *Sim) (arrived []int32, left bool) {
	first, _ := slices.BinarySearch(s.active, r.next)
	left = r.departures != s.departures
	*r = roster{int32(s.next), s.departures}
	return s.active[first:], left
}

// entry is a job in a queue, with what decides its place.
type entry struct {
	priority, deficit, share float64
	job                      int32
}

// before reports whether a is served before b: Gavel's stable sort by (priority,
// deficit, share), descending, of jobs in the order of their IDs.
func (a *entry) before(b *entry) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.deficit != b.deficit {
		return a.deficit > b.deficit
	}
	if a.share != b.share {
		return a.share > b.share
	}
	return a.job < b.job
}

// refill brings the entries of the queue of type t up to date.
func (s *Sim) refill(t int) {
	q := &s.choice.queues[t]
	arrived, left := q.known.update(s)
	if left {
		q.entries = slices.DeleteFunc(q.entries, func(e entry) bool { return s.jobs[e.job].gone })
	}
	for _, j := range arrived {
		if s.cell(j, t).rate > 0 {
			q.entries = append(q.entries, entry{job: j})
		}
	}
}

// slowest returns the jobs that fit type t, slowest first.
func (s *Sim) slowest(t int) []int32 {
	q := &s.choice.queues[t]
	arrived, left := q.knownSlow.update(s)
	if left {
		q.slow = slices.DeleteFunc(q.slow, func(j int32) bool { return s.jobs[j].gone })
	}
	for _, j := range arrived { // younger than all others: behind its equals
		if s.cell(j, t).rate == 0 {
			continue
		}
		took := s.cell(j, t).fullTime
		at := len(q.slow)
		q.slow = append(q.slow, j)
		for ; at > 0 && s.cell(q.slow[at-1], t).fullTime < took; at-- {
			q.slow[at] = q.slow[at-1]
		}
		q.slow[at] = j
	}
	return q.slow
}

// prioritize computes the priorities of the queue of type t and sorts it. The
// jobs that ran since it was sorted fell back; those that did not are still in
// order, for their priorities grew alike. So both parts are all but sorted and
// are merged.
func (s *Sim) prioritize(t int) {
	c := &s.choice
	q := c.queues[t].entries
	worked := s.worked[t]
	idle, ran := 0, c.scratch[:0]
	for i := range q {
		e := &q[i]
		cell := s.cell(e.job, t)
		e.deficit, e.share = cell.deficit, cell.share
		e.priority = 0
		if cell.share > 0 { // then worked > 0, since the reset that gave it
			e.priority = cell.share / (cell.received / worked)
		}
		if cell.ran >= c.queues[t].sorted {
			ran = append(ran, *e)
		} else {
			if idle != i {
				q[idle] = *e
			}
			idle++
		}
	}
	c.queues[t].sorted = c.number
	c.spare = sortEntries(q[:idle], c.spare)
	c.spare = sortEntries(ran, c.spare)
	mergeEntries(q, idle, ran)
}

// runLength is the length of the parts that sort starts from.
const runLength = 8

// sortEntries sorts entries, faster if they are nearly sorted: parts by
// insertion, which are then merged. It returns spare, which it may overwrite
// and extend.
func sortEntries(q, spare []entry) []entry {
	for low := 0; low < len(q); low += runLength {
		insertionSort(q[low:min(low+runLength, len(q))])
	}
	for length := runLength; length < len(q); length *= 2 {
		for low := 0; low+length < len(q); low += 2 * length {
			part := q[low:min(low+2*length, len(q))]
			if part[length].before(&part[length-1]) {
				spare = append(spare[:0], part[length:]...)
				mergeEntries(part, length, spare)
			}
		}
	}
	return spare
}

func insertionSort(q []entry) {
	for i := 1; i < len(q); i++ {
		if !q[i].before(&q[i-1]) {
			continue
		}
		e, at := q[i], i
		for ; at > 0 && e.before(&q[at-1]); at-- {
			q[at] = q[at-1]
		}
		q[at] = e
	}
}

// mergeEntries merges the first n entries of q and those of other, both sorted,
// into q, whose length is that of both.
func mergeEntries(q []entry, n int, other []entry) {
	i, j := n-1, len(other)-1
	for at := len(q) - 1; j >= 0; at-- {
		if i >= 0 && other[j].before(&q[i]) {
			q[at] = q[i]
			i--
		} else {
			q[at] = other[j]
			j--
		}
	}
}
