package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// Kind says what a job did with its GPUs during a segment.
type Kind uint8

const (
	Running    Kind = iota // made progress
	Restarting             // paid Strategy.Restart
)

var kindNames = [...]string{"running", "restarting"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Reason says why a segment ended.
type Reason uint8

const (
	Unfinished  Reason = iota // it had not ended yet
	Ready                     // the restart was over: a running segment follows
	Finished                  // the job did all its work
	Preempted                 // the policy gave it nothing
	Moved                     // the policy gave it another strategy, or sharing GPUs moved it
	Interrupted               // a node failed
	Failed                    // the job failed for good
	Cancelled                 // it was withdrawn
)

var reasonNames = [...]string{"unfinished", "ready", "finished", "preempted", "moved", "interrupted", "failed", "cancelled"}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Piece is a number of GPUs of one node.
type Piece struct {
	Node int // index into Cluster.Nodes
	GPUs int
}

// Segment is a stretch of time in which a job held the same GPUs and did the
// same with them.
type Segment struct {
	Job      int64
	From, To time.Duration // From < To
	Kind     Kind
	End      Reason
	Strategy env.Strategy
	Pieces   []Piece // ordered by node; none where Config.FreePlacement leaves them open
}

// Recording is a schedule in full: not only when jobs finished but what they
// held until then.
type Recording struct {
	Cluster  env.Cluster
	Jobs     []env.Job        // those that arrived, ordered by (Submit, ID)
	Segments []Segment        // ordered by (From, Job)
	Outages  []Outage         // of nodes, ordered by (Node, From); those that went on at the end may reach beyond it
	Schedule metrics.Schedule // as Sim.Schedule returns it
}

// Record makes s record its episodes, from the next Reset, ResetTo or Restore
// on. A simulator that does not record spends nothing on it. Snapshots hold no
// recording: after a Restore it begins there, as if the jobs that run had
// started then.
func (s *Sim) Record() {
	if s.recorder == nil {
		s.recorder = &recorder{}
	}
}

// Recording returns the episode so far, or false if s does not record. The
// caller owns the result but for the jobs and the strategies' cluster.
func (s *Sim) Recording() (Recording, bool) {
	if s.recorder == nil || s.ep == nil {
		return Recording{}, false
	}
	segments := slices.Clone(s.recorder.segments)
	for _, o := range s.recorder.open {
		if o.from < s.state.Now && o.active {
			segments = append(segments, o.split(s.state.Now, Unfinished)...)
		}
	}
	slices.SortFunc(segments, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Job, b.Job))
	})
	return Recording{
		Cluster: s.cfg.Cluster, Jobs: slices.Clone(s.ep.jobs[:s.next]),
		Segments: segments, Outages: s.recordedOutages(), Schedule: s.Schedule(),
	}, true
}

// recordedOutages returns the outages that began since the recording did and
// before now, and those that went on then.
func (s *Sim) recordedOutages() []Outage {
	var out []Outage
	for _, o := range s.recorder.outages {
		if o.To > s.recorder.from {
			out = append(out, o)
		}
	}
	for n := range s.outages.nodes {
		if x := &s.outages.nodes[n]; x.from < s.state.Now && x.to > s.recorder.from {
			out = append(out, Outage{Node: n, From: x.from, To: x.to})
		}
	}
	slices.SortFunc(out, func(a, b Outage) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.From, b.From))
	})
	return out
}

// recorder gathers segments. A nil recorder ignores every call.
type recorder struct {
	from     time.Duration // when it began
	segments []Segment
	open     []hold   // [len(episode.jobs)]
	outages  []Outage // that are over
}

// hold is what a job holds now.
type hold struct {
	active   bool
	job      int64
	from     time.Duration
	restart  time.Duration // how much of it, from its beginning on, brings no progress
	strategy env.Strategy
	pieces   []Piece
}

// begin forgets everything for an episode of so many jobs that goes on at now.
func (r *recorder) begin(jobs int, now time.Duration) {
	if r != nil {
		*r = recorder{from: now, open: make([]hold, jobs)}
	}
}

// returned notes that an outage of node n is over.
func (r *recorder) returned(n int, from, to time.Duration) {
	if r != nil {
		r.outages = append(r.outages, Outage{Node: n, From: from, To: to})
	}
}

// start notes that active job i of s starts on strategy k now.
func (r *recorder) start(s *Sim, i, k int) {
	if r == nil {
		return
	}
	j, x := &s.state.Jobs[i], &s.active[i]
	var pieces []Piece
	for at := x.segment; at != none; at = s.placement.segments[at].next {
		g := &s.placement.segments[at]
		pieces = append(pieces, Piece{Node: int(g.node), GPUs: int(g.gpus)})
	}
	slices.SortFunc(pieces, func(a, b Piece) int { return cmp.Compare(a.Node, b.Node) })
	r.open[x.job] = hold{active: true, job: j.ID, from: s.state.Now, restart: x.restart, strategy: j.Strategies[k], pieces: pieces}
}

// stop notes that active job i of s stops at this time. A job that holds
// nothing is left alone.
func (r *recorder) stop(s *Sim, i int, at time.Duration, why Reason) {
	if r == nil {
		return
	}
	o := &r.open[s.active[i].job]
	if o.active {
		r.segments = append(r.segments, o.split(at, why)...)
		*o = hold{}
	}
}

// stopReason says why a job that runs stops when the policy gives it strategy k.
func stopReason(k int) Reason {
	if k == env.Idle {
		return Preempted
	}
	return Moved
}

// endReason says why a job that leaves stops.
func endReason(o metrics.Outcome) Reason {
	switch o {
	case metrics.Failed:
		return Failed
	case metrics.Cancelled:
		return Cancelled
	}
	return Finished
}

// resume opens a segment for every job that runs, after a Restore.
func (r *recorder) resume(s *Sim) {
	if r == nil {
		return
	}
	r.begin(len(s.ep.jobs), s.state.Now)
	for i := range s.state.Jobs {
		if k := s.state.Jobs[i].Current; k != env.Idle {
			r.start(s, i, k)
		}
	}
}

// split returns the segments of a hold that ends at this time: a restart, a
// run, or both.
func (o *hold) split(at time.Duration, why Reason) []Segment {
	whole := Segment{Job: o.job, From: o.from, To: at, Kind: Running, End: why, Strategy: o.strategy, Pieces: o.pieces}
	ready := o.from + o.restart
	switch {
	case o.restart == 0:
		return []Segment{whole}
	case ready >= at:
		whole.Kind = Restarting
		return []Segment{whole}
	}
	first := whole
	first.To, first.Kind, first.End = ready, Restarting, Ready
	whole.From = ready
	return []Segment{first, whole}
}
