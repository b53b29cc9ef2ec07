package main

import (
	"fmt"

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
		jobs, err := readJobs(args[0], c.InOrStdin())
		if err != nil {
			return err
		}
		if args[1] == "-" {
			return datasets.EncodeCSV(c.OutOrStdout(), jobs)
		}
		if err := datasets.Save(args[1], jobs); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "wrote %d jobs to %s\n", len(jobs.Rows), args[1])
		return err
	}
	return c
}
