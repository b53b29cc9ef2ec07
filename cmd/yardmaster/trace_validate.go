package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

func newTraceValidate() *cobra.Command {
	var most int
	c := &cobra.Command{
		Use:   "validate TABLE...",
		Short: "Check traces and other tables, and report every problem",
		Long: `Check jobs tables, Parquet or CSV, and report every problem with its file, row,
column, value and what to do about it, one a line; rows of CSV are line numbers.
Of tables of another kind (throughputs, quotas, ...) the first ten problems are
reported. Exit code 1 where there is any.`,
		Example: "  yardmaster trace validate jobs.parquet edited.csv",
	}
	asJSON := jsonFlag(c)
	c.Flags().IntVar(&most, "most", 0, "stop after as many problems of a file (default never)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("no TABLE is given (see %s --help)", c.CommandPath())}
		}
		var all []validation
		bad := 0
		for _, path := range args {
			v := validate(path, c.InOrStdin(), most)
			bad += len(v.Problems)
			all = append(all, v)
			if *asJSON {
				continue
			}
			if err := v.print(c.OutOrStdout()); err != nil {
				return err
			}
		}
		if *asJSON {
			if err := writeJSON(c.OutOrStdout(), all); err != nil {
				return err
			}
		}
		if bad > 0 {
			return fmt.Errorf("%d problems in %d tables", bad, len(args))
		}
		return nil
	}
	return c
}

// validation is what was found in one file.
type validation struct {
	File     string               `json:"file"`
	Kind     string               `json:"table"`
	Rows     int                  `json:"rows"`
	Problems []*datasets.RowError `json:"problems"`
}

// validate checks one file, up to most problems; 0 is no limit. That it cannot be read
// is a problem like others.
func validate(path string, stdin io.Reader, most int) validation {
	v := validation{File: path, Kind: datasets.KindJobs, Problems: []*datasets.RowError{}}
	keep := func(e *datasets.RowError) bool {
		v.Problems = append(v.Problems, e)
		return most == 0 || len(v.Problems) < most
	}
	err := v.check(path, stdin, keep)
	rowErr, ok := errors.AsType[*datasets.RowError](err)
	cause, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case ok:
		keep(rowErr)
	case isPath:
		keep(&datasets.RowError{File: path, Value: cause.Err.Error(), Fix: "name a file that can be read"})
	case err != nil:
		keep(&datasets.RowError{File: path, Value: err.Error(), Fix: "name a table"})
	}
	return v
}

// check checks a file as what it is.
func (v *validation) check(path string, stdin io.Reader, keep func(*datasets.RowError) bool) error {
	isCSV := path == "-"
	if !isCSV {
		var err error
		if isCSV, err = isJobsCSV(path); err != nil {
			return err
		}
	}
	if isCSV {
		return v.checkCSV(path, stdin, keep)
	}
	return v.checkParquet(path, keep)
}

func (v *validation) checkCSV(path string, stdin io.Reader, keep func(*datasets.RowError) bool) error {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	source, err := importers.Open(in, path)
	if err != nil {
		return err
	}
	defer source.Close()
	v.Rows, err = datasets.CheckCSV(source.Text(), path, keep)
	return err
}

func (v *validation) checkParquet(path string, keep func(*datasets.RowError) bool) error {
	kind, err := datasets.KindOf(path)
	if err != nil {
		return err
	}
	v.Kind = kind
	if kind == datasets.KindJobs {
		v.Rows, err = datasets.Check(path, keep)
		return err
	}
	table, err := datasets.ReadTable(path)
	if err != nil {
		for _, e := range unjoin(err) {
			rowErr, ok := errors.AsType[*datasets.RowError](e)
			if !ok {
				return e
			}
			if !keep(rowErr) {
				break
			}
		}
		return nil
	}
	v.Rows = table.Len()
	return nil
}

// unjoin returns the errors that were joined, or the one there is.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// print prints a line for each problem, or that there is none.
func (v *validation) print(w io.Writer) error {
	if len(v.Problems) == 0 {
		_, err := fmt.Fprintf(w, "%s: valid: a %s table of %d rows\n", v.File, v.Kind, v.Rows)
		return err
	}
	for _, e := range v.Problems {
		if _, err := fmt.Fprintln(w, e); err != nil {
			return err
		}
	}
	return nil
}
