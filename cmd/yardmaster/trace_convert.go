package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

func newTraceConvert() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Turn a Parquet trace into CSV, or CSV into Parquet",
		Long: `Turn a trace into CSV where OUT ends in .csv, .csv.gz or .csv.zst, else into
Parquet. IN may be either. Nothing is lost on the way: nulls are empty, the
metadata is in comments above the header, and the Parquet file that comes back is
the same to the byte. As IN, - is CSV from standard input; as OUT, CSV to standard
output.`,
		Example: `  yardmaster trace convert jobs.parquet jobs.csv
  yardmaster trace convert jobs.parquet - | head
  yardmaster trace convert edited.csv jobs.parquet`,
		Args: exactArgs("IN", "OUT"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		in, out := args[0], args[1]
		if out != "-" {
			if err := writable("OUT", out); err != nil {
				return err
			}
		}
		rows, err := convert(in, out, c.InOrStdin(), c.OutOrStdout())
		if err != nil || out == "-" {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "wrote %d jobs to %s\n", rows, out)
		return err
	}
	return c
}

// convert converts a trace and returns the number of its rows. Parquet becomes
// CSV in one pass, in memory that does not grow with the rows but for their ids.
func convert(in, out string, stdin io.Reader, stdout io.Writer) (rows int, err error) {
	isCSV := in == "-"
	if !isCSV {
		if isCSV, err = isJobsCSV(in); err != nil {
			return 0, err
		}
	}
	if !isCSV && (out == "-" || datasets.IsCSV(out)) {
		s, err := datasets.Scan(in, datasets.ScanConfig{})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		if out == "-" {
			return s.Len(), datasets.StreamCSV(stdout, s)
		}
		return s.Len(), datasets.SaveCSV(out, s)
	}
	jobs, err := readJobs(in, stdin)
	if err != nil {
		return 0, err
	}
	if out == "-" {
		return len(jobs.Rows), datasets.EncodeCSV(stdout, jobs)
	}
	return len(jobs.Rows), datasets.Save(out, jobs)
}
