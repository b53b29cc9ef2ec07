package gavel_test

import (
	"fmt"
	"log"

	policies "github.com/yardmaster/yardmaster/agent/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// The same six jobs under two policies.
func Example() {
	fast, slow := []float64{10, 2}, []float64{10, 9} // steps/s on V100 and K80
	var jobs []gavel.Job
	for i := range 6 {
		rates := fast
		if i%2 == 0 {
			rates = slow
		}
		jobs = append(jobs, gavel.Job{GPUs: 1, Steps: float64(36_000 - 5_000*i), Rates: rates})
	}
	for _, p := range []gavel.Policy{new(policies.FIFO), new(policies.AlloX)} {
		s, err := gavel.New(gavel.Config{
			Types:  []gavel.GPUType{{Name: "V100", GPUs: 1}, {Name: "K80", GPUs: 1}},
			Jobs:   jobs,
			Policy: p,
		})
		if err != nil {
			log.Fatal(err)
		}
		r, err := s.Run()
		if err != nil {
			log.Fatal(err)
		}
		summary, err := r.Summarize(gavel.Window{First: 0, End: len(jobs)})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%T: mean completion time %.0f s\n", p, summary.Mean)
	}
	// Output:
	// *gavel.FIFO: mean completion time 7866 s
	// *gavel.AlloX: mean completion time 4558 s
}
