package philly

import (
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// header names the columns of the CSV.
var header = []string{"timestamp", "duration", "num_gpus", "gpu_time", "cluster"}

// Positions of the columns in header.
const (
	colTimestamp = iota
	colDuration
	colGPUs
	colGPUTime
	colCluster
)

// tableReader reads the rows of the CSV.
type tableReader struct {
	*importers.Trace
	columns *importers.Columns
	clock   *importers.Clock
	minimum time.Duration
	seen    map[[sha256.Size]byte]struct{} // hashes of the rows so far
}

// readTable reads every row of the CSV.
func readTable(source *importers.Source, r *tableReader) error {
	columns, err := importers.NewColumns(source, importers.Layout{Names: header})
	if err != nil {
		return err
	}
	r.columns, r.seen = columns, make(map[[sha256.Size]byte]struct{})
	for {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.Begin(columns.Line); err != nil {
			return err
		}
		if err := r.row(values); err != nil {
			return err
		}
	}
}

// row keeps, drops or refuses a row.
func (r *tableReader) row(values []string) error {
	job, err := r.parse(values)
	if err != nil {
		return err
	}
	key := sha256.Sum256([]byte(strings.Join(values, "\n"))) // no value holds a line end
	if _, twice := r.seen[key]; twice {
		r.Drop(importers.DropDuplicate)
		return nil
	}
	r.seen[key] = struct{}{}
	switch {
	case job.GPUs == 0:
		r.Drop(importers.DropNoGPU)
	case job.Duration == 0:
		r.Drop(importers.DropNoTime)
	case job.Duration < r.minimum:
		r.Drop(dropShort)
	default:
		r.KeepNumbered(job)
	}
	return nil
}

func (r *tableReader) parse(values []string) (datasets.Row, error) {
	wall, ok := importers.ParseWall(values[colTimestamp])
	if !ok {
		return datasets.Row{}, r.columns.Bad(colTimestamp, importers.TimeFix)
	}
	duration, ok := importers.ParseSeconds(values[colDuration])
	if !ok {
		return datasets.Row{}, r.columns.Bad(colDuration, importers.SecondsFix)
	}
	gpus, ok := importers.ParseGPUs(values[colGPUs])
	if !ok {
		return datasets.Row{}, r.columns.Bad(colGPUs, importers.GPUsFix)
	}
	gpuTime, err := strconv.ParseFloat(values[colGPUTime], 64)
	if err != nil || math.IsNaN(gpuTime) {
		return datasets.Row{}, r.columns.Bad(colGPUTime, "want GPU-seconds")
	}
	tenant, ok := r.Name(values[colCluster])
	if !ok {
		return datasets.Row{}, r.columns.Bad(colCluster, "want at most 256 bytes of UTF-8")
	}
	if want := duration.Seconds() * float64(gpus); math.Abs(gpuTime-want) > 1e-6*(1+want) {
		r.Warn(warnGPUTime)
	}
	if duration < short {
		r.Warn(warnShort)
	}
	submit, doubt := r.clock.Instant(wall)
	r.Doubt(doubt, "submitted")
	return datasets.Row{Submit: submit, GPUs: gpus, Duration: duration, Tenant: tenant}, nil
}
