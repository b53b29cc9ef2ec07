// Package elasticflow imports the traces and the throughput tables of
// ElasticFlow. Source: Gu et al., "ElasticFlow: An Elastic Serverless Training
// Platform for Distributed Deep Learning", ASPLOS 2023,
// github.com/pkusys/ElasticFlow (Apache-2.0).
//
// # What becomes of a row of a trace
//
//   - job_id stays; submit_time, seconds, becomes submit_ns, counted from the
//     zero of the trace: it has no calendar.
//   - num_gpu becomes gpus. batch_size is that of all workers together: batch is
//     its share, rounded up where it does not divide.
//   - iteration counts updates of the weights: steps is iteration × num_gpu, or
//     as many samples with the rounded batch.
//   - duration, seconds, becomes duration_ns on A100-40: iteration divided by
//     the throughput of the table for A100 with num_gpu GPUs.
//   - ddl, seconds since the zero of the trace, becomes deadline_ns. Deadlines
//     may come sooner than the duration: they can be met with more GPUs. A
//     best_effort of 1, a column that some traces have, means that there is none.
//   - real_iteration and real_duration are what the job takes, where they differ
//     from iteration and duration, which are what the user says; they count.
//   - model_name becomes model; see [models].
//
// Exact duplicates and jobs without GPUs or iterations are dropped.
//
// # What becomes of a throughput table
//
// A file has a row for each global batch and a column for each number of GPUs:
// global_batch_size,1,2,4,8,16,32,64. The model is the file's name, the GPU type
// that of its folder (throughputs_A100/bert.csv). Each value is a row of the
// table, with data parallelism; iterations/s × GPUs are its steps_per_s. 0 and
// nan mean that it was not measured: such values are dropped, they are not out
// of memory. A value may be missing at the end of a row, which then ends in a
// comma. Nodes are not in the files: the A100s are in nodes of 8 (section 6.1 of
// the paper), the T4s in nodes of 4; those were measured by Pollux (Qiao et al.,
// OSDI 2021, section 5.1).
package elasticflow

import (
	"io"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Warnings.
const (
	warnFar  = "its deadline is more than 100 years away: left out"
	warnReal = "needs other iterations or time than its user says: the real ones are taken"
)

// referenceGPU is that of the trace's durations.
const referenceGPU = "A100-40"

var (
	required = []string{"job_id", "submit_time", "model_name", "ddl", "batch_size", "num_gpu", "duration", "iteration"}
	optional = []string{"real_iteration", "real_duration", "best_effort"}
)

// Positions in required, then optional.
const (
	colID = iota
	colSubmit
	colModel
	colDeadline
	colBatch
	colGPUs
	colDuration
	colIterations
	colRealIterations
	colRealDuration
	colBestEffort
)

// models maps the names of the traces, and of the tables for A100, to those of
// the performance catalogue. resnet50 is trained on ImageNet. bert is the base
// model on the sentences of CoLA, a tenth as long as the catalogue's; gpt2 is
// the small one; they and deepspeech2, inception3, vgg16 and resnet50_cifar10
// keep their names.
var models = map[string]string{"resnet50": "ResNet-50"}

// Format describes the format of traces to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "elasticflow", About: "ElasticFlow (ASPLOS 2023): CSV with deadlines (ddl) and iterations",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a trace of ElasticFlow.
func Sniff(head []byte) bool { return importers.HasColumns(head, required...) }

// Import reads a trace; name is what errors call it. It fails at the first row
// it cannot make sense of with a [*datasets.RowError] that names the line.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	p := parser{models: importers.NewModels(models)}
	table := importers.Table{
		Layout: importers.Layout{Names: required, Optional: optional},
		Ending: importers.Ending{Meta: datasets.Meta{
			Source:  "ElasticFlow (Gu et al., ASPLOS 2023), simulator trace",
			Licence: "Apache-2.0",
		}},
		Row: importers.ByColumn(p.row),
	}
	return table.Import(r, name)
}

type parser struct{ models *importers.Models }

func (p *parser) row(t *importers.Trace, v *importers.Values) {
	job := datasets.Row{
		ID: v.ID(colID), Submit: v.Seconds(colSubmit), GPUs: v.GPUs(colGPUs), Duration: v.Seconds(colDuration),
		Model: v.Model(colModel, t, p.models),
	}
	work := importers.Work{Iterations: v.Steps(colIterations), Global: int64(v.Batch(colBatch))}
	p.real(&job, &work, t, v)
	p.deadline(&job, t, v)
	if job.GPUs > 0 {
		even := true
		if job.Batch, job.Steps, even = work.Share(job.GPUs); !even {
			t.Warn(importers.WarnUneven)
		}
		v.CheckSteps(colIterations, job.Steps)
	}
	if v.Err() != nil {
		return
	}
	t.WarnIfShort(job.Duration)
	if job.Duration > 0 {
		job.ReferenceGPU = referenceGPU
	}
	switch {
	case job.GPUs == 0:
		t.Drop(importers.DropNoGPU)
	case work.Iterations == 0:
		t.Drop(importers.DropNoWork)
	default:
		t.Keep(job)
	}
}

// real reads what the job takes in truth, where the trace says.
func (p *parser) real(job *datasets.Row, work *importers.Work, t *importers.Trace, v *importers.Values) {
	iterations, duration := work.Iterations, job.Duration
	if v.Has(colRealIterations) {
		iterations = v.Steps(colRealIterations)
	}
	if v.Has(colRealDuration) {
		duration = v.Seconds(colRealDuration)
	}
	if iterations != work.Iterations || duration != job.Duration {
		t.Warn(warnReal)
	}
	work.Iterations, job.Duration = iterations, duration
}

// deadline reads the deadline of a job that has one.
func (p *parser) deadline(job *datasets.Row, t *importers.Trace, v *importers.Values) {
	if v.Has(colBestEffort) && v.Whole(colBestEffort, 0, 1) == 1 {
		return
	}
	if importers.IsNone(v.Text(colDeadline)) {
		return
	}
	// The simulator's own value for none is the largest integer.
	seconds := v.Number(colDeadline, 0, 1e19)
	if seconds > datasets.MaxTime.Seconds() {
		t.Warn(warnFar)
		return
	}
	if at := time.Duration(math.Round(seconds * float64(time.Second))); at > job.Submit {
		job.Deadline = at
	} else {
		t.Warn(importers.WarnDeadline)
	}
}
