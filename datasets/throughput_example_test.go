package datasets_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
)

// A table answers for what was measured, between it, and says what it cannot.
func ExampleSpeeds_Lookup() {
	row := func(gpus int, steps float64) datasets.ThroughputRow {
		return datasets.ThroughputRow{
			Source: "mine", Model: "ResNet-50", GPUType: "V100", GPUs: int32(gpus), Nodes: 1, Batch: 32, GlobalBatch: int64(32 * gpus),
			Plan:           env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: 32},
			StepsPerSecond: steps, OutOfMemory: steps == 0, Quality: datasets.Measured,
		}
	}
	table := datasets.ThroughputTable{Rows: []datasets.ThroughputRow{row(1, 10), row(4, 36), row(8, 64)}}
	if err := table.Validate(); err != nil {
		log.Fatal(err)
	}
	speeds := table.Speeds()
	for _, gpus := range []int{4, 2, 16} {
		s, err := speeds.Lookup(datasets.SpeedQuery{Model: "ResNet-50", GPUType: "V100", Batch: 32, GPUs: gpus})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d GPUs: %.1f steps/s, from %d to %d\n", gpus, s.StepsPerSecond, s.Low, s.High)
	}
	_, err := speeds.Lookup(datasets.SpeedQuery{Model: "ResNet-50", GPUType: "V100", Batch: 64, GPUs: 1})
	fmt.Println(errors.Is(err, datasets.ErrNotMeasured), err)
	// Output:
	// 4 GPUs: 36.0 steps/s, from 4 to 4
	// 2 GPUs: 19.0 steps/s, from 1 to 4
	// 16 GPUs: 64.0 steps/s, from 8 to 8
	// true datasets: not in the throughput table: ResNet-50 with batch 64 on V100; batches that are: [32]
}
