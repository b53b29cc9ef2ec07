package gavel

import (
	"io"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// StreamInterarrival is the mean inter-arrival time, in seconds, that a stream
// gets when it becomes a jobs table: that of the reference runs under load. `trace
// scale` changes it.
const StreamInterarrival = 1800

const (
	warnUnit = "arrives in units of the mean inter-arrival time, taken to be 1800 s: trace scale changes it"
	// referenceType is the GPU type that durations of streams are of.
	referenceType = "V100"
)

// StreamFormat describes the streams of Gavel's job generator.
func StreamFormat() importers.Format {
	return importers.Format{
		Name: "gavel-stream", About: "Gavel's job generator: job_id,unit_arrival,model,batch_size,gpus,duration_s_v100,total_steps",
		Sniff: SniffStream, Import: ImportStream,
	}
}

// SniffStream reports whether a text begins like a stream.
func SniffStream(head []byte) bool { return importers.HasColumns(head, streamHeader...) }

// ImportStream reads a stream into a jobs table; name is what errors call it.
func ImportStream(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, importers.Report{}, err
	}
	defer source.Close()
	trace, models := importers.NewTrace(source), importers.NewModels(nil)
	var begun error
	err = readStream(source, StreamInterarrival, func(j *Job, number int64) {
		if err := trace.Begin(number); err != nil {
			begun = err
			return
		}
		trace.Warn(warnUnit)
		keepStreamed(trace, models, j)
	})
	if err == nil {
		err = begun
	}
	if err != nil {
		return nil, importers.Report{}, err
	}
	return trace.Finish(importers.Ending{Meta: datasets.Meta{
		Source: "Gavel (Narayanan et al., OSDI 2020), stream of its job generator", Licence: "MIT",
		Filters: []string{"the mean inter-arrival time was taken to be 1800 s"},
	}})
}

// keepStreamed adds a job to the table.
func keepStreamed(t *importers.Trace, models *importers.Models, j *Job) {
	batch := int32(j.Batch)
	if batch == 0 {
		batch = sizes[j.Model]
	}
	if batch == 0 {
		t.Warn(warnBatch)
	}
	model, warning := models.Name(j.Model)
	if warning != "" {
		t.Warn(warning)
	}
	model, _ = t.Name(model) // text has checked it
	row := datasets.Row{
		ID: t.Row() - 1, Submit: time.Duration(math.Round(j.Arrival * float64(time.Second))),
		GPUs: int32(j.GPUs), Steps: j.Steps, Model: model, Batch: batch,
	}
	if d := time.Duration(math.Round(j.DurationV100 * float64(time.Second))); d > 0 {
		row.Duration, row.ReferenceGPU = d, referenceType
	}
	t.Keep(row)
}
