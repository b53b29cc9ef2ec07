package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// settingFlags say which jobs and which cluster a command is about: those of a
// run directory, or a scenario given by flags.
type settingFlags struct {
	run      string
	scenario scenario.Scenario
}

func (s *settingFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.run, "run", "", "run directory of yardmaster train, whose trace and cluster are taken; or --trace")
	scenarioFlags(f, &s.scenario)
}

// load reads the trace of the run or of the scenario.
func (s *settingFlags) load() (*scenario.Loaded, error) {
	switch {
	case s.run != "" && s.scenario.Trace != "":
		return nil, usageError{errors.New("--run and --trace both say which jobs to take: give one of them")}
	case s.run != "":
		return loadRun(s.run)
	case s.scenario.Trace == "":
		return nil, usageError{errors.New("--trace (or --run) is missing: which jobs are to be taken?")}
	}
	return scenario.Load(s.scenario)
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
