package gavel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Step ends the round in progress and starts the next one. It returns false once
// all jobs have left; the simulation then stands still.
func (p *Packing) Step() (bool, error) {
	if p.next == len(p.cfg.Jobs) && len(p.active) == 0 {
		return false, nil
	}
	p.tick()
	p.complete()
	p.arrive()
	if err := p.reset(); err != nil {
		return false, err
	}
	p.prioritize()
	p.start(p.choose())
	if len(p.running) == 0 && p.next == len(p.cfg.Jobs) && len(p.active) > 0 && !p.stale {
		return false, fmt.Errorf("%w: %d, at %v s", ErrStalled, len(p.active), p.now)
	}
	return true, nil
}

// tick moves the clock to the end of the round or, where nothing runs, to the
// next arrival.
func (p *Packing) tick() {
	switch {
	case len(p.running) > 0:
		if p.begun {
			p.roundStart = p.roundEnd
		}
		latest := 0.0
		for i := range p.running {
			latest = max(latest, p.running[i].finish)
		}
		p.begun, p.roundEnd, p.now = true, latest, latest
	case p.next < len(p.cfg.Jobs):
		p.now = p.cfg.Jobs[p.next].Arrival
	default:
		p.lastReset = 0 // lets shares be asked for at once
	}
}

// complete accounts for the round that ended, latest finish first.
func (p *Packing) complete() {
	slices.SortFunc(p.running, func(a, b unitRun) int {
		return cmp.Or(cmp.Compare(b.finish, a.finish), a.Compare(b.Unit))
	})
	for i := range p.running {
		p.completeUnit(&p.running[i])
	}
	p.running = p.running[:0]
}

func (p *Packing) completeUnit(r *unitRun) {
	took := r.finish - p.roundStart
	if took <= 0 || !r.everyWorkerSteps() {
		p.stale = true
		if r.IsPair() {
			return // failures of pairs are not counted
		}
		if p.failed[r.First]++; p.failed[r.First] >= maxFailures {
			p.leave(r.First, math.NaN())
		}
		return
	}
	if !r.IsPair() {
		p.failed[r.First] = 0
	}
	r.on[r.typ].received += took
	p.worked[r.typ] += took
	p.busy += float64(took * float64(r.gpus))
	for i, j := range r.members() {
		p.done[j] += r.steps[i]
		if p.cfg.Jobs[j].Steps-p.done[j] <= 0 {
			p.leave(j, r.finish-p.cfg.Jobs[j].Arrival)
		}
	}
}

// everyWorkerSteps reports whether each worker of each job gets a step: all but
// the last are given the whole number of an equal part.
func (r *unitRun) everyWorkerSteps() bool {
	for i := range r.members() {
		part := math.Floor(r.steps[i] / float64(r.gpus))
		if r.steps[i]-part*float64(r.gpus-1) <= 0 || r.gpus > 1 && part <= 0 {
			return false
		}
	}
	return true
}

// leave removes a job and every pair it is in.
func (p *Packing) leave(j int32, jct float64) {
	p.left[j], p.jct[j], p.stale = true, jct, true
	p.units = slices.DeleteFunc(p.units, func(u *unit) bool { return u.First == j || u.Second == j })
	p.active = slices.DeleteFunc(p.active, func(a int32) bool { return a == j })
}

// arrive takes in the jobs that were submitted, and their pairs with the others.
func (p *Packing) arrive() {
	for p.next < len(p.cfg.Jobs) && p.cfg.Jobs[p.next].Arrival <= p.now {
		j := int32(p.next)
		alone := &unit{Unit: Unit{j, Alone}, gpus: p.cfg.Jobs[j].GPUs}
		for _, rate := range p.cfg.Jobs[j].Rates {
			alone.on = append(alone.on, unitOn{rates: [2]float64{rate, 0}, received: p.cfg.Round / 2})
		}
		p.units = append(p.units, alone)
		for _, other := range p.active {
			if p.cfg.Jobs[other].GPUs != alone.gpus {
				continue
			}
			pair := &unit{Unit: Unit{other, j}, gpus: alone.gpus}
			for t := range p.cfg.Types {
				var on unitOn
				on.rates[0], on.rates[1] = p.cfg.Pair(int(other), int(j), t)
				pair.on = append(pair.on, on)
			}
			p.units = append(p.units, pair)
		}
		p.active = append(p.active, j)
		p.stale = true
		p.next++
	}
}

// reset settles what each unit was owed and asks the policy for new shares, if
// they are out of date and the time has come.
func (p *Packing) reset() error {
	if !p.stale || p.now-p.lastReset < p.cfg.Reset && p.lastReset != 0 {
		return nil
	}
	half, elapsed := p.cfg.Round/2, p.now-p.lastReset
	clear(p.worked)
	for _, u := range p.units {
		for t := range u.on {
			o := &u.on[t]
			o.deficit += float64(o.share*elapsed) - (o.received - half)
			o.received = half
			p.worked[t] += half
		}
	}
	p.lastReset, p.stale = p.now, false
	if len(p.units) == 0 {
		return nil
	}
	return p.ask()
}

// ask fills the shares of all units.
func (p *Packing) ask() error {
	ordered := slices.SortedFunc(slices.Values(p.units), func(a, b *unit) int { return a.Compare(b.Unit) })
	v := PackingView{Types: p.cfg.Types, ByName: p.byName}
	for _, u := range ordered {
		v.Units, v.GPUs = append(v.Units, u.Unit), append(v.GPUs, u.gpus)
		for t := range u.on {
			v.Rates = append(v.Rates, u.on[t].rates)
		}
	}
	k := len(p.cfg.Types)
	x := make([]float64, len(ordered)*k)
	if err := p.cfg.Policy.Allocate(&v, x); err != nil {
		return fmt.Errorf("gavel: shares at %v s: %w", p.now, err)
	}
	for i, u := range ordered {
		u.shared = true
		for t := range u.on {
			if u.on[t].share = x[i*k+t]; !(u.on[t].share >= 0 && u.on[t].share <= 1) {
				return fmt.Errorf("gavel: shares at %v s: %v on %s is %v, want 0 to 1", p.now, u.Unit, p.cfg.Types[t].Name, u.on[t].share)
			}
		}
	}
	return nil
}

// prioritize works out the priorities of all units: share over the fraction of
// the type's time received.
func (p *Packing) prioritize() {
	for _, u := range p.units {
		for t := range u.on {
			o := &u.on[t]
			switch {
			case !u.shared || o.share == 0 || !u.fits(t):
				o.priority = 0
			case o.received > 0 && p.worked[t] > 0:
				o.priority = o.share / (o.received / p.worked[t])
			default:
				o.priority = o.share * 1e9
			}
		}
	}
}

// choose picks the units of the next round, type by type, by (priority, deficit,
// share). A unit without a share can take GPUs, which then idle.
func (p *Packing) choose() (picks []unitRun) {
	taken := make([]bool, len(p.cfg.Jobs))
	for t := range p.cfg.Types {
		queue := slices.Clone(p.units)
		slices.SortStableFunc(queue, func(a, b *unit) int {
			x, y := &a.on[t], &b.on[t]
			return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(y.deficit, x.deficit), cmp.Compare(y.share, x.share))
		})
		left := p.cfg.Types[t].GPUs
		for _, u := range queue {
			if taken[u.First] || u.IsPair() && taken[u.Second] || !u.fits(t) || u.gpus > left {
				continue
			}
			left -= u.gpus
			for _, j := range u.members() {
				taken[j] = true
			}
			if u.shared {
				picks = append(picks, unitRun{unit: u, typ: t})
			}
		}
	}
	return picks
}

// start begins the round of the chosen units.
func (p *Packing) start(picks []unitRun) {
	for _, r := range picks {
		r.finish = p.now
		for i, j := range r.members() {
			rate := r.on[r.typ].rates[i]
			r.steps[i] = min(math.Trunc(rate*p.cfg.Round), p.cfg.Jobs[j].Steps-p.done[j])
			r.finish = max(r.finish, p.now+r.steps[i]/rate)
		}
		p.running = append(p.running, r)
	}
	p.rounds++
	p.unitRounds += int64(len(picks))
}
