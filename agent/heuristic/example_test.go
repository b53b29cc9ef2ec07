package heuristic_test

import (
	"fmt"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
)

func ExampleFromConfiguration() {
	fmt.Println(heuristic.TiresiasDefault())
	_, err := heuristic.FromConfiguration(env.Configuration{
		Scheduler: "tiresias",
		Knobs:     []env.Knob{{Name: "thresholds", Values: []float64{7200, 3600}}},
	})
	fmt.Println(err)
	// Output:
	// tiresias(promote=0 thresholds=3600)
	// heuristic: tiresias: thresholds[1] is 3600 GPU-seconds, want finite and above 7200
}
