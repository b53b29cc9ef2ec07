package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

// Ways to split a trace.
const (
	splitByTime = "time"
	splitBySpan = "span"
)

func newTraceSplit() *cobra.Command {
	var by, prefix string
	var fractions []float64
	var names []string
	c := &cobra.Command{
		Use:   "split JOBS",
		Short: "Cut a trace into consecutive parts, such as train, validation and test",
		Long: `Cut a trace into consecutive parts in the order of submission, so that what is
tested on is later than what is learned from. Fractions are of the jobs (--by
time) or of the time from the first to the last submission (--by span); what
they leave of 1 is dropped from the end. Times stay as they are. The parts are
written beside the trace as NAME.train.parquet and so on, or under --out.`,
		Example: `  yardmaster trace split jobs.parquet --by time --fractions 0.7,0.15,0.15
  yardmaster trace split jobs.parquet --fractions 0.8,0.2 --out cut --names learn,judge`,
		Args: exactArgs("JOBS"),
	}
	asJSON := jsonFlag(c)
	c.Flags().StringVar(&by, "by", splitByTime, "what fractions are of: time (jobs by time of submission) or span (of the time itself)")
	c.Flags().Float64SliceVar(&fractions, "fractions", []float64{0.7, 0.15, 0.15}, "`numbers` with commas between them: of each part, in the order of time")
	c.Flags().StringSliceVar(&names, "names", nil, "of the parts (default train,test; train,validation,test; or part1,part2,...)")
	c.Flags().StringVar(&prefix, "out", "", "path and beginning of the files' names (default those of JOBS)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if by != splitByTime && by != splitBySpan {
			return usageError{fmt.Errorf("--by is %q, want %s or %s", by, splitByTime, splitBySpan)}
		}
		paths, err := partPaths(args[0], prefix, names, len(fractions))
		if err != nil {
			return usageError{err}
		}
		if err := writable("--out", paths[0]); err != nil {
			return err
		}
		jobs, err := readJobs(args[0], c.InOrStdin())
		if err != nil {
			return err
		}
		split := jobs.Split
		if by == splitBySpan {
			split = jobs.SplitSpan
		}
		parts, err := split(fractions...)
		if err != nil {
			return err
		}
		return saveParts(c, *asJSON, parts, paths)
	}
	return c
}

// partPaths returns the files that the parts of a trace are written to.
func partPaths(trace, prefix string, names []string, parts int) ([]string, error) {
	switch {
	case len(names) == 0 && parts == 2:
		names = []string{"train", "test"}
	case len(names) == 0 && parts == 3:
		names = []string{"train", "validation", "test"}
	case len(names) == 0:
		for i := range parts {
			names = append(names, fmt.Sprintf("part%d", i+1))
		}
	case len(names) != parts:
		return nil, fmt.Errorf("--names has %d names, but there are %d fractions", len(names), parts)
	}
	extension := ".parquet"
	for _, e := range []string{".parquet", ".csv", ".csv.gz", ".csv.zst"} {
		if base, found := strings.CutSuffix(trace, e); found {
			trace, extension = base, e
			break
		}
	}
	if prefix == "" {
		if trace == "-" {
			return nil, fmt.Errorf("--out is missing: standard input has no name to go by")
		}
		prefix = trace
	}
	var paths []string
	seen := make(map[string]bool)
	for _, name := range names {
		if name == "" || name != filepath.Base(name) || seen[name] {
			return nil, fmt.Errorf("--names has %q, want names of files, each once", name)
		}
		seen[name] = true
		paths = append(paths, prefix+"."+name+extension)
	}
	return paths, nil
}

// saveParts writes each part and says what is in it.
func saveParts(c *cobra.Command, asJSON bool, parts []*datasets.Jobs, paths []string) error {
	var all []change
	for i, part := range parts {
		if err := datasets.Save(paths[i], part); err != nil {
			return err
		}
		all = append(all, change{Out: paths[i], Jobs: len(part.Rows), Filter: part.Meta.Filters[len(part.Meta.Filters)-1], Hash: part.Hash()})
	}
	if asJSON {
		return writeJSON(c.OutOrStdout(), all)
	}
	for i, ch := range all {
		d := parts[i].Describe()
		_, err := fmt.Fprintf(c.OutOrStdout(), "wrote %d jobs to %s: %s, %s, %.0f GPU-hours\n", ch.Jobs, ch.Out, ch.Filter, submitted(&d), d.GPUHours)
		if err != nil {
			return err
		}
	}
	return nil
}

// submitted says when the jobs of a table were.
func submitted(d *datasets.Description) string {
	if d.First == "" {
		return fmt.Sprintf("submitted over %s", d.Span)
	}
	return "submitted " + d.First + " to " + d.Last
}
