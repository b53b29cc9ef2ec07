package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/acme"
	"github.com/yardmaster/yardmaster/datasets/importers/elasticflow"
	"github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/datasets/importers/helios"
	"github.com/yardmaster/yardmaster/datasets/importers/muri"
	"github.com/yardmaster/yardmaster/datasets/importers/openb"
	"github.com/yardmaster/yardmaster/datasets/importers/pai"
	"github.com/yardmaster/yardmaster/datasets/importers/philly"
	"github.com/yardmaster/yardmaster/datasets/importers/pollux"
	"github.com/yardmaster/yardmaster/datasets/importers/rubick"
	"github.com/yardmaster/yardmaster/datasets/importers/sacct"
	"github.com/yardmaster/yardmaster/datasets/importers/shockwave"
	"github.com/yardmaster/yardmaster/datasets/importers/swf"
)

// formats returns the traces that can be imported, by name. A new format is a
// package and a line here.
func formats() []importers.Format {
	return []importers.Format{
		acme.Format(), elasticflow.Format(), gavel.Format(), helios.Format(), muri.Format(), openb.Format(), pai.Format(), philly.Format(),
		pollux.Format(), rubick.Format(), sacct.Format(), shockwave.Format(), swf.Format(),
	}
}

// formatNames returns the names of formats, in their order.
func formatNames() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return names
}

// formatAuto asks for recognition by content.
const formatAuto = "auto"

func newTraceImport() *cobra.Command {
	var from, out string
	var asJSON bool
	var about strings.Builder
	about.WriteString("  " + formatAuto + strings.Repeat(" ", 10) + "recognised by content\n")
	for _, f := range formats() {
		fmt.Fprintf(&about, "  %-12s  %s\n", f.Name, f.About)
	}
	c := &cobra.Command{
		Use:   "import IN... --out jobs.parquet",
		Short: "Import a public trace",
		Long: `Import a public trace into a Parquet jobs table, with an account of every row.
IN may be compressed with gzip or zstd; - is standard input. Formats:

` + about.String(),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("no IN is given (see %s --help)", c.CommandPath())}
			}
			if err := requireFlag(c, "out"); err != nil {
				return err
			}
			if from != formatAuto && !slices.Contains(formatNames(), from) {
				return usageError{fmt.Errorf("--from is %q, want %s or one of %s", from, formatAuto, strings.Join(formatNames(), ", "))}
			}
			found, report, err := importTrace(from, args, out)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), struct {
					Format string `json:"format"`
					importers.Report
				}{found.Name, report})
			}
			return printImport(c.OutOrStdout(), found, report, out)
		},
	}
	c.Flags().StringVar(&from, "from", formatAuto, "format of IN")
	c.Flags().StringVar(&out, "out", "", "Parquet file to write")
	c.Flags().BoolVar(&asJSON, "json", false, "print the account as JSON")
	return c
}

// importTrace imports the files into out and returns the format they are in.
func importTrace(from string, paths []string, out string) (importers.Format, importers.Report, error) {
	var inputs []importers.Input
	for _, path := range paths {
		var r io.Reader = os.Stdin
		if path != "-" {
			f, err := os.Open(path)
			if err != nil {
				return importers.Format{}, importers.Report{}, err
			}
			defer f.Close()
			r = f
		}
		inputs = append(inputs, importers.Input{Name: path, Reader: r})
	}
	format, err := chooseFormat(from, &inputs[0])
	if err != nil {
		return format, importers.Report{}, err
	}
	var jobs *datasets.Jobs
	var report importers.Report
	switch {
	case len(inputs) > 1 && format.Join == nil:
		return format, report, usageError{fmt.Errorf("%d files, but a %s trace is one file: import them one by one", len(inputs), format.Name)}
	case len(inputs) > 1:
		jobs, report, err = format.Join(inputs)
	default:
		jobs, report, err = format.Import(inputs[0].Reader, inputs[0].Name)
	}
	if err != nil {
		return format, report, err
	}
	return format, report, datasets.Write(out, jobs)
}

// chooseFormat returns the format with this name, which is one of formatNames or
// auto: that looks at the beginning of in, which then still gives all its bytes.
func chooseFormat(name string, in *importers.Input) (importers.Format, error) {
	all := formats()
	if i := slices.Index(formatNames(), name); i >= 0 {
		return all[i], nil
	}
	head, rest, err := importers.Head(in.Reader)
	if err != nil {
		return importers.Format{}, fmt.Errorf("%s: %w", in.Name, err)
	}
	in.Reader = rest
	switch found := importers.Detect(all, head); len(found) {
	case 1:
		return found[0], nil
	case 0:
		return importers.Format{}, fmt.Errorf("%s: not recognised as any known trace: name its format with --from (%s)", in.Name, strings.Join(formatNames(), ", "))
	default:
		var which []string
		for _, f := range found {
			which = append(which, f.Name)
		}
		slices.Sort(which)
		return importers.Format{}, errors.New(in.Name + ": could be " + strings.Join(which, " or ") + ": say which with --from")
	}
}

func printImport(w io.Writer, f importers.Format, report importers.Report, out string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "format %s: %s\n", f.Name, report.Report)
	fmt.Fprintf(&b, "submitted over %s\n", report.Span().Round(1e9))
	for _, warning := range report.Warnings {
		fmt.Fprintf(&b, "warning: %d rows: %s\n", warning.Rows, warning.Reason)
	}
	fmt.Fprintf(&b, "wrote %d jobs to %s\n", report.Kept, out)
	_, err := io.WriteString(w, b.String())
	return err
}
