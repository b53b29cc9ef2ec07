package catalogue

import (
	"errors"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Outcome is what an import came to.
type Outcome struct {
	Choice
	importers.Report
	Hash string // of the rows; see datasets.Table
	// GPUHours is the time that jobs take with the GPUs they ask for, of those
	// with a run time.
	GPUHours float64
}

// ImportTo imports a request into a Parquet file, which appears under its name
// when it is complete; "" imports for the account alone. A trace of one file is
// never in memory as a whole: see [importers.Into].
func ImportTo(r Request, path string) (Outcome, error) {
	choice, inputs, err := choose(r)
	if err != nil {
		return Outcome{Choice: choice}, err
	}
	o := Outcome{Choice: choice}
	if choice.Table == datasets.KindJobs && len(inputs) == 1 {
		err := o.importJobs(inputs[0], path)
		return o, err
	}
	table, report, err := choice.Import(inputs...)
	if err != nil {
		return o, err
	}
	o.Report, o.Hash = report, table.Hash()
	if jobs, ok := table.(*datasets.Jobs); ok {
		o.add(jobs.Rows)
	}
	if path == "" {
		return o, nil
	}
	return o, table.Write(path)
}

// add counts what jobs ask for.
func (o *Outcome) add(rows []datasets.Row) {
	for i := range rows {
		o.GPUHours += float64(rows[i].GPUs) * rows[i].Duration.Hours()
	}
}

// importJobs imports a trace of one file row by row.
func (o *Outcome) importJobs(input importers.Input, path string) (err error) {
	w, err := newSink(path)
	if err != nil {
		return err
	}
	in := &importers.Into{Reader: input.Reader, Append: func(rows []datasets.Row) error {
		o.add(rows)
		return w.Append(rows)
	}}
	defer func() { err = errors.Join(err, in.Close()) }()
	table, report, err := o.Import(importers.Input{Name: input.Name, Reader: in})
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if jobs, ok := table.(*datasets.Jobs); ok && len(jobs.Rows) > 0 { // a format that returns rows all the same
		if err := in.Append(jobs.Rows); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	o.Report, o.Hash = report, w.Hash()
	return w.Close(*table.Metadata())
}

// newSink returns a writer of a file, or of nothing where there is no path.
func newSink(path string) (*datasets.Writer, error) {
	if path == "" {
		return datasets.Discard(), nil
	}
	return datasets.Create(path)
}
