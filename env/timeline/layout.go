package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
)

// ErrEmpty is returned for a recording in which no job held a GPU: there is
// nothing to draw.
var ErrEmpty = errors.New("timeline: no job held a GPU")

// parts is the number of lanes of a GPU.
const parts = env.PartsPerGPU

// shelf is a node, or a whole GPU type where nodes are left open.
type shelf struct {
	node  int // index into Cluster.Nodes, or -1
	typ   int // index into Cluster.Types
	gpus  int
	first int // its first lane, counted over all shelves
}

// hold is an unbroken stretch in which a job has the same GPUs: a run, a
// restart, or a restart and the run that follows.
type hold struct {
	job      int // index into Recording.Jobs
	from, to time.Duration
	segments []sim.Segment // in order of time, at least one
}

// block is a rectangle of the chart: neighbouring lanes of one hold.
type block struct {
	hold        int // index into layout.holds
	shelf       int
	lane, lanes int // first lane counted over all shelves, and their number
}

// layout is a recording with a place for everything.
type layout struct {
	rec      *sim.Recording
	from, to time.Duration
	shelves  []shelf // ordered by type, then node
	holds    []hold  // ordered by (from, job)
	blocks   []block // ordered by hold, then lane
}

// newLayout places the segments of rec.
func newLayout(rec *sim.Recording) (*layout, error) {
	if len(rec.Segments) == 0 {
		return nil, ErrEmpty
	}
	l := &layout{rec: rec, from: rec.Schedule.Start, to: rec.Schedule.End}
	for i := range rec.Segments {
		l.from, l.to = min(l.from, rec.Segments[i].From), max(l.to, rec.Segments[i].To)
	}
	open := len(rec.Segments[0].Pieces) == 0
	l.shelve(open)
	if err := l.gather(); err != nil {
		return nil, err
	}
	return l, l.place(open)
}

// shelve lists the shelves: types if nodes are open.
func (l *layout) shelve(open bool) {
	c := &l.rec.Cluster
	lane := 0
	add := func(s shelf) {
		s.first = lane
		lane += s.gpus * parts
		l.shelves = append(l.shelves, s)
	}
	for t, capacity := range c.Capacity() {
		if open {
			add(shelf{node: -1, typ: t, gpus: capacity})
			continue
		}
		for n := range c.Nodes {
			if c.Nodes[n].Type == t {
				add(shelf{node: n, typ: t, gpus: c.Nodes[n].GPUs})
			}
		}
	}
}

// lanes returns the number of lanes of all shelves.
func (l *layout) lanes() int {
	last := &l.shelves[len(l.shelves)-1]
	return last.first + last.gpus*parts
}

// gather joins segments to holds.
func (l *layout) gather() error {
	index := make(map[int64]int, len(l.rec.Jobs))
	for i := range l.rec.Jobs {
		index[l.rec.Jobs[i].ID] = i
	}
	last := make([]int, len(l.rec.Jobs)) // number of the job's latest hold + 1
	for i := range l.rec.Segments {
		g := &l.rec.Segments[i]
		job, known := index[g.Job]
		if !known {
			return fmt.Errorf("timeline: segment %d is of job %d, which is not among the jobs", i, g.Job)
		}
		if n := last[job]; n > 0 {
			h := &l.holds[n-1]
			if before := &h.segments[len(h.segments)-1]; before.End == sim.Ready && before.To == g.From {
				h.segments = append(h.segments, *g)
				h.to = g.To
				continue
			}
		}
		l.holds = append(l.holds, hold{job: job, from: g.From, to: g.To, segments: []sim.Segment{*g}})
		last[job] = len(l.holds)
	}
	return nil
}

// place gives every hold its lanes.
func (l *layout) place(open bool) error {
	byNode := make([]int, len(l.rec.Cluster.Nodes))
	for i, s := range l.shelves {
		if !open {
			byNode[s.node] = i
		}
	}
	until := make([]time.Duration, l.lanes()) // lane is taken until then
	for i := range until {
		until[i] = l.from
	}
	for i := range l.holds {
		st := &l.holds[i].segments[0].Strategy
		if open {
			if err := l.take(i, st.Type, st.GPUs, until); err != nil {
				return err
			}
			continue
		}
		for _, p := range l.holds[i].segments[0].Pieces {
			if err := l.take(i, byNode[p.Node], p.GPUs, until); err != nil {
				return err
			}
		}
	}
	return nil
}

// take gives hold i gpus GPUs of a shelf.
func (l *layout) take(i, shelf, gpus int, until []time.Duration) error {
	h, s := &l.holds[i], &l.shelves[shelf]
	own := until[s.first : s.first+s.gpus*parts]
	lanes := choose(own, h.from, gpus, lanesOf(&h.segments[0].Strategy))
	if lanes == nil {
		return fmt.Errorf("timeline: job %d takes %d GPUs of %s at %v, more than are free", l.rec.Jobs[h.job].ID, gpus, l.name(shelf), h.from)
	}
	for _, lane := range lanes {
		own[lane] = h.to
		if n := len(l.blocks); n > 0 {
			if b := &l.blocks[n-1]; b.hold == i && b.shelf == shelf && b.lane+b.lanes == s.first+lane {
				b.lanes++
				continue
			}
		}
		l.blocks = append(l.blocks, block{hold: i, shelf: shelf, lane: s.first + lane, lanes: 1})
	}
	return nil
}

// lanesOf returns how many lanes of each of its GPUs a strategy takes.
func lanesOf(st *env.Strategy) int { return parts / max(1, st.Share) }

// choose returns the lanes, ascending, of gpus GPUs of which each gives so many
// lanes that are free from now on: neighbours if there are some, else the first
// that are free, else pieces of GPUs. It returns nil if there are too few.
func choose(until []time.Duration, now time.Duration, gpus, lanes int) []int {
	var free []int // first free lane of every GPU that has enough
	for at := 0; at < len(until); at += parts {
		for first := at; first < at+parts; first += lanes {
			if !slices.ContainsFunc(until[first:first+lanes], func(t time.Duration) bool { return t > now }) {
				free = append(free, first)
				break
			}
		}
	}
	if len(free) < gpus {
		return scrape(until, now, gpus*lanes)
	}
	start := 0
	for i := 0; i+gpus <= len(free); i++ {
		if free[i+gpus-1]-free[i] == (gpus-1)*parts {
			start = i
			break
		}
	}
	var out []int
	for _, first := range free[start : start+gpus] {
		for lane := range lanes {
			out = append(out, first+lane)
		}
	}
	return out
}

// scrape returns the first so many free lanes, or nil: the simulator counts the
// parts of GPUs that share a node, and may have moved jobs that a picture
// cannot move.
func scrape(until []time.Duration, now time.Duration, lanes int) []int {
	var out []int
	for lane := 0; lane < len(until) && len(out) < lanes; lane++ {
		if until[lane] <= now {
			out = append(out, lane)
		}
	}
	if len(out) < lanes {
		return nil
	}
	return out
}

// name names a shelf.
func (l *layout) name(i int) string {
	s := &l.shelves[i]
	if s.node < 0 {
		return l.rec.Cluster.Types[s.typ].Name
	}
	return fmt.Sprintf("node %d", s.node)
}

// finishes returns when each job of the recording left, 0 if it did not, and
// how, both of shape [len(Jobs)].
func finishes(rec *sim.Recording) ([]time.Duration, []metrics.Outcome) {
	at, how := make([]time.Duration, len(rec.Jobs)), make([]metrics.Outcome, len(rec.Jobs))
	for i := range rec.Jobs {
		n, ok := slices.BinarySearchFunc(rec.Schedule.Jobs, rec.Jobs[i].ID, func(j metrics.Job, id int64) int { return cmp.Compare(j.ID, id) })
		if ok {
			at[i], how[i] = rec.Schedule.Jobs[n].Finish, rec.Schedule.Jobs[n].Outcome
		}
	}
	return at, how
}
