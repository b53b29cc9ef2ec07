package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// settingFlags say which jobs and which cluster a command is about: those of a
// run directory, or a scenario given by flags.
type settingFlags struct {
	run      string
	scenario scenario.Scenario
	table    string
	sources  []string
}

func (s *settingFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.run, "run", "", "run directory of yardmaster train, whose trace and cluster are taken; or --trace")
	scenarioFlags(f, &s.scenario)
	f.StringVar(&s.table, "table", "", "throughput table (Parquet, or the CSV of published ones): speeds are measured where it has a row, and the model is calibrated on it")
	f.StringSliceVar(&s.sources, "source", nil, "sources to take from the table (default all)")
}

// load reads the trace of the run or of the scenario.
func (s *settingFlags) load(o scenario.Options) (*scenario.Loaded, error) {
	setting := s.scenario
	switch {
	case s.run != "" && s.scenario.Trace != "":
		return nil, usageError{errors.New("--run and --trace both say which jobs to take: give one of them")}
	case s.run != "":
		var err error
		if setting, err = readScenario(s.run); err != nil {
			return nil, err
		}
	case s.scenario.Trace == "":
		return nil, usageError{errors.New("--trace (or --run) is missing: which jobs are to be taken?")}
	}
	o.Performance.Catalogue = perf.Default()
	if err := (&perfShow{table: s.table, sources: s.sources}).measure(&o.Performance); err != nil {
		return nil, err
	}
	return scenario.LoadWith(setting, o)
}

// parseStrategies returns the sets with these names.
func parseStrategies(names []string) ([]scenario.Strategies, error) {
	var sets []scenario.Strategies
	for _, name := range names {
		x, err := scenario.ParseStrategies(name)
		if err != nil {
			return nil, usageError{err}
		}
		sets = append(sets, x)
	}
	return sets, nil
}

// tunedPolicy returns the policy NAME with the numbers in FILE, if name is of the
// form NAME@FILE.
func tunedPolicy(name string) (p agent.Policy, found bool, err error) {
	policy, file, found := strings.Cut(name, "@")
	if !found {
		return nil, false, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, true, fmt.Errorf("policy %s: %w (make the file with yardmaster tune --out %s)", name, err, file)
	}
	defer f.Close()
	t, err := tune.ReadTuned(f)
	if err == nil {
		p, err = t.Policy(policy)
	}
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", file, err)
	}
	return p, true, nil
}
