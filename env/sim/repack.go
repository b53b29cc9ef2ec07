package sim

import (
	"github.com/yardmaster/yardmaster/env"
)

// freeGPUs returns how many GPUs of type t no job has a part of.
func (s *Sim) freeGPUs(t int) int {
	free := 0
	for _, n := range s.nodes[t] {
		free += int(s.placement.free[n])
	}
	return free
}

// makeRoom moves jobs that share GPUs of type t together, so that gpus of them
// are free and, where job i starts on parts of GPUs by its strategy k, those have
// a place, too. It is possible wherever the sums are right (env.Budget): parts go
// largest first, back to where they were if they can. Jobs that end up elsewhere
// pay for a restart.
func (s *Sim) makeRoom(t, gpus, i, k int) {
	spare := s.keepSlots(t, gpus)
	for parts := int8(env.PartsPerGPU / 2); parts > 0; parts /= 2 {
		for a := range s.active {
			j := s.shared(a, i, k)
			if j.parts != parts || int(j.gpuType) != t {
				continue
			}
			if a == i {
				s.seat(i, j, &spare)
			} else if s.reseat(a, j, &spare) {
				s.move(a)
			}
		}
	}
	s.closeSlots(t)
}

// keepSlots empties the slots of type t and marks those to be kept: the fullest,
// as many as leave gpus GPUs free. It returns how many more may be opened. Pieces
// of jobs still say where they were.
func (s *Sim) keepSlots(t, gpus int) (spare int) {
	p := &s.placement
	open := 0
	for at := range p.slots {
		if g := &p.slots[at]; g.open && int(g.gpuType) == t {
			g.keep = true
			open++
		}
	}
	spare = s.freeGPUs(t) - gpus
	for ; spare < 0; spare++ {
		emptiest := -1
		for at := range p.slots {
			g := &p.slots[at]
			if g.open && int(g.gpuType) == t && g.keep && (emptiest < 0 || g.used < p.slots[emptiest].used) {
				emptiest = at
			}
		}
		p.slots[emptiest].keep = false
	}
	for at := range p.slots {
		if g := &p.slots[at]; g.open && int(g.gpuType) == t {
			g.used, g.count = 0, 0
		}
	}
	return spare
}

// sharer is a job that shares GPUs, or that does not: then parts is 0.
type sharer struct {
	holder
	gpuType int32
	gpus    int
}

// shared describes job a; job i is about to start on its strategy k.
func (s *Sim) shared(a, i, k int) sharer {
	x := &s.active[a]
	if a != i {
		if x.segment == none || s.placement.segments[x.segment].slot == none {
			return sharer{}
		}
		k = int(s.more[x.job].strategy)
	}
	st := &s.ep.strategies[x.job][k]
	if st.Share <= 1 {
		return sharer{}
	}
	return sharer{
		holder:  holder{job: int32(x.job), strategy: int16(k), parts: int8(env.PartsPerGPU / st.Share)},
		gpuType: int32(st.Type), gpus: st.GPUs,
	}
}

// seat gives job i, which has nothing yet, its parts.
func (s *Sim) seat(i int, j sharer, spare *int) {
	x := &s.active[i]
	for range j.gpus {
		at := s.findSeat(none, j, spare)
		s.placement.enter(at, j.holder)
		x.segment = s.placement.link(segment{node: s.placement.slots[at].node, gpus: 1, slot: at, next: x.segment})
	}
}

// reseat gives job a its parts again and reports whether one of them is
// elsewhere now.
func (s *Sim) reseat(a int, j sharer, spare *int) (moved bool) {
	p := &s.placement
	for g := s.active[a].segment; g != none; g = p.segments[g].next {
		at := s.findSeat(p.segments[g].slot, j, spare)
		moved = moved || at != p.segments[g].slot
		p.segments[g].slot, p.segments[g].node = at, p.slots[at].node
		p.enter(at, j.holder)
	}
	return moved
}

// findSeat returns a slot for a part: the one it had, or the fullest that the job
// is not on, or a new one, or one that it is on.
func (s *Sim) findSeat(had int32, j sharer, spare *int) int32 {
	p := &s.placement
	fits := func(g *slot) bool { return g.open && g.keep && g.gpuType == j.gpuType && g.room() >= j.parts }
	if had != none && fits(&p.slots[had]) {
		return had
	}
	other, own := int32(none), int32(none)
	for at := range p.slots {
		g := &p.slots[at]
		if !fits(g) {
			continue
		}
		if g.holds(int(j.job)) {
			own = int32(at)
		} else if other == none || g.used > p.slots[other].used {
			other = int32(at)
		}
	}
	switch {
	case other != none:
		return other
	case *spare > 0:
		*spare--
		at := p.openSlot(p.choose(s.nodes[j.gpuType], 1, s.cfg.Placement), j.gpuType)
		p.slots[at].keep = true
		return at
	}
	return own
}

// closeSlots frees the GPUs of type t that nobody has a part of any more.
func (s *Sim) closeSlots(t int) {
	p := &s.placement
	for at := range p.slots {
		g := &p.slots[at]
		if !g.open || int(g.gpuType) != t {
			continue
		}
		g.keep = false
		if g.count == 0 {
			g.open = false
			p.free[g.node]++
		}
	}
}

// move charges job a, whose pieces are elsewhere now, unless it starts in this
// round anyway.
func (s *Sim) move(a int) {
	j, x := &s.state.Jobs[a], &s.active[a]
	k := int(s.more[x.job].strategy)
	s.setRate(a, k)
	if k != j.Current {
		return
	}
	s.recorder.stop(s, a, s.state.Now, Moved)
	s.chargeRestart(a, k)
	s.recorder.start(s, a, k)
}
