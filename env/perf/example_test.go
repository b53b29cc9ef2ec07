package perf_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// What a scheduler may choose for a job of two GPUs: on fast GPUs four are
// faster than two, and one is nearly half as fast as two.
func Example() {
	cluster, err := perf.Default().ParseCluster("V100=16,K80=16", 4)
	if err != nil {
		log.Fatal(err)
	}
	p, err := perf.New(perf.Config{})
	if err != nil {
		log.Fatal(err)
	}
	job := env.Job{Model: "ResNet-50", Batch: 64, GPUs: 2}
	strategies, err := p.Strategies(&job, &cluster)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range strategies {
		fmt.Printf("%d × %s: %.1f steps/s, micro-batches of %d, restart %v\n",
			s.GPUs, cluster.Types[s.Type].Name, s.Throughput, s.Plan.MicroBatch, s.Restart.Round(time.Second))
	}
	// Output:
	// 1 × V100: 4.7 steps/s, micro-batches of 128, restart 1m0s
	// 2 × V100: 8.6 steps/s, micro-batches of 64, restart 1m0s
	// 4 × V100: 14.7 steps/s, micro-batches of 32, restart 1m0s
	// 1 × K80: 0.7 steps/s, micro-batches of 64, restart 1m0s
	// 2 × K80: 1.4 steps/s, micro-batches of 64, restart 1m0s
	// 4 × K80: 2.5 steps/s, micro-batches of 32, restart 1m0s
}

// A file of one's own adds models and GPU types.
func ExampleCatalogue_Extend() {
	c := perf.Default()
	err := c.Extend(strings.NewReader(`
models:
  - name: Wide-ResNet
    forward_gflops: 22.8
    parameters_m: 68.9
    activation_mib: 170
    traffic_mib: 700
    kernels: 1100
    optimizer_bytes: 4
    efficiency: 0.55
    restart_s: 60
    batches: [16, 32, 64]
`), "ours.yaml")
	if err != nil {
		log.Fatal(err)
	}
	p, err := perf.New(perf.Config{Catalogue: c})
	if err != nil {
		log.Fatal(err)
	}
	steps, err := p.Throughput("Wide-ResNet", 32, "V100", 4, 1)
	fmt.Printf("%.1f steps/s %v\n", steps, err)

	err = c.Extend(strings.NewReader("models: [{name: X, flops: 1}]"), "theirs.yaml")
	fmt.Println(err)
	// Output:
	// 15.0 steps/s <nil>
	// perf: theirs.yaml: [1:20] unknown field "flops"
}

// A measured row wins, and corrects the model around it.
func ExampleConfig_measured() {
	p, err := perf.New(perf.Config{Measured: []perf.Measurement{
		{Model: "LM", Batch: 20, GPUType: "V100", GPUs: 1, StepsPerSecond: 64.7},
	}})
	if err != nil {
		log.Fatal(err)
	}
	steps, err := p.Throughput("LM", 20, "V100", 1, 1)
	fmt.Println(steps, err)
	// Output:
	// 64.7 <nil>
}

// Rows of one's own cluster tell how its code runs: half as fast as the
// catalogue has it, also for a model and a GPU type that were not measured.
func ExampleCatalogue_Calibrate() {
	var rows []perf.Measurement
	for _, batch := range []int{16, 32, 64, 128} {
		p, _ := perf.New(perf.Config{}) // the built-in catalogue has no faults
		for _, gpu := range []string{"V100", "A100-40"} {
			steps, err := p.Throughput("ResNet-50", batch, gpu, 1, 1)
			if err != nil {
				log.Fatal(err)
			}
			rows = append(rows, perf.Measurement{Model: "ResNet-50", Batch: batch, GPUType: gpu, GPUs: 1, StepsPerSecond: steps / 2})
		}
	}
	ours, err := perf.Default().Calibrate(rows)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range []*perf.Catalogue{perf.Default(), ours} {
		p, err := perf.New(perf.Config{Catalogue: c})
		if err != nil {
			log.Fatal(err)
		}
		seen, _ := p.Throughput("ResNet-50", 64, "V100", 8, 2)
		other, err := p.Throughput("CycleGAN", 1, "V100", 1, 1)
		fmt.Printf("ResNet-50 %.1f steps/s on 8 GPUs, CycleGAN %.1f on one, %v\n", seen, other, err)
	}
	// Output:
	// ResNet-50 22.8 steps/s on 8 GPUs, CycleGAN 3.8 on one, <nil>
	// ResNet-50 14.2 steps/s on 8 GPUs, CycleGAN 2.8 on one, <nil>
}
