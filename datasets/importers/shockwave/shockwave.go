// Package shockwave imports the traces of Shockwave's simulator: jobs of
// Gavel's models whose batch size may change as they learn. Source: Zheng et
// al., "Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation
// in Machine Learning", NSDI 2023, github.com/uw-mad-dash/shockwave (MIT).
//
// # What becomes of a row
//
// A row has 12 columns between tabs and no header: job type, command, working
// directory, steps argument, needs data, total steps, scale factor, mode,
// priority weight, SLO, duration, arrival.
//
//   - The job type, "LM (batch size 10)" or "A3C", becomes model and batch. The
//     names are the performance catalogue's; those of one size have none in the
//     file: A3C has 4, CycleGAN 1.
//   - total steps becomes steps: summed over the workers, as in Gavel.
//   - scale factor becomes gpus, priority weight becomes weight.
//   - duration, seconds, becomes duration_ns. It is total steps divided by the
//     rates that Shockwave measured on TACC's Quadro RTX 5000, which the
//     catalogue does not have: reference_gpu is null. The work is the steps.
//   - arrival, seconds, becomes submit_ns, counted from the zero of the trace:
//     it has no calendar.
//   - SLO is negative for none, else a multiple of the duration: the deadline is
//     arrival + SLO × duration, as in the scheduler's add_job.
//   - job_id is the number of the row, from 1.
//   - A mode other than static (accordion, gns) says that the batch grows with
//     time: no column holds that. Such jobs are kept with their first batch size
//     and warned about. The command and its arguments are left out.
//
// Exact duplicates count as jobs: rows have no ids. Jobs without GPUs or steps
// are dropped.
package shockwave

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Warnings.
const (
	warnMode  = "changes its batch size as it learns: imported with the first"
	warnBatch = "has no batch size in its name and none is known"
)

// columns of a row, all of them.
var columns = []string{
	"job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir", "total_steps",
	"scale_factor", "mode", "priority_weight", "SLO", "duration", "arrival_time",
}

// Positions in columns.
const (
	colType = iota
	_
	_
	_
	colNeedsData
	colSteps
	colGPUs
	colMode
	colWeight
	colSLO
	colDuration
	colArrival
)

// modes of adapting the batch size.
var modes = map[string]bool{"static": true, "accordion": true, "gns": true}

// sizes are the batch sizes of models that have one only.
var sizes = map[string]int32{"A3C": 4, "CycleGAN": 1}

// maxCommand bounds the values of a row; commands are its longest.
const maxCommand = 4 << 10

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "shockwave", About: "Shockwave (NSDI 2023): 12 columns between tabs, no header",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a trace of Shockwave.
func Sniff(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	fields := strings.Split(strings.TrimSpace(string(line)), "\t")
	if len(fields) != len(columns) || !modes[fields[colMode]] {
		return false
	}
	_, _, ok := parseType(fields[colType])
	return ok
}

// Import reads a trace; name is what errors call it. It fails at the first row
// it cannot make sense of with a [*datasets.RowError] that names the line.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	p := parser{models: importers.NewModels(nil)}
	table := importers.Table{
		Layout: importers.Layout{Names: columns, Comma: '\t', Headless: true, MaxValue: maxCommand},
		Ending: importers.Ending{Meta: datasets.Meta{
			Source:  "Shockwave (Zheng et al., NSDI 2023), simulator trace; durations on Quadro RTX 5000",
			Licence: "MIT",
		}},
		Row: importers.ByColumn(p.row),
	}
	return table.Import(r, name)
}

// parseType splits "LM (batch size 5)" into model and batch size, and "A3C"
// into a model and 0.
func parseType(s string) (model string, batch int32, ok bool) {
	model, rest, sized := strings.Cut(s, " (batch size ")
	if !sized {
		return model, sizes[model], model != "" && !strings.ContainsAny(model, "()")
	}
	digits, closed := strings.CutSuffix(rest, ")")
	n, err := strconv.ParseInt(digits, 10, 32)
	return model, int32(n), closed && err == nil && model != "" && n >= 1 && n <= datasets.MaxBatch
}

type parser struct{ models *importers.Models }

func (p *parser) row(t *importers.Trace, v *importers.Values) {
	v.Whole(colNeedsData, 0, 1) // tells a row of other columns
	job := datasets.Row{
		Steps: v.Steps(colSteps), GPUs: v.GPUs(colGPUs), Weight: v.Number(colWeight, 1e-9, 1e9),
		Duration: v.Seconds(colDuration), Submit: v.Seconds(colArrival),
	}
	p.kind(&job, t, v)
	if !modes[v.Text(colMode)] {
		v.Bad(colMode, "want static, accordion or gns")
	}
	p.deadline(&job, v)
	if v.Err() != nil {
		return
	}
	t.WarnIfShort(job.Duration)
	if v.Text(colMode) != "static" {
		t.Warn(warnMode)
	}
	switch {
	case job.GPUs == 0:
		t.Drop(importers.DropNoGPU)
	case job.Steps == 0:
		t.Drop(importers.DropNoWork)
	default:
		t.KeepNumbered(job)
	}
}

// kind reads the job type.
func (p *parser) kind(job *datasets.Row, t *importers.Trace, v *importers.Values) {
	model, batch, ok := parseType(v.Text(colType))
	if !ok || len(model) > datasets.MaxName {
		v.Bad(colType, `want a job type such as "LM (batch size 10)" or "A3C"`)
		return
	}
	if batch == 0 {
		t.Warn(warnBatch)
	}
	name, warning := p.models.Name(model)
	if warning != "" {
		t.Warn(warning)
	}
	job.Model, _ = t.Name(name)
	job.Batch = batch
}

// deadline reads the SLO.
func (p *parser) deadline(job *datasets.Row, v *importers.Values) {
	slo := v.Number(colSLO, -1, 1e6)
	late := slo * job.Duration.Seconds()
	switch {
	case slo < 0:
	case late > datasets.MaxTime.Seconds():
		v.Bad(colSLO, "want a multiple of the duration that comes to at most 100 years, or -1 for none")
	case late > 0:
		job.Deadline = job.Submit + max(time.Duration(late*float64(time.Second)), 1)
	}
}
