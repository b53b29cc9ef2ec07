package gavel

import "github.com/yardmaster/yardmaster/env/gavel"

// FIFO is FIFO_Perf (fifo.py): jobs in the order of their arrival each get
// the fastest GPU type that has enough GPUs left, until one finds none.
type FIFO struct{ free []int32 }

// Rules implements [gavel.Policy].
func (*FIFO) Rules() gavel.Rules { return gavel.Rules{SharedOnly: true} }

// Allocate implements [gavel.Policy].
func (p *FIFO) Allocate(v *gavel.View, x []float64) error {
	p.free = p.free[:0]
	for _, t := range v.Types {
		p.free = append(p.free, int32(t.GPUs))
	}
	k := len(v.Types)
	for i := range v.IDs {
		best, fastest, fits := 0, 0.0, false
		for _, t := range v.ByName {
			if p.free[t] < v.GPUs[i] {
				continue
			}
			fits = true
			if r := v.Rates[i*k+t]; r > fastest {
				best, fastest = t, r
			}
		}
		if !fits {
			return nil
		}
		if fastest > 0 {
			x[i*k+best] = 1
			p.free[best] -= v.GPUs[i]
		}
	}
	return nil
}
