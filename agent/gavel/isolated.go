package gavel

import "github.com/yardmaster/yardmaster/env/gavel"

// Isolated gives each job an equal part of every GPU type, at most all of its
// time (isolated.py).
type Isolated struct{}

// Rules implements [gavel.Policy].
func (Isolated) Rules() gavel.Rules { return gavel.Rules{Shuffle: true} }

// Allocate implements [gavel.Policy].
func (Isolated) Allocate(v *gavel.View, x []float64) error {
	k, n := len(v.Types), float64(v.Jobs())
	for i, g := range v.GPUs {
		row := x[i*k : (i+1)*k]
		sum := 0.0
		for _, t := range v.ByName {
			row[t] = float64(v.Types[t].GPUs) / n / float64(g)
			sum += row[t]
		}
		for t := range row {
			row[t] /= max(sum, 1)
		}
	}
	return nil
}
