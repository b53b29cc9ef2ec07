package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
)

const importHelp = `Import published traces and tables into Parquet, with an account of every row.

IN may be compressed with gzip or zstd; - is standard input. What it is, is told by
its content, unless --from says. Several files make one table where the format has
several, as PAI's jobs and tasks or Titan's profiles do. Each format becomes one
kind of table, a few become one of two: --table says which. A row that is left out
is counted with its reason, a row that cannot be understood ends the import with
its line, column, value and what to do. Nothing is left behind then.

  yardmaster trace import philly_jobs.csv.gz --out philly.parquet
  yardmaster trace import pai_job_table.csv pai_task_table.csv --out pai.parquet
  yardmaster trace import simulation_throughputs.json --table colocation --out pairs.parquet
  sacct --parsable2 --allusers ... | yardmaster trace import --from sacct - --out ours.parquet
  yardmaster trace import --dry-run somebody.csv      say what it is and what would be kept

Formats, and the table each becomes:

`

func newTraceImport() *cobra.Command {
	var cfg importConfig
	c := &cobra.Command{
		Use:   "import IN... --out table.parquet",
		Short: "Import a public trace, a table of throughputs, of a cluster or of quotas",
		Long:  importHelp + catalogue.Titles(),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("no IN is given (see %s --help)", c.CommandPath())}
			}
			if !cfg.dryRun {
				if err := errors.Join(requireFlag(c, "out"), cfg.checkOut(args)); err != nil {
					return err
				}
			}
			if err := cfg.validate(); err != nil {
				return usageError{err}
			}
			cfg.inputs = args
			return cfg.run(c)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.from, "from", catalogue.Auto, "format of IN, or "+catalogue.Auto)
	f.StringVar(&cfg.table, "table", "", "kind of table, where the format becomes several ("+strings.Join(datasets.Kinds(), ", ")+")")
	f.StringVar(&cfg.out, "out", "", "Parquet file to write")
	f.BoolVar(&cfg.dryRun, "dry-run", false, "say what would be imported, and write nothing")
	f.BoolVar(&cfg.asJSON, "json", false, "print the account as JSON")
	return c
}

// importConfig is a command line of trace import.
type importConfig struct {
	from, table, out string
	dryRun, asJSON   bool
	inputs           []string
}

func (cfg *importConfig) validate() error {
	var errs []error
	if names := catalogue.Names(); cfg.from != catalogue.Auto && !slices.Contains(names, cfg.from) {
		errs = append(errs, fmt.Errorf("--from is %q, want %s or one of %s", cfg.from, catalogue.Auto, strings.Join(names, ", ")))
	}
	if cfg.table != "" && !slices.Contains(datasets.Kinds(), cfg.table) {
		errs = append(errs, fmt.Errorf("--table is %q, want one of %s", cfg.table, strings.Join(datasets.Kinds(), ", ")))
	}
	return errors.Join(errs...)
}

// checkOut returns an error if the output is not what is written, cannot be written, or
// is an input.
func (cfg *importConfig) checkOut(inputs []string) error {
	if cfg.out == "-" || datasets.IsCSV(cfg.out) {
		return usageError{fmt.Errorf("--out is %s, want a Parquet file: of jobs, yardmaster trace convert makes CSV of it", cfg.out)}
	}
	if err := differs(cfg.out, inputs); err != nil {
		return err
	}
	return writable("--out", cfg.out)
}

// run imports the inputs, writes the table and prints the account.
func (cfg *importConfig) run(c *cobra.Command) error {
	inputs, done, err := openInputs(c, cfg.inputs)
	defer done()
	if err != nil {
		return err
	}
	out := cfg.out
	if cfg.dryRun {
		out = ""
	}
	outcome, err := catalogue.ImportTo(catalogue.Request{From: cfg.from, Table: cfg.table, Inputs: inputs}, out)
	if err != nil {
		return cmp.Or(c.Context().Err(), err) // not of a line that could not be read
	}
	done() // before what is printed
	a := newAccount(outcome, out)
	if cfg.asJSON {
		return writeJSON(c.OutOrStdout(), a)
	}
	_, err = io.WriteString(c.OutOrStdout(), a.String())
	return err
}

// openInputs opens files, of which - is standard input; they can be read until the
// command is stopped. Where it takes long, a bar shows how much was read. done closes
// the files and removes the bar; it may be called twice.
func openInputs(c *cobra.Command, paths []string) (inputs []importers.Input, done func(), err error) {
	var files []*os.File
	total := int64(0)
	done = func() {
		for _, f := range files {
			_ = f.Close() // was only read
		}
		files = nil
	}
	for _, path := range paths {
		if path == "-" {
			inputs = append(inputs, importers.Input{Name: path, Reader: c.InOrStdin()})
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, done, err
		}
		files = append(files, f)
		info, err := f.Stat()
		if err != nil {
			return nil, done, err
		}
		if info.IsDir() {
			return nil, done, &datasets.RowError{File: path, Value: "a folder", Fix: "name the files in it; yardmaster trace recognise says what they are"}
		}
		total += info.Size()
		inputs = append(inputs, importers.Input{Name: path, Reader: f})
	}
	bar := newProgress(c.ErrOrStderr(), int(total), "import")
	for i := range inputs {
		inputs[i].Reader = io.TeeReader(untilStopped{c.Context(), inputs[i].Reader}, barWriter{bar})
	}
	closeFiles := done
	return inputs, func() { _ = bar.Finish(); closeFiles() }, nil
}

// barWriter moves a bar by the bytes written to it.
type barWriter struct{ bar *progressbar.ProgressBar }

func (b barWriter) Write(p []byte) (int, error) {
	_ = b.bar.Add(len(p)) // a bar that cannot be drawn is no reason to stop
	return len(p), nil
}

// untilStopped reads until its context ends.
type untilStopped struct {
	ctx context.Context
	io.Reader
}

func (r untilStopped) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
