package sim

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// A slot is a GPU that is shared, or was: the holders of its parts.
type slot struct {
	node    int32
	gpuType int32
	used    int8 // parts
	count   int8 // holders
	open    bool // the GPU is not among placement.free
	keep    bool // scratch of repack
	holders [env.PartsPerGPU]holder
}

// holder is a job that has a part of a GPU. It may have more than one.
type holder struct {
	job      int32 // index in episode.jobs
	strategy int16
	parts    int8
}

func (g *slot) room() int8 { return env.PartsPerGPU - g.used }

func (g *slot) holds(job int) bool {
	for _, h := range g.holders[:g.count] {
		if int(h.job) == job {
			return true
		}
	}
	return false
}

// enter gives h a part of slot at.
func (p *placement) enter(at int32, h holder) {
	g := &p.slots[at]
	g.holders[g.count] = h
	g.count++
	g.used += h.parts
	p.stirred = true
}

// leave takes a part of slot at from a job, and frees the GPU where it was the
// last one.
func (p *placement) leave(at int32, job int) {
	g := &p.slots[at]
	for n := range g.holders[:g.count] {
		if int(g.holders[n].job) == job {
			g.used -= g.holders[n].parts
			copy(g.holders[n:], g.holders[n+1:g.count])
			g.count--
			break
		}
	}
	if g.count == 0 {
		g.open = false
		p.free[g.node]++
	}
	p.stirred = true
}

// openSlot makes a free GPU of a node a slot. Of slots not in use the first one
// is taken.
func (p *placement) openSlot(node, gpuType int32) int32 {
	p.free[node]--
	fresh := slot{node: node, gpuType: gpuType, open: true}
	for at := range p.slots {
		if !p.slots[at].open {
			p.slots[at] = fresh
			return int32(at)
		}
	}
	p.slots = append(p.slots, fresh)
	return int32(len(p.slots) - 1)
}

// placeShares gives job i parts of GPUs for its strategy k, each of another GPU
// while there are any: parts of GPUs that other jobs share already where
// Config.Placement is Consolidate, GPUs that are free where it is Spread. It
// reports whether the parts that are left were enough; if not the job has none.
func (s *Sim) placeShares(i, k int) bool {
	x := &s.active[i]
	st := &s.ep.strategies[x.job][k]
	h := holder{job: int32(x.job), strategy: int16(k), parts: int8(env.PartsPerGPU / st.Share)}
	for left := st.GPUs; left > 0; left-- {
		at := s.chooseSlot(st, h, left)
		if at == none {
			s.placement.release(&x.segment, x.job)
			return false
		}
		s.placement.enter(at, h)
		x.segment = s.placement.link(segment{node: s.placement.slots[at].node, gpus: 1, slot: at, next: x.segment})
	}
	return true
}

// chooseSlot returns the slot for the next of so many parts of GPUs, or none.
func (s *Sim) chooseSlot(st *env.Strategy, h holder, left int) int32 {
	p := &s.placement
	partner, own := s.bestSlot(st, h)
	node := int32(none)
	if partner == none || s.cfg.Placement == Spread {
		if node = p.choose(s.nodes[st.Type], int32(left), s.cfg.Placement); p.free[node] == 0 {
			node = none
		}
	}
	switch {
	case node != none:
		return p.openSlot(node, int32(st.Type))
	case partner != none:
		return partner
	}
	return own
}

// bestSlot returns the open slot with room for h whose holders get on best with
// it: with the highest product of what both sides keep of their speed; the
// fullest of equal ones, then the first. own is the first slot with room that
// the job is on itself, where it can have a part only if there is no other.
func (s *Sim) bestSlot(st *env.Strategy, h holder) (best, own int32) {
	best, own = none, none
	bestScore := math.Inf(-1)
	for at := range s.placement.slots {
		g := &s.placement.slots[at]
		if !g.open || int(g.gpuType) != st.Type || g.room() < h.parts {
			continue
		}
		if g.holds(int(h.job)) {
			if own == none {
				own = int32(at)
			}
			continue
		}
		score := s.harmony(g, h)
		if best == none || score > bestScore || score == bestScore && g.used > s.placement.slots[best].used {
			best, bestScore = int32(at), score
		}
	}
	return best, own
}

// harmony returns the product of the factors between h and the holders of g.
func (s *Sim) harmony(g *slot, h holder) float64 {
	if s.cfg.Interference == nil {
		return 1
	}
	score := 1.0
	a, st := &s.ep.jobs[h.job], &s.ep.strategies[h.job][h.strategy]
	for _, o := range g.holders[:g.count] {
		b, with := &s.ep.jobs[o.job], &s.ep.strategies[o.job][o.strategy]
		score *= s.cfg.Interference.Beside(a, st, b, with) * s.cfg.Interference.Beside(b, with, a, st)
	}
	return score
}
