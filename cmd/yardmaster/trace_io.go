package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/jobscsv"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// readJobs reads a jobs table, Parquet or CSV, whatever its name is. The path -
// is standard input, which holds CSV.
func readJobs(path string, stdin io.Reader) (*datasets.Jobs, error) {
	if path == "-" {
		return readCSV(stdin, path)
	}
	isCSV, err := isJobsCSV(path)
	if err != nil {
		return nil, err
	}
	if !isCSV {
		return datasets.Read(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readCSV(f, path)
}

// isJobsCSV reports whether a file is a jobs table as CSV. One that cannot be
// read is not: the Parquet reader says what is wrong.
func isJobsCSV(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, _, err := importers.Head(f)
	return err == nil && !bytes.HasPrefix(head, []byte("PAR1")) && jobscsv.Sniff(head), nil
}

// readCSV reads a jobs table as CSV, compressed or not.
func readCSV(r io.Reader, name string) (*datasets.Jobs, error) {
	in := bufio.NewReader(r)
	if head, _ := in.Peek(4); string(head) == "PAR1" { // a read that fails does so again below
		return nil, &datasets.RowError{File: name, Value: "a Parquet file, which is not read from a pipe", Fix: "name the file, or send it as CSV (yardmaster trace convert FILE -)"}
	}
	source, err := importers.Open(in, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return datasets.DecodeCSV(source.Text(), name)
}

// outFlag adds --out, without which there is nothing to do.
func outFlag(c *cobra.Command) *string {
	return c.Flags().String("out", "", "file to write: CSV where it ends in .csv, .csv.gz or .csv.zst, else Parquet; - is CSV to standard output")
}

// jsonFlag adds --json.
func jsonFlag(c *cobra.Command) *bool { return c.Flags().Bool("json", false, "print JSON") }

// change is what a command did to a trace.
type change struct {
	Out     string           `json:"out"`
	Jobs    int              `json:"jobs"`
	Filter  string           `json:"filter"` // that the metadata got
	Report  *datasets.Report `json:"report,omitempty"`
	Hash    string           `json:"hash"`
	message string           // on top of the filter
}

// saveChange writes a changed trace and says what was done.
func saveChange(c *cobra.Command, asJSON bool, j *datasets.Jobs, ch change) error {
	report := c.OutOrStdout()
	if ch.Out == "-" {
		report = c.ErrOrStderr()
		if err := datasets.EncodeCSV(c.OutOrStdout(), j); err != nil {
			return err
		}
	} else if err := datasets.Save(ch.Out, j); err != nil {
		return err
	}
	ch.Jobs, ch.Hash = len(j.Rows), j.Hash()
	if n := len(j.Meta.Filters); n > 0 {
		ch.Filter = j.Meta.Filters[n-1]
	}
	if asJSON {
		return writeJSON(report, ch)
	}
	if ch.message != "" {
		ch.message += "\n"
	}
	_, err := fmt.Fprintf(report, "%s\n%swrote %d jobs to %s\n", ch.Filter, ch.message, ch.Jobs, ch.Out)
	return err
}

// clusterFlags describe a cluster that a load is measured against.
type clusterFlags struct {
	spec        string
	gpusPerNode int
	catalogue   []string
	seed        uint64
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.spec, "cluster", "", "GPUs by type, as in V100=16,P100=16,K80=16")
	flags.IntVar(&f.gpusPerNode, "gpus-per-node", 4, "GPUs of a node of --cluster")
	catalogueFlag(flags, &f.catalogue)
	flags.Uint64Var(&f.seed, "seed", 1, "seed of the models given to jobs that have none, as in yardmaster train")
}

// resolve returns what the load of a trace on the cluster is measured with: the
// same as in training. shares are the parts into which GPUs may be divided.
func (f *clusterFlags) resolve(shares []int) (*perf.Performance, datasets.ResolveConfig, error) {
	var none datasets.ResolveConfig
	catalogue, err := scenario.ReadCatalogue(f.catalogue)
	if err != nil {
		return nil, none, err
	}
	cluster, err := catalogue.ParseCluster(f.spec, f.gpusPerNode)
	if err != nil {
		return nil, none, fmt.Errorf("--cluster: %w", err)
	}
	models, err := scenario.Models(catalogue.Catalogue)
	if err != nil {
		return nil, none, err
	}
	performance, err := perf.New(perf.Config{Catalogue: catalogue.Catalogue, Shares: shares})
	return performance, datasets.ResolveConfig{Cluster: cluster, Models: models, Seed: f.seed}, err
}
