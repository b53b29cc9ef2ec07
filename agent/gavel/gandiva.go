package gavel

import "github.com/yardmaster/yardmaster/env/gavel"

// Gandiva is Gandiva_Packing (gandiva.py, after Xiao et al., OSDI 2018) as Gavel
// has it: where the jobs need more GPUs than there are, those that have no partner
// are paired at random with others of as many GPUs, and every job or pair gets an
// equal part of the cluster. Pairs last until one of the two leaves or their
// throughputs, as parts of those alone and added up over the GPU types, fall below
// those of one.
type Gandiva struct {
	random  *gavel.Random
	partner map[int32]int32 // of every job that was dealt with; gavel.Alone where it found none
	row     map[gavel.Unit]int
}

// NewGandiva returns the policy of the run with this seed.
func NewGandiva(seed uint64) *Gandiva {
	return &Gandiva{random: gavel.NewRandom(seed), partner: make(map[int32]int32)}
}

// Allocate implements [gavel.PackingPolicy].
func (p *Gandiva) Allocate(v *gavel.PackingView, x []float64) error {
	p.row = make(map[gavel.Unit]int, len(v.Units))
	wanted, there := 0, 0
	var alone []int // rows of the jobs
	for i, u := range v.Units {
		p.row[u] = i
		if !u.IsPair() {
			alone = append(alone, i)
			wanted += v.GPUs[i]
		}
	}
	for _, t := range v.Types {
		there += t.GPUs
	}
	p.part(v)
	if wanted > there {
		p.match(v, alone)
		alone = p.units(v)
	}
	divide(v, alone, x)
	return nil
}

// part forgets pairs of which a job left or that are not worth it, and jobs
// without a partner.
func (p *Gandiva) part(v *gavel.PackingView) {
	var over []int32
	for j, other := range p.partner { // each is judged by itself: the order does not matter
		if u := unitOf(j, other); other == gavel.Alone || !p.has(u) || p.worth(v, u) < 1 {
			over = append(over, j)
		}
	}
	for _, j := range over {
		delete(p.partner, j)
	}
}

func (p *Gandiva) has(u gavel.Unit) bool {
	_, ok := p.row[u]
	return ok
}

// worth returns the throughputs of a pair as parts of those alone, added up over
// the types; 0 where one does not fit.
func (p *Gandiva) worth(v *gavel.PackingView, pair gavel.Unit) float64 {
	k, sum := len(v.Types), 0.0
	for _, t := range v.ByName {
		for i, j := range [2]int32{pair.First, pair.Second} {
			rate := v.Rates[p.row[pair]*k+t][i]
			if rate <= 0 {
				return 0
			}
			sum += rate / v.Rates[p.row[gavel.Unit{First: j, Second: gavel.Alone}]*k+t][0]
		}
	}
	return sum
}

// match pairs jobs without a partner at random. Those of different numbers of
// GPUs that are drawn together are put back; after as many draws as there are
// jobs it ends.
func (p *Gandiva) match(v *gavel.PackingView, alone []int) {
	var free []int // rows
	for _, i := range alone {
		if _, dealt := p.partner[v.Units[i].First]; !dealt {
			free = append(free, i)
		}
	}
	for range len(free) {
		if len(free) < 2 {
			break
		}
		a, b := p.random.Two(len(free))
		if v.GPUs[free[a]] != v.GPUs[free[b]] {
			continue
		}
		first, second := v.Units[free[a]].First, v.Units[free[b]].First
		p.partner[first], p.partner[second] = second, first
		kept := free[:0]
		for i, row := range free {
			if i != a && i != b {
				kept = append(kept, row)
			}
		}
		free = kept
	}
	for _, i := range free {
		p.partner[v.Units[i].First] = gavel.Alone
	}
}

// units returns the rows of the jobs without a partner and of the pairs.
func (p *Gandiva) units(v *gavel.PackingView) (rows []int) {
	for i, u := range v.Units {
		if other, dealt := p.partner[u.First]; dealt && other == u.Second {
			rows = append(rows, i)
		}
	}
	return rows
}

// divide gives the units at these rows equal parts of every type, at most all of
// their time.
func divide(v *gavel.PackingView, rows []int, x []float64) {
	k, n := len(v.Types), float64(len(rows))
	for _, i := range rows {
		sum := 0.0
		for _, t := range v.ByName {
			x[i*k+t] = float64(v.Types[t].GPUs) / n / float64(v.GPUs[i])
			sum += x[i*k+t]
		}
		for t := range k {
			x[i*k+t] /= max(sum, 1)
		}
	}
}

func unitOf(a, b int32) gavel.Unit {
	if b == gavel.Alone {
		return gavel.Unit{First: a, Second: b}
	}
	return gavel.Unit{First: min(a, b), Second: max(a, b)}
}
