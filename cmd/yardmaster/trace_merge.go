package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

// Ways to align the times of traces.
const (
	alignEpoch = "epoch"
	alignStart = "start"
)

func newTraceMerge() *cobra.Command {
	var align string
	var cfg datasets.MergeConfig
	c := &cobra.Command{
		Use:   "merge JOBS... --out OUT",
		Short: "Put the jobs of several traces into one",
		Long: `Put the jobs of several traces into one, ordered by submission and numbered anew.
Instants stay as they are (--align epoch) or all traces begin with the first job
of the first (--align start), which traces without a calendar need. Sources,
licences and filters are joined in the metadata.`,
		Example: `  yardmaster trace merge seren.parquet kalos.parquet --prefix-tenants --out acme.parquet`,
	}
	out, asJSON := outFlag(c), jsonFlag(c)
	c.Flags().StringVar(&align, "align", alignEpoch, "epoch (instants stay) or start (all begin at once)")
	c.Flags().BoolVar(&cfg.PrefixTenants, "prefix-tenants", false, "put the name of its trace before each tenant, as in seren/team1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("no JOBS are given (see %s --help)", c.CommandPath())}
		}
		if err := requireOut(c); err != nil {
			return err
		}
		if align != alignEpoch && align != alignStart {
			return usageError{fmt.Errorf("--align is %q, want %s or %s", align, alignEpoch, alignStart)}
		}
		cfg.AlignStart = align == alignStart
		var traces []*datasets.Jobs
		for _, path := range args {
			jobs, err := readJobs(path, c.InOrStdin())
			if err != nil {
				return err
			}
			jobs.Name, _, _ = strings.Cut(filepath.Base(path), ".")
			traces = append(traces, jobs)
		}
		merged, err := datasets.Merge(cfg, traces...)
		if err != nil {
			return err
		}
		return saveChange(c, *asJSON, merged, change{Out: *out})
	}
	return c
}
