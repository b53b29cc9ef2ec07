package main

import "github.com/spf13/cobra"

func newTrace() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Generate, import, describe and change traces (jobs tables)",
		Long: `Generate, import, describe and change traces. A trace is a jobs table: a Parquet
file, or a CSV file with the same columns (datasets/SCHEMA.md), told apart by
content; gzip and zstd are taken, too. What is written is CSV where its name ends
in .csv, .csv.gz or .csv.zst, else Parquet. Every command that changes a trace
records in its metadata what it did.

  yardmaster trace import philly_jobs.csv.gz --out philly.parquet
  yardmaster trace describe philly.parquet --cluster V100=64,P100=64
  yardmaster trace slice philly.parquet --from 2017-10-09 --to 2017-10-16 --out week.parquet
  yardmaster trace scale week.parquet --load 0.8 --cluster V100=64,P100=64 --out busy.parquet
  yardmaster trace split busy.parquet --fractions 0.7,0.15,0.15`,
	}
	c.AddCommand(newTraceSynth(), newTraceFit(), newTraceCompare(), newTraceImport(), newTraceRecognise(), newTraceDescribe(), newTraceHead(),
		newTraceValidate(), newTraceSlice(), newTraceSplit(), newTraceScale(), newTraceMerge(), newTraceConvert())
	return c
}
