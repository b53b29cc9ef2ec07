package heuristic

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// The elastic rules give jobs their smallest strategies first and let them grow
// on the GPU type where they are. What counts of a strategy is its effective
// speed: less the share of the round that a restart costs, unless the job runs so
// already, so that no job gives up and takes back GPUs for nothing.

// effective returns the steps/s of a job in its strategy k over the coming round.
func (p *pool) effective(job, k int) float64 {
	j := &p.state.Jobs[job]
	return j.Strategies[k].Throughput * p.share(j, k)
}

// giveSmallest runs job on as few GPUs as any of its strategies that fit, on the
// type where it gets most done, that where it runs already with no loss. It
// reports whether one fitted.
func (p *pool) giveSmallest(job int) bool {
	j := &p.state.Jobs[job]
	best, most := env.Idle, 0.0
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if !p.fits(j, st) {
			continue
		}
		speed := p.effective(job, k)
		if j.Current != env.Idle && st.Type == j.Strategies[j.Current].Type {
			speed = st.Throughput
		}
		if best == env.Idle || st.Parts() < j.Strategies[best].Parts() || st.Parts() == j.Strategies[best].Parts() && speed > most {
			best, most = k, speed
		}
	}
	if best != env.Idle {
		p.give(job, best)
	}
	return best != env.Idle
}

// giveSmallestInOrder does so for the jobs in ascending order of key, ties by ID.
func (p *pool) giveSmallestInOrder(key func(job int) float64) {
	for _, r := range p.idleInOrder(key) {
		if p.full() {
			return
		}
		p.giveSmallest(int(r.job))
	}
}

// idleInOrder lists the jobs that have nothing yet in ascending order of key,
// ties by ID.
func (p *pool) idleInOrder(key func(job int) float64) []ranked {
	order := make([]ranked, 0, len(p.given))
	for i, k := range p.given {
		if k == env.Idle {
			order = append(order, ranked{key: key(i), id: p.state.Jobs[i].ID, job: int32(i)})
		}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	return order
}

// fitsInstead reports whether job could run in its strategy k in place of the
// one it was given.
func (p *pool) fitsInstead(job, k int) bool {
	j := &p.state.Jobs[job]
	now := &j.Strategies[p.given[job]]
	p.budget.Return(j, now)
	fits := p.fits(j, &j.Strategies[k])
	p.budget.Take(j, now)
	return fits
}

// change runs job in its strategy k, which fits, in place of the one it was given.
func (p *pool) change(job, k int) {
	j := &p.state.Jobs[job]
	p.budget.Return(j, &j.Strategies[p.given[job]])
	p.give(job, k)
}

// larger reports whether k is a larger, effectively faster strategy of job than
// the one it was given, on the same type.
func (p *pool) larger(job, k int) bool {
	j := &p.state.Jobs[job]
	now, st := &j.Strategies[p.given[job]], &j.Strategies[k]
	return st.Type == now.Type && st.Parts() > now.Parts() && p.effective(job, k) > p.effective(job, p.given[job])
}

// grow moves running jobs to larger strategies on their types, the largest gain
// first, ties by ID, until none that fits gains. gain is of a job's change from
// the strategy it has to a larger one, by whatever measure.
func (p *pool) grow(gain func(job, from, to int) float64) {
	best := func(job int) (candidate, bool) {
		c := candidate{score: math.Inf(-1), id: p.state.Jobs[job].ID, job: int32(job), strategy: env.Idle}
		for k := range p.state.Jobs[job].Strategies {
			if !p.larger(job, k) || !p.fitsInstead(job, k) {
				continue
			}
			if g := gain(job, p.given[job], k); g > c.score {
				c.score, c.strategy = g, int32(k)
			}
		}
		return c, c.strategy != env.Idle
	}
	var queue candidateHeap
	for i, k := range p.given {
		if k == env.Idle {
			continue
		}
		if c, ok := best(i); ok {
			queue = append(queue, c)
		}
	}
	queue.init()
	for len(queue) > 0 && !p.full() {
		job := int(queue[0].job)
		if k := int(queue[0].strategy); p.fitsInstead(job, k) {
			p.change(job, k)
		}
		if c, ok := best(job); ok {
			queue.replace(c)
		} else {
			queue.pop()
		}
	}
}

// addedGPUs returns the GPUs that a job's strategy to takes more than from.
func (p *pool) addedGPUs(job, from, to int) float64 {
	j := &p.state.Jobs[job]
	return j.Strategies[to].Held() - j.Strategies[from].Held()
}
