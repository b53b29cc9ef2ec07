package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/outcome"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/env/timeline"
)

type simulateFlags struct {
	trace       string
	policy      string
	run         string
	cluster     string
	gpusPerNode int
	catalogue   []string
	first       int
	count       int
	load        float64
	round       time.Duration
	maxRounds   int64
	knowledge   env.Knowledge
	sigma       float64
	seed        uint64
	switches    switchFlags

	by       string // a column of the trace
	timeline string
	gantt    bool
	width    int
	jobs     string
	json     bool
}

func newSimulate() *cobra.Command {
	flags := simulateFlags{knowledge: env.Estimate}
	c := &cobra.Command{
		Use:   "simulate --trace jobs.parquet --policy las",
		Short: "Run one policy on one trace and show what happened",
		Long: `Run one policy on one trace, or on a window of it, on a simulated cluster, and
show what happened: a table of figures, a row per job, a Gantt chart on the
terminal, a timeline for the browser. Jobs arrive as recorded unless --load
stretches their arrivals.

  yardmaster simulate --trace jobs.parquet --count 100 --gantt
  yardmaster simulate --trace jobs.parquet --policy srtf --timeline srtf.html
  yardmaster simulate --trace jobs.parquet --policy learned --run run --jobs jct.csv
  yardmaster simulate --trace jobs.parquet --mtbf 100h --mttr 4h --share 2 --timeline x.html

Policies:

` + wrapped(policyNames()) + `

learned is that of a run directory. Equal flags give equal results.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "trace"); err != nil {
				return err
			}
			if err := flags.validate(c.Flags()); err != nil {
				return err
			}
			if err := errors.Join(writable("--timeline", flags.timeline), writable("--jobs", flags.jobs)); err != nil {
				return err
			}
			return simulate(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), &flags)
		},
	}
	flags.add(c)
	return c
}

func (flags *simulateFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&flags.trace, "trace", "", "Parquet jobs table (make one with trace synth or trace import)")
	f.StringVar(&flags.policy, "policy", "las", "name of a policy (see yardmaster agents), or learned")
	f.StringVar(&flags.run, "run", "", "run directory of yardmaster train, for --policy learned")
	f.StringVar(&flags.cluster, "cluster", "V100=16,P100=16,K80=16", "GPUs by type")
	f.IntVar(&flags.gpusPerNode, "gpus-per-node", 4, "GPUs of a node")
	catalogueFlag(f, &flags.catalogue)
	f.IntVar(&flags.first, "first", 0, "leave out so many jobs at the beginning of the trace")
	f.IntVar(&flags.count, "count", 0, "simulate so many jobs (default all)")
	f.Float64Var(&flags.load, "load", 0, "work offered over the cluster's capacity; arrivals are stretched to reach it (default as recorded)")
	f.DurationVar(&flags.round, "round", 0, "time between decisions (default 6m)")
	f.Int64Var(&flags.maxRounds, "max-rounds", 0, "stop after so many decisions (default when every job is done)")
	f.Var(knowledgeFlag{&flags.knowledge}, "knowledge", "what the policy is told about remaining work")
	f.Float64Var(&flags.sigma, "estimate-sigma", 0, "standard deviation of the log error of estimated work (default 0.8)")
	f.Uint64Var(&flags.seed, "seed", 1, "seed of everything that is drawn")
	flags.switches.add(f)
	f.StringVar(&flags.by, "by", "", byHelp)
	f.StringVar(&flags.timeline, "timeline", "", "write a timeline to this file, .html or .svg")
	f.BoolVar(&flags.gantt, "gantt", false, "print a Gantt chart")
	f.IntVar(&flags.width, "width", 0, "width of the Gantt chart in characters (default that of the terminal)")
	f.StringVar(&flags.jobs, "jobs", "", "write a row per job to this file, .csv or .parquet")
	f.BoolVar(&flags.json, "json", false, "print the figures as JSON")
}

// maxWidth bounds a Gantt chart, characters: a page has a few hundred.
const maxWidth = 100_000

// validate reports everything that is wrong with the flags at once.
func (flags *simulateFlags) validate(f *pflag.FlagSet) error {
	errs := refuseZeros(f, "round", "estimate-sigma", "spread-slowdown", "checkpoint")
	bad := func(name string, value any, want string) {
		errs = append(errs, fmt.Errorf("--%s is %v, want %s", name, value, want))
	}
	if flags.first < 0 {
		bad("first", flags.first, "at least 0")
	}
	if flags.count < 0 {
		bad("count", flags.count, "at least 1, or 0 for all jobs")
	}
	if !(flags.load >= 0) || flags.load > 100 {
		bad("load", flags.load, "more than 0 and at most 100, or 0 for arrivals as recorded")
	}
	if flags.gpusPerNode < 1 || flags.gpusPerNode > env.MaxGPUsPerNode {
		bad("gpus-per-node", flags.gpusPerNode, fmt.Sprintf("1 to %d", env.MaxGPUsPerNode))
	}
	if flags.width < 0 || flags.width > maxWidth {
		bad("width", flags.width, fmt.Sprintf("1 to %d, or 0 for that of the terminal", maxWidth))
	}
	if ext := extension(flags.timeline); ext != "" && ext != ".html" && ext != ".svg" {
		bad("timeline", flags.timeline, "a file ending in .html or .svg")
	}
	if ext := extension(flags.jobs); ext != "" && ext != ".csv" && ext != ".parquet" {
		bad("jobs", flags.jobs, "a file ending in .csv or .parquet (to simulate fewer jobs use --count)")
	}
	errs = append(errs, flags.switches.validate()...)
	if err := checkBy(flags.by); err != nil {
		errs = append(errs, err)
	}
	if flags.policy == learned && flags.run == "" {
		errs = append(errs, errors.New("--policy learned needs --run, the run directory of yardmaster train"))
	}
	if flags.gantt && flags.json {
		errs = append(errs, errors.New("--gantt and --json both print to standard output: choose one, or use --timeline"))
	}
	if len(errs) > 0 {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

// extension returns the ending of a path with its dot, "." for a path without
// one, and "" for no path.
func extension(path string) string {
	if path == "" {
		return ""
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext != "" {
		return ext
	}
	return "."
}

// simulated is the outcome of yardmaster simulate.
type simulated struct {
	Policy    string          `json:"policy"`
	Trace     string          `json:"trace"`
	Cluster   string          `json:"cluster"`
	GPUs      int             `json:"gpus"`
	Submitted int             `json:"submitted"` // jobs
	Rounds    int64           `json:"rounds"`
	Truncated bool            `json:"truncated"` // --max-rounds ended it
	Summary   metrics.Summary `json:"summary"`
	By        string          `json:"by,omitempty"` // what Groups are
	Groups    []metrics.Group `json:"groups,omitempty"`

	recording sim.Recording
}

func simulate(ctx context.Context, stdout, stderr io.Writer, flags *simulateFlags) error {
	p, err := newPolicy(flags.policy, flags.run)
	if err != nil {
		return err
	}
	cfg, table, err := flags.config(stderr)
	if err != nil {
		return err
	}
	var group func(id int64) string
	if flags.by != "" {
		if group, err = table.By(flags.by); err != nil {
			return err
		}
	}
	result, err := flags.play(ctx, stderr, cfg, p)
	if err != nil {
		return err
	}
	if group != nil {
		result.By, result.Groups = flags.by, result.recording.Schedule.Groups(group)
	}
	return flags.report(stdout, result, table)
}

// report writes the files and prints the figures, even where that failed.
func (flags *simulateFlags) report(stdout io.Writer, result *simulated, trace *datasets.Jobs) error {
	saved := flags.writeFiles(result, trace)
	return errors.Join(flags.print(stdout, result), saved)
}

func (flags *simulateFlags) print(stdout io.Writer, result *simulated) error {
	if flags.json {
		return writeJSON(stdout, result)
	}
	if flags.gantt {
		if err := timeline.Text(stdout, &result.recording, flags.ganttConfig(stdout)); err != nil {
			return err
		}
		fmt.Fprintln(stdout)
	}
	return result.print(stdout)
}

// config reads the trace and returns it and the simulation of its window. It tells
// stderr of jobs that are left out.
func (flags *simulateFlags) config(stderr io.Writer) (sim.Config, *datasets.Jobs, error) {
	hardware := clusterFlags{flags.cluster, flags.gpusPerNode, flags.catalogue, flags.seed}
	performance, resolve, err := hardware.resolve(flags.switches.Shares)
	if err != nil {
		return sim.Config{}, nil, err
	}
	cluster := resolve.Cluster
	table, err := datasets.Read(flags.trace)
	if err != nil {
		return sim.Config{}, nil, err
	}
	all, report, err := datasets.Resolve(table, performance, resolve)
	if err != nil {
		return sim.Config{}, nil, fmt.Errorf("%s: %w", flags.trace, err)
	}
	count := flags.count
	if count == 0 {
		count = len(all) - flags.first
	}
	if flags.first > len(all) || count < 1 || count > len(all)-flags.first {
		return sim.Config{}, nil, usageError{fmt.Errorf("--first %d --count %d: %s has %d jobs that can run on this cluster", flags.first, flags.count, flags.trace, len(all))}
	}
	windows, err := datasets.NewWindows(all[flags.first:flags.first+count], count, flags.load, cluster, performance)
	if err != nil {
		return sim.Config{}, nil, fmt.Errorf("%s: %w", flags.trace, err)
	}
	tellDropped(stderr, flags.trace, report)
	cfg := sim.Config{
		Cluster:       cluster,
		Workload:      func(uint64) ([]env.Job, error) { return windows.Window(0, 1) },
		Candidates:    performance,
		Round:         flags.round,
		MaxRounds:     flags.maxRounds,
		Knowledge:     flags.knowledge,
		EstimateSigma: flags.sigma,
	}
	err = flags.switches.apply(&cfg, performance, all[flags.first].Submit, windows.Factor())
	return cfg, table, err
}

// play runs the policy to the end.
func (flags *simulateFlags) play(ctx context.Context, stderr io.Writer, cfg sim.Config, p agent.Policy) (*simulated, error) {
	s, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	s.Record()
	if err := s.Reset(flags.seed); err != nil {
		return nil, err
	}
	result := &simulated{Policy: flags.policy, Trace: flags.trace, Cluster: flags.cluster, GPUs: cfg.Cluster.GPUs()}
	bar := newProgress(stderr, -1, "simulating rounds")
	defer func() { _ = bar.Finish() }()
	for !s.Done() {
		if err := ctx.Err(); err != nil { // most policies do not look at it
			return nil, err
		}
		a, err := p.Decide(ctx, s.State())
		if err != nil {
			return nil, fmt.Errorf("%s, round %d: %w", flags.policy, s.State().Round, err)
		}
		out, err := s.Advance(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flags.policy, err)
		}
		result.Truncated = out.Truncated
		_ = bar.Add(1)
	}
	result.recording, _ = s.Recording()
	result.Submitted, result.Rounds = len(result.recording.Jobs), result.recording.Schedule.Rounds
	result.Summary, err = result.recording.Schedule.Summarize()
	if errors.Is(err, metrics.ErrNoJobs) {
		err = fmt.Errorf("no job finished in %d rounds: use more --max-rounds", result.Rounds)
	}
	return result, err
}

func (flags *simulateFlags) ganttConfig(stdout io.Writer) timeline.TextConfig {
	cfg := timeline.TextConfig{Width: flags.width}
	f, ok := stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return cfg
	}
	cfg.Color = os.Getenv("NO_COLOR") == ""
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && cfg.Width == 0 {
		cfg.Width = width
	}
	return cfg
}

// writeFiles writes what the flags ask for, each file whole or not at all.
func (flags *simulateFlags) writeFiles(r *simulated, trace *datasets.Jobs) error {
	if flags.timeline != "" {
		err := writeFile(flags.timeline, func(w io.Writer) error {
			if extension(flags.timeline) == ".svg" {
				return timeline.SVG(w, &r.recording, r.chart())
			}
			return timeline.HTML(w, &r.recording, r.chart())
		})
		if err != nil {
			return err
		}
	}
	if flags.jobs == "" {
		return nil
	}
	status, err := trace.By("status")
	if err != nil {
		status = nil // the trace has none
	}
	return outcome.Write(flags.jobs, outcome.Of(&r.recording.Schedule, r.recording.Jobs, status))
}
