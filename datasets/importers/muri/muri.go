// Package muri imports the traces of Muri's simulator: jobs of Microsoft's
// Philly cluster, each given a model. Source: Zhao et al., "Multi-Resource
// Interleaving for Deep Learning Training", SIGCOMM 2022,
// github.com/Rivendile/Muri (Apache-2.0).
//
// # What becomes of a row
//
// All times of the file are milliseconds.
//
//   - job_id stays, submit_time becomes submit_ns, counted from the zero of the
//     trace: it has no calendar.
//   - num_gpu becomes gpus, batch_size becomes batch: every worker of Muri's
//     experiments loads so many samples.
//   - steps is iterations × num_gpu: an iteration is a step of every worker.
//   - duration becomes duration_ns, on the V100s that Muri measured.
//   - model_name becomes model. Only bert has its like in the performance
//     catalogue, BERT-base: 12 layers, 512 tokens. Muri's gpt2 is the small
//     model of 124 M parameters, its resnet18 reads images of 224 × 224; they
//     and a2c, dqn, shufflenet_v2_x1_0, vgg16 and vgg19 keep their names.
//   - interval (to the job before), iteration_time, the resource times of the
//     stages and priority (0 or 1, at random) are left out.
//
// Exact duplicates and jobs without GPUs or iterations are dropped.
package muri

import (
	"io"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

const warnDuration = "its duration is not iterations × iteration_time: are both milliseconds?"

// referenceGPU is that of the testbed: section 6.1 of the paper.
const referenceGPU = "V100"

var columns = []string{"job_id", "num_gpu", "submit_time", "iterations", "model_name", "batch_size", "duration", "iteration_time"}

// Positions in columns.
const (
	colID = iota
	colGPUs
	colSubmit
	colIterations
	colModel
	colBatch
	colDuration
	colIterationTime
)

// models maps Muri's names to those of the performance catalogue.
var models = map[string]string{"bert": "BERT-base"}

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "muri", About: "Muri (SIGCOMM 2022): CSV with iterations and stage times, in milliseconds",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a trace of Muri.
func Sniff(head []byte) bool { return importers.HasColumns(head, columns...) }

// Import reads a trace; name is what errors call it. It fails at the first row
// it cannot make sense of with a [*datasets.RowError] that names the line.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	p := parser{models: importers.NewModels(models)}
	table := importers.Table{
		Layout: importers.Layout{Names: columns},
		Ending: importers.Ending{Meta: datasets.Meta{
			Source:  "Muri (Zhao et al., SIGCOMM 2022), simulator trace made from Microsoft Philly",
			Licence: "Apache-2.0",
		}},
		Row: importers.ByColumn(p.row),
	}
	return table.Import(r, name)
}

type parser struct{ models *importers.Models }

func (p *parser) row(t *importers.Trace, v *importers.Values) {
	job := datasets.Row{
		ID: v.ID(colID), Submit: v.Millis(colSubmit), GPUs: v.GPUs(colGPUs), Duration: v.Millis(colDuration),
		Batch: v.Batch(colBatch), Model: v.Model(colModel, t, p.models),
	}
	iterations, iteration := v.Steps(colIterations), v.Millis(colIterationTime)
	job.Steps = iterations * float64(job.GPUs)
	v.CheckSteps(colIterations, job.Steps)
	if v.Err() != nil {
		return
	}
	t.WarnIfShort(job.Duration)
	if gap := math.Abs(float64(job.Duration) - iterations*float64(iteration)); gap > float64(max(iteration, time.Millisecond)) {
		t.Warn(warnDuration)
	}
	if job.Duration > 0 {
		job.ReferenceGPU = referenceGPU
	}
	switch {
	case job.GPUs == 0:
		t.Drop(importers.DropNoGPU)
	case iterations == 0:
		t.Drop(importers.DropNoWork)
	default:
		t.Keep(job)
	}
}
