package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

func newTraceSlice() *cobra.Command {
	var from, to, jobsRange, gpus string
	var f datasets.Filter
	c := &cobra.Command{
		Use:   "slice JOBS --out OUT",
		Short: "Keep the jobs of a trace that meet every condition",
		Long: `Keep the jobs of a trace that meet every condition given. Times are durations
since the epoch of the trace (36h, 14d12h) or instants (2017-10-09, 2017-10-09
07:00, 2017-10-09T07:00:00-07:00), in the trace's zone where they say no other.
Times stay as they are unless --rebase moves the epoch to the first job kept.
Names may be given several times; "" stands for jobs that have none.`,
		Example: `  yardmaster trace slice jobs.parquet --from 2017-10-09 --to 2017-10-16 --rebase --out week.parquet
  yardmaster trace slice jobs.parquet --jobs 0:10000 --gpus 1-8 --max-duration 24h --out small.parquet`,
		Args: exactArgs("JOBS"),
	}
	out, asJSON := outFlag(c), jsonFlag(c)
	flags := c.Flags()
	flags.StringVar(&from, "from", "", "submitted at or after")
	flags.StringVar(&to, "to", "", "submitted before")
	flags.StringVar(&jobsRange, "jobs", "", "positions I:J in the order of submission, from 0, without J")
	flags.StringVar(&gpus, "gpus", "", "requested GPUs: N, LOW-HIGH or LOW-")
	flags.DurationVar(&f.MinDuration, "min-duration", 0, "run time at least")
	flags.DurationVar(&f.MaxDuration, "max-duration", 0, "run time at most")
	flags.StringArrayVar(&f.Tenants, "tenant", nil, "tenant")
	flags.StringArrayVar(&f.Statuses, "status", nil, "status")
	flags.StringArrayVar(&f.Models, "model", nil, "model")
	flags.StringArrayVar(&f.ReferenceGPUs, "reference-gpu", nil, "GPU type that durations were measured on")
	flags.BoolVar(&f.Rebase, "rebase", false, "move the epoch to the first job kept, which becomes time 0")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := requireOut(c); err != nil {
			return err
		}
		if err := parseRanges(&f, jobsRange, gpus); err != nil {
			return usageError{err}
		}
		jobs, err := readJobs(args[0], c.InOrStdin())
		if err != nil {
			return err
		}
		if err := parseTimes(&f, jobs, from, to); err != nil {
			return usageError{err}
		}
		sliced, report, err := jobs.Slice(f)
		if err != nil {
			return err
		}
		return saveChange(c, *asJSON, sliced, change{Out: *out, Report: &report})
	}
	return c
}

// parseRanges reads --jobs and --gpus.
func parseRanges(f *datasets.Filter, jobs, gpus string) error {
	if jobs != "" {
		low, high, found := strings.Cut(jobs, ":")
		first, errFirst := strconv.Atoi(orZero(low))
		last, errLast := strconv.Atoi(orZero(high))
		if !found || errFirst != nil || errLast != nil || first < 0 || high != "" && last <= first {
			return fmt.Errorf("--jobs is %q, want I:J, :J or I: with 0 <= I < J", jobs)
		}
		f.First, f.Last = first, last
	}
	if gpus != "" {
		low, high, found := strings.Cut(gpus, "-")
		if !found {
			high = low
		}
		least, errLow := strconv.ParseInt(orZero(low), 10, 32)
		most, errHigh := strconv.ParseInt(orZero(high), 10, 32)
		if errLow != nil || errHigh != nil || least < 0 || high != "" && (most < 1 || most < least) {
			return fmt.Errorf("--gpus is %q, want N, LOW-HIGH or LOW- with LOW <= HIGH", gpus)
		}
		f.MinGPUs, f.MaxGPUs = int32(least), int32(most)
	}
	return nil
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// parseTimes reads --from and --to in the words of the trace.
func parseTimes(f *datasets.Filter, j *datasets.Jobs, from, to string) error {
	for _, t := range []struct {
		flag, text string
		at         *time.Duration
	}{{"from", from, &f.From}, {"to", to, &f.To}} {
		if t.text == "" {
			continue
		}
		at, err := j.Moment(t.text)
		if err != nil {
			return fmt.Errorf("--%s: %w", t.flag, err)
		}
		if t.flag == "to" && at <= 0 {
			return fmt.Errorf("--to is %q, which is not after the epoch of %s", to, j.Name)
		}
		*t.at = max(0, at)
	}
	return nil
}
