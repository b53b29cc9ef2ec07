package main

import (
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

// catalogueFlag adds the flag for the user's own GPU types and models.
func catalogueFlag(flags *pflag.FlagSet, paths *[]string) {
	flags.StringArrayVar(paths, "catalogue", nil, "YAML `file` of GPU types and models that add to the built-in ones or replace them, in the form of env/perf/example.yaml; may be repeated")
}

// perfCatalogueFlag is catalogueFlag under the names that perf had for it, too.
func perfCatalogueFlag(flags *pflag.FlagSet, paths *[]string) {
	catalogueFlag(flags, paths)
	for _, old := range []string{"gpu-types", "models"} {
		flags.Var(flags.Lookup("catalogue").Value, old, "")
		_ = flags.MarkHidden(old) // as deprecated, cobra would tell standard output, where the JSON goes
	}
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
