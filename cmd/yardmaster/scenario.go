package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// scenarioFile is where a run directory keeps its scenario.
const scenarioFile = "scenario.json"

// knowledgeFlag makes env.Knowledge a flag.
type knowledgeFlag struct{ *env.Knowledge }

func (k knowledgeFlag) Set(s string) error { return k.UnmarshalText([]byte(s)) }
func (k knowledgeFlag) Type() string       { return "oracle|estimate|none" }

func (k knowledgeFlag) String() string {
	if k.Knowledge == nil {
		return ""
	}
	return k.Knowledge.String()
}

// scenarioFlags adds the flags that describe a scenario.
func scenarioFlags(flags *pflag.FlagSet, s *scenario.Scenario) {
	s.Knowledge = env.Estimate
	flags.StringVar(&s.Trace, "trace", "", "Parquet jobs table (make one with trace synth or trace import)")
	flags.StringVar(&s.Cluster, "cluster", "V100=16,P100=16,K80=16", "GPUs by type")
	catalogueFlag(flags, &s.Catalogue)
	flags.IntVar(&s.GPUsPerNode, "gpus-per-node", 4, "GPUs of a node")
	flags.StringSliceVar(&s.Models, "models", nil, "models that jobs are given, whatever the trace says (default those of the trace)")
	flags.Float64Var(&s.Load, "load", 1, "work offered over the cluster's capacity; arrivals are stretched to reach it")
	flags.IntVar(&s.Jobs, "jobs", 200, "consecutive jobs in an episode")
	flags.DurationVar(&s.Round, "round", 0, "time between decisions (default 6m)")
	flags.Var(knowledgeFlag{&s.Knowledge}, "knowledge", "what policies are told about remaining work")
	flags.Float64Var(&s.EstimateSigma, "estimate-sigma", 0, "standard deviation of the log error of estimated work (default 0.8)")
	flags.Uint64Var(&s.Seed, "seed", 1, "seed of everything that is drawn")
	x := &s.Switches
	flags.Var(objectiveFlag{&x.Objective}, "objective", "what counts: completion times, time after deadlines, deadlines missed, or completion times and finish-time fairness")
	switchesFlags(flags, x)
	flags.StringVar(&x.Quotas, "quotas", "", "quotas table (Parquet): GPUs that tenants may hold, as where their part of the trace begins")
}

// switchesFlags adds the switches of a simulation that mean the same wherever one
// is run.
func switchesFlags(flags *pflag.FlagSet, x *scenario.Switches) {
	flags.DurationVar(&x.MTBF, "mtbf", 0, "mean time of a node between failures (default none)")
	flags.DurationVar(&x.MTTR, "mttr", 0, "mean time until a failed node is back (default 1h)")
	flags.IntSliceVar(&x.Shares, "share", nil, "parts of a GPU that jobs of one GPU may take, of 2, 4 and 8 (default whole GPUs only)")
	flags.StringVar(&x.Colocation, "colocation", "", "colocation table (Parquet) of measured pairs: how jobs that share a GPU slow each other down")
	flags.Float64Var(&x.ThroughputSigma, "throughput-sigma", 0, "standard deviation of the log error of the speeds that policies see (default 0: the truth)")
	flags.DurationVar(&x.Profiling, "profiling", 0, "how long a job runs on a GPU type until its true speed there is seen (default at once)")
}

// objectiveFlag makes sim.Objective a flag.
type objectiveFlag struct{ *sim.Objective }

func (o objectiveFlag) Set(s string) error { return o.UnmarshalText([]byte(s)) }
func (o objectiveFlag) Type() string       { return "jct|tardiness|misses|fair-jct" }

func (o objectiveFlag) String() string {
	if o.Objective == nil {
		return ""
	}
	return o.Objective.String()
}

// loadRun reads the scenario of a run directory and its trace.
func loadRun(dir string) (*scenario.Loaded, error) {
	s, err := readScenario(dir)
	if err != nil {
		return nil, err
	}
	return scenario.Load(s)
}

// readScenario reads the scenario of a run directory.
func readScenario(dir string) (scenario.Scenario, error) {
	path := filepath.Join(dir, scenarioFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return scenario.Scenario{}, fmt.Errorf("%s is not a run directory: it has no %s (make one with yardmaster train --out %s)", dir, scenarioFile, dir)
	}
	if err != nil {
		return scenario.Scenario{}, err
	}
	var s scenario.Scenario
	if err := json.Unmarshal(data, &s); err != nil {
		return scenario.Scenario{}, fmt.Errorf("%s: %w", path, err)
	}
	for _, file := range s.Files() {
		if !filepath.IsAbs(*file) {
			*file = filepath.Join(dir, *file)
		}
		if _, err := os.Stat(*file); errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("%s names %s, which is not there: move it along with the run, or say in the file where it is", path, *file)
		}
	}
	return s, nil
}

// requireFlag returns a usage error if the flag was not given, or is empty.
func requireFlag(c *cobra.Command, name string) error {
	if !c.Flags().Changed(name) || c.Flag(name).Value.String() == "" {
		return usageError{fmt.Errorf("--%s is missing (see %s --help)", name, c.CommandPath())}
	}
	return nil
}
