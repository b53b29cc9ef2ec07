package gavel

import (
	"bytes"
	"io"
	"math"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Warnings.
const (
	warnBatch = "has no batch size in its name and none is known"
	warnSLO   = "has an SLO, a multiple of a duration that the trace does not tell: left out"
)

// sizes are the batch sizes of models that have one only.
var sizes = map[string]int32{"A3C": 4, "CycleGAN": 1}

// Format describes the traces to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "gavel", About: "Gavel (OSDI 2020): 10 columns between tabs, or 7 of its first version, no header",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a trace of Gavel.
func Sniff(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	fields := strings.Split(strings.TrimSpace(string(line)), "\t")
	at, known := layouts[len(fields)]
	if !known || fields[at.needsData] != "0" && fields[at.needsData] != "1" {
		return false
	}
	_, _, err := parseName(fields[0])
	return err == nil
}

// Import reads a trace into a jobs table; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, importers.Report{}, err
	}
	defer source.Close()
	trace, models := importers.NewTrace(source), importers.NewModels(nil)
	err = eachTraceLine(source, func(j Job, number int64) error {
		if err := trace.Begin(number); err != nil {
			return err
		}
		keep(trace, models, &j)
		return nil
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return trace.Finish(importers.Ending{Meta: datasets.Meta{Source: "Gavel (Narayanan et al., OSDI 2020), trace", Licence: "MIT"}})
}

// keep adds a job to the table, or drops it.
func keep(t *importers.Trace, models *importers.Models, j *Job) {
	switch {
	case j.GPUs == 0:
		t.Drop(importers.DropNoGPU)
		return
	case j.Steps == 0:
		t.Drop(importers.DropNoWork)
		return
	}
	batch := int32(j.Batch)
	if batch == 0 {
		batch = sizes[j.Model]
	}
	if batch == 0 {
		t.Warn(warnBatch)
	}
	if j.SLO >= 0 {
		t.Warn(warnSLO)
	}
	model, warning := models.Name(j.Model)
	if warning != "" {
		t.Warn(warning)
	}
	model, _ = t.Name(model) // parseName has checked it
	t.KeepNumbered(datasets.Row{
		Submit: time.Duration(math.Round(j.Arrival * float64(time.Second))),
		GPUs:   int32(j.GPUs), Steps: j.Steps, Model: model, Batch: batch, Weight: j.Weight,
	})
}
