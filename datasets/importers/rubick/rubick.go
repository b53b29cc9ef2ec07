// Package rubick imports the workloads and the profiles of Rubick. Source:
// Zhang et al., "Rubick: Exploiting Job Reconfigurability for Deep Learning
// Cluster Scheduling", MLSys 2025 (arXiv:2408.08586), whose artifact calls it
// Morphling (Apache-2.0).
//
// # What becomes of a row of a workload
//
//   - name is left out, job_id is the number of the row, from 1.
//     submission_time, seconds, becomes submit_ns, counted from the zero of the
//     trace: it has no calendar.
//   - application becomes model; see [applications]. num_gpus becomes gpus.
//   - steps counts iterations. The batch of all workers together is not in the
//     file but in the artifact, one for each application: batch is its share,
//     rounded up where it does not divide (LLaMA trains with fewer samples than
//     GPUs), and steps come to as many samples.
//   - duration, seconds, becomes duration_ns on A800, with the plan that the user
//     chose. Short jobs have been rounded up to one step: they are many.
//   - exec_plan, num_cpus, bandwidth and is_sla are left out. Jobs with a
//     guarantee (is_sla) are warned about.
//
// Jobs of other applications keep their duration and have no steps. Jobs
// without GPUs, or with neither steps nor duration, are dropped.
//
// # What becomes of a profile
//
// A file, placements.csv, holds iteration times of one application, which its
// folder names (bert/placements.csv): exec_plan,placement,iter_time and others.
// Each row is one of the throughput table, in data parallelism unless the plan
// says otherwise; steps_per_s is GPUs / iter_time, seconds. 0 means that it ran
// out of memory.
//
//   - placement is a digit for each node, its GPUs: 4444 is four nodes of four. It
//     is a string; as a number it would lose nothing but its meaning.
//   - exec_plan of three digits is pipeline, tensor and data degree, in this
//     order (the artifact prints 221 as PP=2, TP=2, DP=1). ga accumulates
//     gradients, gc checkpoints activations, zero-dp is ZeRO and zero-offload
//     ZeRO with the optimizer on the host, both taken to be of stage 2, tp+ga is
//     tensor parallelism alone. Micro-batches are not known.
//   - The times of forward pass, synchronization and optimizer are left out: their
//     units differ from file to file. So is cpu_threads, which one file has; with
//     offloading, rows of several numbers of threads become rows of one point.
package rubick

import (
	"io"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

const (
	warnSLA   = "has a guarantee (is_sla): it is left out"
	warnBatch = "the batch of its application is not known: steps are left out"
)

// referenceGPU is that of the testbed.
const referenceGPU = "A800"

// application is what the artifact's configurations say of an application.
type application struct {
	model  string // in the performance catalogue; "" where it has no such model
	global int64  // samples per iteration, all workers ("local_bsz" there, which it divides by the data degree)
}

// applications by their names in workloads and profiles. The catalogue has
// roberta and bert (355 and 336 M parameters) as BERT-large, vit as ViT-base,
// gpt2 (1.5 G) as GPT-2 and llama7 (LLaMA-2-7B) as LLaMA-7B. It lacks t5, which
// has 1.2 G parameters, t5_3B and llama30.
var applications = map[string]application{
	"bert":          {"BERT-large", 32},
	"gpt2":          {"GPT-2", 16},
	"llama30":       {"", 4},
	"llama7":        {"LLaMA-7B", 8},
	"llama7b_bsz16": {"LLaMA-7B", 16},
	"roberta":       {"BERT-large", 64},
	"t5":            {"", 16},
	"t5_3B":         {"", 4},
	"vit":           {"ViT-base", 64},
}

// newModels returns the names of the models.
func newModels() *importers.Models {
	known := make(map[string]string)
	for name, a := range applications {
		if a.model != "" {
			known[name] = a.model
		}
	}
	return importers.NewModels(known)
}

var columns = []string{"name", "submission_time", "duration", "application", "num_gpus", "exec_plan", "steps", "is_sla"}

// Positions in columns.
const (
	_ = iota
	colSubmit
	colDuration
	colApplication
	colGPUs
	_
	colSteps
	colSLA
)

// Format describes the format of workloads to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "rubick", About: "Rubick (MLSys 2025): workload CSV with execution plans (exec_plan)",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a workload of Rubick.
func Sniff(head []byte) bool { return importers.HasColumns(head, columns...) }

// Import reads a workload; name is what errors call it. It fails at the first
// row it cannot make sense of with a [*datasets.RowError] that names the line.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	p := parser{models: newModels()}
	table := importers.Table{
		Layout: importers.Layout{Names: columns},
		Ending: importers.Ending{Meta: datasets.Meta{
			Source:  "Rubick (Zhang et al., MLSys 2025), simulator workload; batches as in its artifact",
			Licence: "Apache-2.0",
		}},
		Row: importers.ByColumn(p.row),
	}
	return table.Import(r, name)
}

type parser struct{ models *importers.Models }

func (p *parser) row(t *importers.Trace, v *importers.Values) {
	job := datasets.Row{
		Submit: v.Seconds(colSubmit), Duration: v.Seconds(colDuration), GPUs: v.GPUs(colGPUs),
		Model: v.Model(colApplication, t, p.models),
	}
	p.work(&job, t, v)
	sla := v.Whole(colSLA, 0, 1)
	if v.Err() != nil {
		return
	}
	if sla == 1 {
		t.Warn(warnSLA)
	}
	t.WarnIfShort(job.Duration)
	if job.Duration > 0 {
		job.ReferenceGPU = referenceGPU
	}
	switch {
	case job.GPUs == 0:
		t.Drop(importers.DropNoGPU)
	case job.Steps == 0 && job.Duration == 0:
		t.Drop(importers.DropNoWork)
	default:
		t.KeepNumbered(job)
	}
}

// work reads the steps of a job whose batch is known.
func (p *parser) work(job *datasets.Row, t *importers.Trace, v *importers.Values) {
	iterations := v.Steps(colSteps)
	a, known := applications[v.Text(colApplication)]
	if !known {
		t.Warn(warnBatch)
		return
	}
	if v.Err() != nil || job.GPUs == 0 {
		return
	}
	even := true
	if job.Batch, job.Steps, even = (importers.Work{Iterations: iterations, Global: a.global}).Share(job.GPUs); !even {
		t.Warn(importers.WarnUneven)
	}
	v.CheckSteps(colSteps, job.Steps)
}
