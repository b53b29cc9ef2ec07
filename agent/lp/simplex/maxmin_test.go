package simplex

import (
	"context"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// What jobs need at one level after another at the same prices is, bit for bit, what
// it is when all look at all of their candidates.
func TestNeedsOfAnotherLevel(t *testing.T) {
	r := rng.New(1, "maxmin/needs")
	stayed, left := 0, 0
	for _, f := range families {
		f.objective, f.jobs = MaxMin, 60
		p := f.random(r)
		in := newInstance(p)
		if in.n == 0 || in.k == 0 {
			continue
		}
		top := math.Inf(1)
		jobs := in.all()
		for _, j := range jobs {
			top = min(top, in.ceiling(j))
		}
		keys := make([]column, in.n)
		for j := range keys {
			keys[j] = pure(int32(j), in.fastest[j])
		}
		m := &mixPricer{in: in}
		e := newCore(in, m, jobs, keys, &budget{ctx: context.Background(), limit: 1})
		for k := range e.price {
			e.price[k] = r.Float64()
		}
		e.normalize()
		m.level = top
		e.needs(m, false)
		for range 20 {
			before := append([]column(nil), e.keys...)
			m.level = top * r.Float64()
			cost, slope := e.needs(m, true)
			known := append([]column(nil), e.keys...)
			copy(e.keys, before)
			if c, s := e.needs(m, false); c != cost || s != slope {
				t.Errorf("level %v: cost %v and slope %v, anew %v and %v", m.level, cost, slope, c, s)
			}
			for j, key := range e.keys {
				if key != known[j] {
					t.Errorf("level %v: key %+v, anew %+v", m.level, known[j], key)
				}
				if key.lo == before[j].lo && key.hi == before[j].hi {
					stayed++
				} else {
					left++
				}
			}
		}
	}
	if stayed < 100 || left < 100 {
		t.Errorf("%d keys stayed on their edge and %d left it, want many of both", stayed, left)
	}
}
