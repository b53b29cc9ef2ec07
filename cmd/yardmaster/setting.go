package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// settingFlags say which jobs and which cluster a command is about: those of a
// run directory, or a scenario given by flags.
type settingFlags struct {
	flags    *pflag.FlagSet
	run      string
	scenario scenario.Scenario
	table    string
	sources  []string
}

func (s *settingFlags) add(f *pflag.FlagSet) {
	s.flags = f
	f.StringVar(&s.run, "run", "", "run directory of yardmaster train, whose trace and cluster are taken; or --trace")
	scenarioFlags(f, &s.scenario)
	f.StringVar(&s.table, "table", "", "throughput table (Parquet, or the CSV of published ones): speeds are measured where it has a row, and the model is calibrated on it")
	f.StringSliceVar(&s.sources, "source", nil, "sources to take from the table (default all)")
}

// check reports all flags whose values no scenario has: 0 would silently stand for the
// default.
func (s *settingFlags) check() error {
	var errs []error
	file, given := runfile.Defaults(), &runfile.File{Scenario: s.scenario}
	for _, k := range runKeys {
		if !strings.HasPrefix(k.key, "scenario.") || !s.flags.Changed(k.flag) {
			continue
		}
		if err := file.Take(k.key, given); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", k.flag, err))
		}
	}
	if len(errs) > 0 {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

// load reads the trace of the run or of the scenario, and tells stderr of jobs that are
// left out.
func (s *settingFlags) load(stderr io.Writer, o scenario.Options) (*scenario.Loaded, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	setting := s.scenario
	switch {
	case s.run != "" && s.scenario.Trace != "":
		return nil, usageError{errors.New("--run and --trace both say which jobs to take: give one of them")}
	case s.run != "":
		if given := s.given(); len(given) > 0 {
			return nil, usageError{fmt.Errorf("--run takes the setting of the run, and --%s would change it: leave that out, or give --trace in place of --run", strings.Join(given, ", --"))}
		}
		var err error
		if setting, err = readScenario(s.run); err != nil {
			return nil, err
		}
	case s.scenario.Trace == "":
		return nil, usageError{errors.New("--trace (or --run) is missing: which jobs are to be taken?")}
	}
	if s.table != "" { // to calibrate; else the scenario is loaded with its own
		catalogue, err := scenario.ReadCatalogue(setting.Catalogue)
		if err != nil {
			return nil, err
		}
		o.Performance.Catalogue = catalogue.Catalogue
	}
	if err := (&perfShow{table: s.table, sources: s.sources}).measure(&o.Performance); err != nil {
		return nil, err
	}
	l, err := scenario.LoadWith(setting, o)
	if err != nil {
		return nil, err
	}
	tellDropped(stderr, setting.Trace, l.Report)
	return l, refuseLoad(s.flags, l)
}

// refuseLoad returns an error if the command line has a --load that no episode can reach.
// The default means no load where jobs arrive at once.
func refuseLoad(f *pflag.FlagSet, l *scenario.Loaded) error {
	if f.Changed("load") && l.Offered.Span == 0 {
		return usageError{fmt.Errorf("--load is %v, but the training part's jobs arrive at once: leave it out", l.Scenario.Load)}
	}
	return nil
}

// tellDropped tells of jobs of a trace that are left out: figures without them answer
// another question.
func tellDropped(stderr io.Writer, trace string, r datasets.Report) {
	if len(r.Dropped) > 0 {
		fmt.Fprintf(stderr, "yardmaster: %s: %v\n", trace, r)
	}
}

// given returns the flags of a scenario that the command line has.
func (s *settingFlags) given() (names []string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	scenarioFlags(all, new(scenario.Scenario))
	all.VisitAll(func(f *pflag.Flag) {
		if s.flags.Changed(f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}

// byHelp is what --by means.
var byHelp = "also split the figures by a column of the trace: " + strings.Join(datasets.SplitColumns(), ", ")

// checkBy refuses columns that figures cannot be split by.
func checkBy(column string) error {
	if column != "" && !slices.Contains(datasets.SplitColumns(), column) {
		return usageError{fmt.Errorf("--by is %q, want %s", column, strings.Join(datasets.SplitColumns(), ", "))}
	}
	return nil
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
