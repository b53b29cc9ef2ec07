package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/throughputs"
	"github.com/yardmaster/yardmaster/env/perf"
)

func newPerf() *cobra.Command {
	c := &cobra.Command{
		Use:   "perf",
		Short: "Show and verify the performance model: how fast models train on GPUs",
	}
	c.AddCommand(newPerfShow(), newPerfVerify())
	return c
}

// catalogueFlags are the user's own additions to the catalogue.
type catalogueFlags struct{ gpuTypes, models []string }

func (f *catalogueFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.gpuTypes, "gpu-types", nil, "YAML file of GPU types that add to or replace the built-in ones, in the form of env/perf/gpus.yaml; may be repeated")
	flags.StringArrayVar(&f.models, "models", nil, "YAML file of models that add to or replace the built-in ones, in the form of env/perf/models.yaml; may be repeated")
}

func (f *catalogueFlags) load() (*perf.Catalogue, error) {
	c := perf.Default()
	for _, path := range append(append([]string(nil), f.gpuTypes...), f.models...) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := c.Extend(bytes.NewReader(data), path); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readThroughput reads a throughput table: Parquet, or the CSV of published ones.
func readThroughput(path string) (*datasets.ThroughputTable, error) {
	if !strings.Contains(filepath.Base(path), ".csv") {
		return datasets.ReadThroughput(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, _, err := throughputs.Import(importers.Input{Name: path, Reader: f})
	return t, err
}

// planText writes a plan as "dp 4 × tp 2, micro-batch 8, ZeRO 2, checkpointing".
func planText(c *perf.Candidate) string {
	p := &c.Plan
	var degrees []string
	for _, d := range [...]struct {
		name  string
		value int
	}{{"data", p.Data}, {"tensor", p.Tensor}, {"pipeline", p.Pipeline}} {
		if d.value > 1 {
			degrees = append(degrees, fmt.Sprintf("%s %d", d.name, d.value))
		}
	}
	parts := []string{strings.Join(degrees, " x ")}
	if len(degrees) == 0 {
		parts[0] = "alone"
	}
	parts = append(parts, fmt.Sprintf("micro-batch %d", p.MicroBatch))
	if p.ZeRO > 0 {
		parts = append(parts, fmt.Sprintf("ZeRO %d", p.ZeRO))
	}
	if p.Offload {
		parts = append(parts, "offload")
	}
	if p.Checkpoint {
		parts = append(parts, "checkpoint")
	}
	return strings.Join(parts, ", ")
}
