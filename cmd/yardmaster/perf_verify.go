package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// What is to be reached on held-out numbers of GPUs, relative error.
const (
	perfMedian = 0.15
	perfP90    = 0.40
)

func newPerfVerify() *cobra.Command {
	var data string
	var asJSON bool
	var paths []string
	c := &cobra.Command{
		Use:   "verify --data DIR",
		Short: "Compare the performance model with published measurements",
		Long: `Compare the performance model with every published measurement in
DIR/tables/throughput.csv.gz and print the relative error of throughput, median and
90th percentile, by source:

  catalogue   the built-in figures as they are, some of which were fitted to these rows
  gpus        rows of one number of GPUs held out, for each number
  model       rows of one model held out, for each
  gpu_type    rows of one GPU type held out, for each

What is held out is predicted by a model calibrated on and corrected by the other
rows of its source, from figures that remember no measurement. Rows that a source
computed from parts (modelled) are compared with only. A row that a source took
over from another counts once in the sum. Exit code 1 unless the sum over numbers
of GPUs held out has a median of at most 15 % and a 90th percentile of at most 40 %.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "data"); err != nil {
				return err
			}
			catalogue, err := scenario.ReadCatalogue(paths)
			if err != nil {
				return err
			}
			v, err := verifyPerf(c.Context(), c.ErrOrStderr(), catalogue.Catalogue, filepath.Join(data, "tables", "throughput.csv.gz"))
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(c.OutOrStdout(), v)
			} else {
				err = v.print(c.OutOrStdout())
			}
			return errors.Join(err, v.miss())
		},
	}
	c.Flags().StringVar(&data, "data", "", "folder with tables/throughput.csv.gz")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	perfCatalogueFlag(c.Flags(), &paths)
	return c
}

// verifiedPerf is the outcome of perf verify.
type verifiedPerf struct {
	Read    int              `json:"rows_read"`
	Dropped []datasets.Count `json:"dropped"`
	Splits  []verifiedSplit  `json:"splits"`
}

type verifiedSplit struct {
	Split   string          `json:"split"`
	Sources []verifiedTable `json:"sources"`
}

// verifiedTable is a perf.Comparison in JSON.
type verifiedTable struct {
	Source      string  `json:"source"` // "all" is the sum
	Modelled    bool    `json:"modelled,omitempty"`
	Rows        int     `json:"rows"`
	Median      float64 `json:"median"`
	P90         float64 `json:"p90"`
	Bias        float64 `json:"bias"`
	Misfits     int     `json:"ran_but_said_not_to_fit"`
	OutOfMemory int     `json:"out_of_memory"`
	Foreseen    int     `json:"out_of_memory_foreseen"`
	Unknown     int     `json:"left_out"`
}

const allSources = "all"

func verifyPerf(ctx context.Context, stderr io.Writer, catalogue *perf.Catalogue, path string) (*verifiedPerf, error) {
	table, err := readThroughput(path)
	if err != nil {
		return nil, err
	}
	rows, report := table.Measurements(datasets.MeasurementConfig{Catalogue: catalogue, Modelled: true})
	v := &verifiedPerf{Read: report.Read, Dropped: report.Dropped}
	performance, err := perf.New(perf.Config{Catalogue: catalogue})
	if err != nil {
		return nil, err
	}
	as, err := performance.Compare(rows)
	if err != nil {
		return nil, err
	}
	v.add("catalogue", as)
	splits := []perf.Split{perf.HeldOutGPUs, perf.HeldOutModel, perf.HeldOutType}
	bar := newProgress(stderr, len(splits), "holding out")
	for _, split := range splits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out, err := catalogue.CrossValidate(split, rows)
		if err != nil {
			return nil, err
		}
		_ = bar.Add(1)
		out.All.Source = allSources
		v.add(string(split), append(out.Sources, out.All))
	}
	_ = bar.Finish()
	return v, nil
}

func (v *verifiedPerf) add(split string, sources []perf.Comparison) {
	s := verifiedSplit{Split: split}
	for _, c := range sources {
		s.Sources = append(s.Sources, verifiedTable{c.Source, c.Modelled, c.Rows, c.Median, c.P90, c.Bias, c.Misfits, c.OutOfMemory, c.Foreseen, c.Unknown})
	}
	v.Splits = append(v.Splits, s)
}

func (v *verifiedPerf) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "split\tsource\trows\tmedian\tp90\tbias\tmisfits\tOOM foreseen\tleft out\t")
	for _, s := range v.Splits {
		for _, c := range s.Sources {
			name := c.Source
			if c.Modelled {
				name += " (modelled)"
			}
			if c.Rows == 0 {
				fmt.Fprintf(w, "%s\t%s\t0\t-\t-\t-\t%d\t%d of %d\t%d\t\n", s.Split, name, c.Misfits, c.Foreseen, c.OutOfMemory, c.Unknown)
				continue
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%.1f %%\t%.1f %%\t%+.1f %%\t%d\t%d of %d\t%d\t\n", s.Split, name, c.Rows, 100*c.Median, 100*c.P90, 100*c.Bias, c.Misfits, c.Foreseen, c.OutOfMemory, c.Unknown)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	kept := v.Read
	for _, d := range v.Dropped {
		kept -= d.Rows
	}
	fmt.Fprintf(out, "\n%d rows, %d compared with", v.Read, kept)
	for _, d := range v.Dropped {
		fmt.Fprintf(out, "; %d not: %s", d.Rows, d.Reason)
	}
	_, err := fmt.Fprintln(out)
	return err
}

// miss returns an error unless what is to be reached was.
func (v *verifiedPerf) miss() error {
	for _, s := range v.Splits {
		for _, c := range s.Sources {
			if s.Split != string(perf.HeldOutGPUs) || c.Source != allSources {
				continue
			}
			if c.Rows == 0 || c.Median > perfMedian || c.P90 > perfP90 {
				return fmt.Errorf("held-out numbers of GPUs: median error %.1f %% and 90th percentile %.1f %% over %d rows, want at most %.0f %% and %.0f %%",
					100*c.Median, 100*c.P90, c.Rows, 100*perfMedian, 100*perfP90)
			}
			return nil
		}
	}
	return errors.New("nothing was held out")
}
