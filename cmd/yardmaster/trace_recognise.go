package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
)

func newTraceRecognise() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "recognise PATH...",
		Short: "Say what files are: format, table, rows kept and dropped",
		Long: `Say what every file is, and every file below a folder: the format and the table
that trace import would take it for, how many rows it has, how many would be kept
and why the others would not, or why it would be refused. Each file is imported by
itself, from beginning to end; nothing is written.

  yardmaster trace recognise downloads/
  yardmaster trace recognise --json somebody.csv.gz`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("no PATH is given (see %s --help)", c.CommandPath())}
			}
			paths, err := filesBelow(args)
			if err != nil {
				return err
			}
			bar := newProgress(c.ErrOrStderr(), len(paths), "recognise")
			var all []recognised
			for _, path := range paths {
				found, err := recogniseFile(c.Context(), path)
				if err := cmp.Or(c.Context().Err(), err); err != nil {
					return err
				}
				all = append(all, found...)
				_ = bar.Add(1) // a bar that cannot be drawn is no reason to stop
			}
			_ = bar.Finish()
			if asJSON {
				return writeJSON(c.OutOrStdout(), all)
			}
			return printRecognised(c.OutOrStdout(), all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// recognised is what a file is, as one of the tables it can become.
type recognised struct {
	File    string           `json:"file"`
	Format  string           `json:"format,omitempty"` // "" where it is not recognised
	Table   string           `json:"table,omitempty"`
	Read    int              `json:"read"`
	Kept    int              `json:"kept"`
	Dropped []datasets.Count `json:"dropped,omitempty"`
	Refused string           `json:"refused,omitempty"` // why nothing would be imported
}

// filesBelow returns the regular files that are named or lie below what is named,
// in lexical order in each, without hidden ones.
func filesBelow(roots []string) ([]string, error) {
	var paths []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != root && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.Type().IsRegular() || path == root && !d.IsDir():
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// recogniseFile imports a file as each table that it can become.
func recogniseFile(ctx context.Context, path string) ([]recognised, error) {
	var all []recognised
	tables := []string{""} // the first, then the others
	for i := 0; i < len(tables); i++ {
		choice, err := accountFor(ctx, path, tables[i], &all)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			tables = append(tables, choice.Others...)
		}
	}
	return all, nil
}

// accountFor imports a file as one table and adds what came of it.
func accountFor(ctx context.Context, path, table string, all *[]recognised) (catalogue.Choice, error) {
	f, err := os.Open(path)
	if cause, ok := errors.AsType[*fs.PathError](err); ok { // the others are worth a look
		*all = append(*all, recognised{File: path, Refused: cause.Err.Error()})
		return catalogue.Choice{}, nil
	}
	if err != nil {
		return catalogue.Choice{}, err
	}
	defer f.Close()
	in := importers.Input{Name: path, Reader: untilStopped{ctx, f}}
	o, err := catalogue.ImportTo(catalogue.Request{Table: table, Inputs: []importers.Input{in}}, "")
	r := recognised{File: path, Format: o.Name, Table: o.Table, Read: o.Read, Kept: o.Kept, Dropped: o.Dropped}
	if err != nil {
		if rowErr, ok := errors.AsType[*datasets.RowError](err); ok {
			short := *rowErr
			short.File = "" // the column beside has it
			if r.Format == "" {
				short.Fix = "" // a list of all formats
			}
			err = &short
		}
		r.Refused = strings.TrimPrefix(err.Error(), "datasets: ")
	}
	*all = append(*all, r)
	return o.Choice, nil
}

func printRecognised(w io.Writer, all []recognised) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FILE\tFORMAT\tTABLE\tIN\tKEPT\tDROPPED, OR WHY REFUSED")
	for _, r := range all {
		in, kept, why := strconv.Itoa(r.Read), strconv.Itoa(r.Kept), r.Refused
		if r.Refused != "" {
			in, kept = "", ""
		} else {
			var parts []string
			for _, d := range r.Dropped {
				parts = append(parts, fmt.Sprintf("%d %s", d.Rows, d.Reason))
			}
			why = strings.Join(parts, "; ")
		}
		format := r.Format
		if format == "" {
			format = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.File, format, r.Table, in, kept, why)
	}
	return t.Flush()
}
