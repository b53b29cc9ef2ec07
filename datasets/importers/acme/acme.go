// Package acme imports the job traces of the Shanghai AI Laboratory's clusters
// Seren (trace_seren.csv) and Kalos (trace_kalos.csv), March to August 2023.
// Source: Hu et al., "Characterization of Large Language Model Development in
// the Datacenter", NSDI 2024; github.com/InternLM/AcmeTrace describes the
// columns.
//
// # What becomes of a row
//
//   - submit_time becomes submit_ns. Times carry an offset, +08:00 in Seren and
//     +00:00 in Kalos; they are taken as they stand. Hours of the day are counted
//     in the offset of the first row: in Kalos in UTC, eight hours behind the
//     clocks of its users. The epoch is midnight of the day of the first job.
//   - duration_ns is end_time − start_time. The column duration is not used: in
//     Kalos it includes the queue.
//   - gpu_num becomes gpus, user becomes tenant (type with [Config.ByType], such
//     as Pretrain or Evaluation), state becomes status.
//   - job_id stays where every id is a whole number, as in Seren; else rows are
//     numbered, from 1.
//   - reference_gpu is A100-80: every GPU of both clusters is an A100-SXM with
//     80 GB (section 2 of the paper, from memory).
//
// # What is dropped
//
// Jobs without a GPU; jobs that never started, have no run time, end before
// they start or had not ended; exact duplicates. Everything is counted.
package acme

import (
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// referenceGPU is the type of every GPU of the clusters.
const referenceGPU = "A100-80"

const (
	warnIncludesQueue = "its duration includes the queue: the times are taken"
	warnOffset        = "its times carry another offset than those of the first job"
)

// Config chooses what becomes of a row. The zero value is the default.
type Config struct {
	// ByType makes the type of the workload the tenant, not the user.
	ByType bool
}

// Report accounts for every row.
type Report = importers.Report

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "acme", About: "Shanghai AI Laboratory Acme 2023: trace_seren.csv or trace_kalos.csv (job_id,user,node_num,gpu_num,…)",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a trace of either cluster.
func Sniff(head []byte) bool { return importers.HasColumns(head, columnNames...) }

// Import reads a trace with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a trace. It fails at the first row it cannot make sense of with
// a [*datasets.RowError] that names the line.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	p := parser{cfg: &c}
	p.table = importers.Table{
		Layout: importers.Layout{Names: columnNames, Optional: []string{"fail_time"}},
		Row:    importers.ByColumn(p.row),
		Ending: importers.Ending{Meta: datasets.Meta{Licence: "CC-BY-4.0"}},
	}
	return p.table.Import(r, name)
}

// columnNames are the columns that are read and both clusters have.
var columnNames = []string{"job_id", "user", "gpu_num", "type", "state", "submit_time", "start_time", "end_time", "duration", "queue"}

// Positions of the columns in the layout.
const (
	colID = iota
	colUser
	colGPUs
	colType
	colState
	colSubmit
	colStart
	colEnd
	colDuration
	colQueue
	colFail // Kalos only
)

// parser reads the rows of a trace.
type parser struct {
	table  importers.Table // its Ending is completed at the first job
	cfg    *Config
	offset int // of the first job's times, seconds east
}

// row keeps or drops a row. Of a row that is dropped, only what says so is read.
func (p *parser) row(t *importers.Trace, v *importers.Values) {
	gpus := v.GPUs(colGPUs)
	switch {
	case gpus == 0:
		t.Drop(importers.DropNoGPU)
	case v.None(colStart):
		t.Drop(importers.DropNoStart)
	case !t.Ended(v.Text(colState)) || v.None(colEnd):
		t.Drop(importers.DropRunning)
	default:
		p.job(t, v, gpus)
	}
}

// job keeps a job that ended, if it ran.
func (p *parser) job(t *importers.Trace, v *importers.Values, gpus int32) {
	submit, offset := v.Instant(colSubmit)
	start, _ := v.Instant(colStart)
	end, _ := v.Instant(colEnd)
	tenant := colUser
	if p.cfg.ByType {
		tenant = colType
	}
	row := datasets.Row{
		Submit: submit, GPUs: gpus, ReferenceGPU: referenceGPU,
		Tenant: v.Name(tenant, t), Status: v.Name(colState, t),
	}
	p.check(t, v, submit, start, end)
	if v.Err() != nil {
		return
	}
	p.describe(v, offset)
	if offset != p.offset {
		t.Warn(warnOffset)
	}
	var drop string
	if row.Duration, drop = t.Ran(submit, start, end); drop != "" {
		t.Drop(drop)
		return
	}
	t.KeepNamed(v.Text(colID), row)
}

// check compares the columns of seconds with the times.
func (p *parser) check(t *importers.Trace, v *importers.Values, submit, start, end time.Duration) {
	switch {
	case v.Agrees(colDuration, end-start):
	case v.Agrees(colDuration, end-submit):
		t.Warn(warnIncludesQueue)
	default:
		t.Warn(importers.WarnDuration)
	}
	if !v.Agrees(colQueue, start-submit) {
		t.Warn(importers.WarnQueue)
	}
}

// describe completes the table's metadata at the first job that ended.
func (p *parser) describe(v *importers.Values, offset int) {
	e := &p.table.Ending
	if e.Zone != nil {
		return
	}
	cluster := "Seren"
	if v.Has(colFail) {
		cluster = "Kalos"
	}
	e.Meta.Source = "Shanghai AI Laboratory Acme, " + cluster + ", 2023 (Hu et al., NSDI 2024)"
	p.offset = offset
	text := fmt.Sprintf("%+03d:%02d", offset/3600, max(offset, -offset)%3600/60)
	e.Zone, e.Meta.Zone = time.FixedZone(text, offset), text+" (as the times carry)"
	switch offset {
	case 0:
		e.Zone, e.Meta.Zone = time.UTC, "UTC (as the times carry +00:00)"
	case 8 * 3600: // no name but a place's: without changes of the clock since 1991
		e.Meta.Zone = "Asia/Shanghai (as the times carry +08:00)"
	}
}
