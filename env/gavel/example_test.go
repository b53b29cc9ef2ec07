package gavel_test

import (
	"fmt"
	"log"

	"github.com/yardmaster/yardmaster/env/gavel"
)

// equal gives every job the same part of every type.
type equal struct{}

func (equal) Rules() gavel.Rules { return gavel.Rules{} }

func (equal) Allocate(v *gavel.View, x []float64) error {
	for i := range x {
		x[i] = 1 / float64(len(v.Types))
	}
	return nil
}

// Three jobs share a V100 and a K80, on which they run a fifth as fast.
func Example() {
	rates := []float64{10, 2} // steps/s
	s, err := gavel.New(gavel.Config{
		Types:  []gavel.GPUType{{Name: "V100", GPUs: 1}, {Name: "K80", GPUs: 1}},
		Policy: equal{},
		Jobs: []gavel.Job{
			{Arrival: 0, GPUs: 1, Steps: 9_000, Rates: rates},
			{Arrival: 0, GPUs: 1, Steps: 9_000, Rates: rates},
			{Arrival: 500, GPUs: 1, Steps: 3_000, Rates: rates},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	r, err := s.Run()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("completion times: %.0f s\n", r.JCT)
	fmt.Printf("%d rounds until %.0f s, utilization %.2f\n", r.Rounds, r.End, r.Utilization)
	// Output:
	// completion times: [1620 1776 1240] s
	// 7 rounds until 1776 s, utilization 0.96
}
