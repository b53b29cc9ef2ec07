package gavel

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env/gavel"
	"github.com/yardmaster/yardmaster/env/rng"
)

// stream returns n jobs of one GPU after Gavel's generator: durations of half
// an hour to a week on V100, slower on P100 and K80.
func stream(n int) []gavel.Job {
	r := rng.New(1, "gavel/stream")
	classes := make([][]float64, 20)
	for i := range classes {
		v100 := 1 + 30*r.Float64()
		classes[i] = []float64{v100, v100 * (0.4 + r.Float64()), v100 * 0.3 * r.Float64()}
	}
	jobs := make([]gavel.Job, n)
	for i, at := range gavel.Arrivals(1, 1500, n) {
		rates := classes[r.IntN(len(classes))]
		jobs[i] = gavel.Job{Arrival: at, GPUs: 1, Steps: rates[0] * 60 * math.Pow(10, 1.5+2.5*r.Float64()), Rates: rates}
	}
	return jobs
}

var cluster = []gavel.GPUType{{Name: "V100", GPUs: 36}, {Name: "P100", GPUs: 36}, {Name: "K80", GPUs: 36}}

// A step allocates nothing, once the buffers of the policy have grown.
func TestStepsDoNotAllocate(t *testing.T) {
	jobs := stream(2000)
	for name, p := range map[string]gavel.Policy{"FIFO": new(FIFO), "LAS": LAS{}, "AlloX": new(AlloX)} {
		s, err := gavel.New(gavel.Config{Types: cluster, Policy: p, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		steps := func() {
			for range 100 {
				if more, err := s.Step(); !more || err != nil {
					t.Fatalf("%s: more %v, %v", name, more, err)
				}
			}
		}
		for range 60 {
			steps() // until the largest queue has been seen
		}
		if n := testing.AllocsPerRun(3, steps); n != 0 {
			t.Errorf("%s: %v allocations in 100 steps, want 0", name, n)
		}
	}
}
