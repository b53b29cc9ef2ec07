package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Failures says when nodes go out of service and return: at random, or by a
// script. The zero value is never.
//
// At random, each node is in service and out of it in turn, for times with
// exponential distributions, drawn from a stream of its own that depends on
// nothing but the episode's seed. Kokolis et al. (Revisiting Reliability in
// Large-Scale Machine Learning Research Clusters, HPCA 2025) count 6.50 and 2.34
// failures for every thousand days of a node on two clusters of A100: an MTBF of
// 154 and 427 days.
type Failures struct {
	MTBF time.Duration // mean time of a node from its return to the next failure, a second or more; 0 is none
	MTTR time.Duration // mean time of a node from a failure to its return; default 1 h (an assumption)

	// Outages is the script, ordered by (Node, From), those of a node apart.
	// Either it or MTBF.
	Outages []Outage
}

// Outage is a time in which a node is out of service: From <= t < To.
type Outage struct {
	Node     int // index into Cluster.Nodes
	From, To time.Duration
}

// DefaultMTTR is the default of Failures.MTTR.
const DefaultMTTR = time.Hour

func (f *Failures) fillDefaults() {
	if f.MTBF > 0 && f.MTTR == 0 {
		f.MTTR = DefaultMTTR
	}
}

// any reports whether nodes may fail.
func (f *Failures) any() bool { return f.MTBF > 0 || len(f.Outages) > 0 }

func (f *Failures) validate(nodes int) error {
	var errs []error
	if f.MTBF < 0 || f.MTTR < 0 {
		errs = append(errs, fmt.Errorf("sim: config: Failures have MTBF %v and MTTR %v, want both >= 0", f.MTBF, f.MTTR))
	}
	if f.MTBF > 0 && f.MTBF < time.Second { // a round takes as long as all the failures in it
		errs = append(errs, fmt.Errorf("sim: config: Failures have MTBF %v, want 0 or a second or more", f.MTBF))
	}
	if f.MTBF > 0 && len(f.Outages) > 0 {
		errs = append(errs, errors.New("sim: config: Failures have both an MTBF and Outages, want one of them"))
	}
	for i, o := range f.Outages {
		if o.Node < 0 || o.Node >= nodes || o.From < 0 || o.To <= o.From {
			errs = append(errs, fmt.Errorf("sim: config: Failures.Outages[%d] is of node %d of %d from %v to %v, want a node and 0 <= from < to", i, o.Node, nodes, o.From, o.To))
		}
		if i > 0 && (o.Node < f.Outages[i-1].Node || o.Node == f.Outages[i-1].Node && o.From <= f.Outages[i-1].To) {
			errs = append(errs, fmt.Errorf("sim: config: Failures.Outages[%d] of node %d at %v follows node %d until %v, want them ordered by node and time, and apart", i, o.Node, o.From, f.Outages[i-1].Node, f.Outages[i-1].To))
		}
	}
	return errors.Join(errs...)
}

// never is a time that does not come.
const never = time.Duration(math.MaxInt64)

// outages is the state of all nodes. Without failures it is empty.
type outages struct {
	nodes []nodeOutage  // [nodes]
	next  time.Duration // when the first of them fails or returns
}

// nodeOutage is the present or next outage of one node.
type nodeOutage struct {
	from, to time.Duration
	script   int32    // index of it in Failures.Outages
	chance   rand.PCG // draws the ones after it
}

// resetOutages begins the failures of an episode at its clock.
func (s *Sim) resetOutages(seed uint64) {
	o := &s.outages
	o.next, o.nodes = never, o.nodes[:0]
	if !s.cfg.Failures.any() {
		return
	}
	stream := rng.Seed(seed, "failures")
	next := 0
	for n := range s.cfg.Cluster.Nodes {
		x := nodeOutage{from: never, to: never, chance: *rand.NewPCG(stream, uint64(n))}
		if s.cfg.Failures.MTBF > 0 {
			x.from = later(s.state.Now, x.draw(s.cfg.Failures.MTBF))
			x.to = later(x.from, x.draw(s.cfg.Failures.MTTR))
		} else {
			x.script = int32(next)
			s.scripted(&x, n)
			for next < len(s.cfg.Failures.Outages) && s.cfg.Failures.Outages[next].Node == n {
				next++
			}
		}
		for x.to <= s.state.Now {
			s.follow(&x, n)
		}
		o.nodes = append(o.nodes, x)
	}
	o.next = s.state.Now // have them looked at
}

// draw returns a time with an exponential distribution of this mean.
func (x *nodeOutage) draw(mean time.Duration) time.Duration {
	u := float64(x.chance.Uint64()>>11) * 0x1p-53 // 0 <= u < 1
	return ceilSeconds(-mean.Seconds() * math.Log1p(-u))
}

// later returns at + d, or never.
func later(at, d time.Duration) time.Duration {
	if at > never-d {
		return never
	}
	return at + d
}

// follow replaces the outage of node n by the one after it.
func (s *Sim) follow(x *nodeOutage, n int) {
	s.recorder.returned(n, x.from, x.to)
	if s.cfg.Failures.MTBF > 0 {
		x.from = later(x.to, x.draw(s.cfg.Failures.MTBF))
		x.to = later(x.from, x.draw(s.cfg.Failures.MTTR))
		return
	}
	x.script++
	s.scripted(x, n)
}

// scripted makes x what the script holds for node n, from x.script on.
func (s *Sim) scripted(x *nodeOutage, n int) {
	x.from, x.to = never, never
	if script := s.cfg.Failures.Outages; int(x.script) < len(script) && script[x.script].Node == n {
		x.from, x.to = script[x.script].From, script[x.script].To
	}
}

// updateNodes brings State.Down and the nodes that jobs can be placed on up to
// the clock. Where a node went down, no job is on it any more.
func (s *Sim) updateNodes() {
	o := &s.outages
	if s.state.Now < o.next {
		return
	}
	o.next = never
	for n := range o.nodes {
		x := &o.nodes[n]
		for x.to <= s.state.Now {
			s.follow(x, n)
		}
		s.setDown(n, x.from <= s.state.Now)
		if x.from <= s.state.Now {
			o.next = min(o.next, x.to)
		} else {
			o.next = min(o.next, x.from)
		}
	}
}

// setDown takes node n out of service or back into it.
func (s *Sim) setDown(n int, down bool) {
	at, is := slices.BinarySearch(s.down, n)
	if is == down {
		return
	}
	node := s.cfg.Cluster.Nodes[n]
	if down {
		s.down = slices.Insert(s.down, at, n)
		s.parts[node.Type] -= node.GPUs * env.PartsPerGPU
		s.placement.setFree(n, 0)
	} else {
		s.down = slices.Delete(s.down, at, at+1)
		s.parts[node.Type] += node.GPUs * env.PartsPerGPU
		s.placement.setFree(n, int32(node.GPUs))
	}
	s.showDown()
}

// showDown makes State.Down what trajectory.down is.
func (t *trajectory) showDown() {
	t.state.Down = t.down
	if len(t.down) == 0 {
		t.state.Down = nil
	}
}

// strike sets active.until of the jobs that a failure ends before or at this
// time, and reports whether there are any nodes that fail until then.
func (s *Sim) strike(end time.Duration) bool {
	if s.outages.next > end {
		return false
	}
	for i := range s.active {
		x := &s.active[i]
		x.until = s.ep.cancels(x.job)
		for at := x.segment; at != none; at = s.placement.segments[at].next {
			if from := s.outages.nodes[s.placement.segments[at].node].from; from > s.state.Now && from <= end {
				x.until = min(x.until, from)
			}
		}
	}
	return true
}

// healed undoes strike.
func (s *Sim) healed() {
	for i := range s.active {
		if s.active[i].job != gone {
			s.active[i].until = s.ep.cancels(s.active[i].job)
		}
	}
}

// checkpoint notes that job i made progress for this long, from this number of
// steps on: a checkpoint was written whenever Config.Checkpoint had passed.
func (s *Sim) checkpoint(i int, done float64, running time.Duration) {
	m := &s.more[s.active[i].job]
	m.unsaved += running
	if m.unsaved >= s.cfg.Checkpoint {
		m.unsaved %= s.cfg.Checkpoint
		m.saved = done + float64(s.active[i].rate*(running-m.unsaved).Seconds())
	}
}

// kill takes job i, which ran, back to its last checkpoint. It waits from then on.
// It returns the steps that are lost.
func (s *Sim) kill(i int) float64 {
	j, x := &s.state.Jobs[i], &s.active[i]
	m := &s.more[x.job]
	lost := j.Done - m.saved
	j.Done, x.lost = m.saved, 0
	j.Current = env.Idle
	j.Remaining = s.remaining(i)
	m.interruptions++
	s.placement.release(&x.segment, x.job)
	return lost
}
