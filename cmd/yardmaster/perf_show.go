package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// perfShow is what perf show was asked for.
type perfShow struct {
	catalogue   []string
	cluster     string
	gpusPerNode int
	batch, gpus int
	shares      []int
	table       string
	sources     []string
	asJSON      bool
}

func newPerfShow() *cobra.Command {
	var s perfShow
	c := &cobra.Command{
		Use:   "show MODEL",
		Short: "Show the candidates of a job: GPU type, GPUs, plan, speed, memory, price",
		Long: `Show the candidates that a job which trains MODEL has: for every GPU type half, once
and twice the GPUs it asks for, each with the fastest plan that fits. A candidate
that holds more GPUs of a type than another and is not faster is left out.

Speeds are measured where --table has a row, else modelled. With a table the
model is calibrated on its rows of all models and GPU types and corrected by the
nearest ones. Where several sources in it contradict each other, name one with
--source. Memory is what the plan needs on the fullest GPU, as modelled.

  yardmaster perf show ResNet-50
  yardmaster perf show LLaMA-7B --batch 1 --gpus 16 --cluster A800=32,H100=16 --gpus-per-node 8
  yardmaster perf show U-Net-512 --catalogue own.yaml --cluster L40S=8
  yardmaster perf show BERT-large --gpus 4 --table rubick.parquet --source rubick`,
		Args: exactArgs("MODEL"),
		RunE: func(c *cobra.Command, args []string) error { return s.run(c.OutOrStdout(), args[0]) },
	}
	f := c.Flags()
	f.StringVar(&s.cluster, "cluster", "", "GPUs by type, such as V100=16,K80=16 (default 64 of every type there is)")
	f.IntVar(&s.gpusPerNode, "gpus-per-node", 8, "GPUs of a node")
	f.IntVar(&s.batch, "batch", 0, "samples per step and GPU (default the model's usual one)")
	f.IntVar(&s.gpus, "gpus", 1, "GPUs the job asks for")
	f.IntSliceVar(&s.shares, "shares", nil, "parts into which a GPU may be divided for a job of one GPU: 2, 4, 8")
	f.StringVar(&s.table, "table", "", "throughput table (Parquet, or the CSV of published ones)")
	f.StringSliceVar(&s.sources, "source", nil, "sources to take from the table (default all)")
	f.BoolVar(&s.asJSON, "json", false, "print JSON")
	perfCatalogueFlag(f, &s.catalogue)
	return c
}

func (s *perfShow) run(w io.Writer, name string) error {
	catalogue, err := scenario.ReadCatalogue(s.catalogue)
	if err != nil {
		return err
	}
	m, ok := catalogue.Model(name)
	if !ok {
		return fmt.Errorf("%w, or describe it in a file of --catalogue", catalogue.UnknownModel(name))
	}
	if s.gpus < 1 {
		return usageError{fmt.Errorf("--gpus is %d, want at least 1", s.gpus)}
	}
	if s.batch < 0 {
		return usageError{fmt.Errorf("--batch is %d, want at least 1, or 0 for the model's usual one", s.batch)}
	}
	if s.batch == 0 {
		s.batch = m.Batches[len(m.Batches)/2]
	}
	cluster, err := s.hardware(catalogue.Catalogue)
	if err != nil {
		return err
	}
	cfg := perf.Config{Catalogue: catalogue.Catalogue, Shares: s.shares}
	if err := s.measure(&cfg); err != nil {
		return err
	}
	performance, err := perf.New(cfg)
	if err != nil {
		return err
	}
	job := env.Job{Model: name, Batch: s.batch, GPUs: s.gpus, Work: 1, Weight: 1}
	candidates, err := performance.Candidates(&job, &cluster)
	if err != nil {
		return err
	}
	if s.asJSON {
		return writeJSON(w, shownCandidates(candidates))
	}
	return s.print(w, name, &cluster, candidates)
}

// hardware returns the cluster that was asked for.
func (s *perfShow) hardware(c *perf.Catalogue) (env.Cluster, error) {
	spec := s.cluster
	if spec == "" {
		spec = strings.Join(c.GPUNames(), "=64,") + "=64"
	}
	return c.ParseCluster(spec, s.gpusPerNode)
}

// measure adds the rows of the table to cfg and calibrates its catalogue on them.
func (s *perfShow) measure(cfg *perf.Config) error {
	if s.table == "" && len(s.sources) > 0 {
		return usageError{errors.New("--source takes rows of --table, which is missing")}
	}
	if s.table == "" {
		return nil
	}
	table, err := readThroughput(s.table)
	if err != nil {
		return err
	}
	if err := s.checkSources(table); err != nil {
		return err
	}
	rows, report := table.Measurements(datasets.MeasurementConfig{Catalogue: cfg.Catalogue, Sources: s.sources})
	if len(rows) == 0 {
		return fmt.Errorf("%s: no row is a measurement of what the catalogue has: %v", s.table, report)
	}
	cfg.Measured = rows
	cfg.Catalogue, err = cfg.Catalogue.Calibrate(rows)
	return err
}

// checkSources returns an error if the table has no row of a source that was asked for.
func (s *perfShow) checkSources(table *datasets.ThroughputTable) error {
	var have []string
	for i := range table.Rows {
		have = append(have, table.Rows[i].Source)
	}
	slices.Sort(have)
	have = slices.Compact(have)
	for _, name := range s.sources {
		if !slices.Contains(have, name) {
			return usageError{fmt.Errorf("--source is %q, but the rows of %s are of %s", name, s.table, strings.Join(have, ", "))}
		}
	}
	return nil
}

func (s *perfShow) print(out io.Writer, name string, cluster *env.Cluster, candidates []perf.Candidate) error {
	fmt.Fprintf(out, "%s, batch %d on %d GPUs: %d samples per step of all workers\n\n", name, s.batch, s.gpus, s.batch*s.gpus)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "GPU type\tGPUs\tnodes\tsamples/s\tsteps/s\tmemory\t$/h\tsamples/$\tsource\t  plan")
	for i := range candidates {
		c := &candidates[i]
		source, gpus, perDollar := "modelled", fmt.Sprint(c.GPUs), "-"
		if c.Measured {
			source = "measured"
		}
		if c.Share > 1 {
			gpus = fmt.Sprintf("1/%d", c.Share)
		}
		if c.PricePerHour > 0 {
			perDollar = fmt.Sprintf("%.3g", c.SamplesPerSecond*3600/c.PricePerHour)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%.4g\t%.4g\t%.1f GiB\t%.2f\t%s\t%s\t  %s\n", c.GPU, gpus, c.Nodes, c.SamplesPerSecond, c.Throughput, c.MemoryGiB, c.PricePerHour, perDollar, source, planText(c))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var without []string
	for _, t := range cluster.Types {
		if !slices.ContainsFunc(candidates, func(c perf.Candidate) bool { return c.GPU == t.Name }) {
			without = append(without, t.Name)
		}
	}
	if len(without) > 0 {
		fmt.Fprintf(out, "\nnot on %s: no plan fits\n", strings.Join(without, ", "))
	}
	return nil
}

// shownCandidate is a perf.Candidate in JSON.
type shownCandidate struct {
	GPU string `json:"gpu_type"`
	env.Strategy
	SamplesPerSecond float64 `json:"samples_per_s"`
	MemoryGiB        float64 `json:"memory_gib"`
	PricePerHour     float64 `json:"price_per_hour"`
	Source           string  `json:"source"` // measured or modelled
}

func shownCandidates(all []perf.Candidate) []shownCandidate {
	out := make([]shownCandidate, len(all))
	for i := range all {
		c := &all[i]
		out[i] = shownCandidate{c.GPU, c.Strategy, c.SamplesPerSecond, c.MemoryGiB, c.PricePerHour, "modelled"}
		if c.Measured {
			out[i].Source = "measured"
		}
	}
	return out
}
