package importers

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// Reasons and warnings of traces made for simulators.
const (
	DropNoWork = "has no work"

	WarnShort    = "shorter than 60 s"
	WarnDeadline = "its deadline is not after its submission: left out"
	WarnUneven   = "its batch does not divide by its GPUs: rounded up per worker, with as many samples in all"
)

// shortest is the run time below which a job is warned about.
const shortest = 60 * time.Second

// WarnIfShort counts a run time that is known and suspiciously short.
func (t *Trace) WarnIfShort(d time.Duration) {
	if d > 0 && d < shortest {
		t.Warn(WarnShort)
	}
}

// Table is a trace that is one table of separated values.
type Table struct {
	Layout Layout
	Ending Ending
	// Row keeps or drops a row, whose values are parts of a line, to be cloned
	// where they are kept. See [ByColumn].
	Row func(t *Trace, c *Columns, values []string) error
}

// Import reads a trace; name is what errors call it.
func (t *Table) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	source, err := Open(r, name)
	if err != nil {
		return nil, Report{}, err
	}
	defer source.Close()
	columns, err := NewColumns(source, t.Layout)
	if err != nil {
		return nil, Report{}, err
	}
	trace := NewTrace(source)
	for {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return trace.Finish(t.Ending)
		}
		if err != nil {
			return nil, Report{}, err
		}
		if err := trace.Begin(columns.Line); err != nil {
			return nil, Report{}, err
		}
		if err := t.Row(trace, columns, values); err != nil {
			return nil, Report{}, err
		}
	}
}

// HasColumns reports whether the first line of head that is not blank is a
// header of comma-separated names, with all of names.
func HasColumns(head []byte, names ...string) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff"))), []byte("\n"))
	fields, err := Fields(string(line))
	if err != nil {
		return false
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(fields, name) })
}

// Work is what a source says of a job that trains with a batch for all its
// workers together.
type Work struct {
	Iterations float64 // updates of the weights
	Global     int64   // samples of each, all workers
}

// Share returns the batch per worker, in whole samples, and the steps that make
// up the same number of samples. even says that the batch divides by the GPUs.
func (w Work) Share(gpus int32) (batch int32, steps float64, even bool) {
	share := (w.Global + int64(gpus) - 1) / int64(gpus)
	return int32(share), w.Iterations * (float64(w.Global) / float64(share)), share*int64(gpus) == w.Global
}
