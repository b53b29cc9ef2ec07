package synth_test

import (
	"bytes"
	"fmt"
	"log"
	"time"

	"github.com/yardmaster/yardmaster/datasets/synth"
	"github.com/yardmaster/yardmaster/env"
)

// Futures of a window in which a job arrived every six minutes.
func ExampleFit() {
	const window = 12 * time.Hour
	var observed []env.Job
	for at := time.Duration(0); at < window; at += 6 * time.Minute {
		id := int64(len(observed) + 1)
		observed = append(observed, env.Job{ID: id, Model: "LM", Batch: 10, GPUs: 1, Work: 1e5, Submit: at, Weight: 1})
	}
	workload, err := synth.Fit(observed, synth.FitConfig{To: window})
	if err != nil {
		log.Fatal(err)
	}
	future, err := workload.Generate(1, window, 100*time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f jobs an hour, %d in the next 100\n", workload.Rate(), len(future))
	// Output:
	// 10 jobs an hour, 989 in the next 100
}

// A year that looks like two months of a preset: fit, write, read, generate.
func ExampleFitModel() {
	preset, err := synth.PresetModel(synth.PresetPhilly)
	if err != nil {
		log.Fatal(err)
	}
	seen, err := preset.Generate(synth.ModelRun{Seed: 1, Horizon: 60 * 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	fitted, err := synth.FitModel(seen, synth.ModelConfig{})
	if err != nil {
		log.Fatal(err)
	}
	file := fitted.Encode() // workload.yaml
	model, err := synth.ReadModel(bytes.NewReader(file), "workload.yaml")
	if err != nil {
		log.Fatal(err)
	}
	future, err := model.Generate(synth.ModelRun{Seed: 2, Jobs: 1000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d streams, %d jobs\n", len(model.Streams), len(future.Rows))
	// Output:
	// 5 streams, 1000 jobs
}
