package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/sweep"
)

// runFlags are the settings of a run: a file, flags of their own for what is set
// most, and --set for everything.
type runFlags struct {
	config string
	set    []string
	given  runfile.File // by flags; those that were not given have what --help says
}

// runKeys are the settings that have a flag of their own.
var runKeys = []struct{ flag, key string }{
	{"trace", "scenario.trace"},
	{"cluster", "scenario.cluster"},
	{"catalogue", "scenario.catalogue"},
	{"gpus-per-node", "scenario.gpus_per_node"},
	{"models", "scenario.models"},
	{"load", "scenario.load"},
	{"jobs", "scenario.jobs"},
	{"round", "scenario.round"},
	{"knowledge", "scenario.knowledge"},
	{"estimate-sigma", "scenario.estimate_sigma"},
	{"seed", "scenario.seed"},
	{"objective", "scenario.switches.objective"},
	{"mtbf", "scenario.switches.mtbf"},
	{"mttr", "scenario.switches.mttr"},
	{"share", "scenario.switches.shares"},
	{"colocation", "scenario.switches.colocation"},
	{"throughput-sigma", "scenario.switches.throughput_sigma"},
	{"profiling", "scenario.switches.profiling"},
	{"quotas", "scenario.switches.quotas"},
	{"teacher", "teacher"},
	{"validations", "validation.episodes"},
	{"bc-passes", "bc.passes"},
	{"es-generations", "es.generations"},
	{"ppo-iterations", "ppo.iterations"},
	{"only", "only"},
}

// add adds the flags; file is the name of the one for the run file.
func (r *runFlags) add(f *pflag.FlagSet, file string) {
	scenarioFlags(f, &r.given.Scenario)
	d := runfile.Defaults()
	f.StringVar(&r.config, file, "", "run file in YAML; train config prints one with everything in it")
	f.StringArrayVar(&r.set, "set", nil, "`KEY=VALUE` of a run file, as in ppo.rate=1e-4; may be repeated")
	f.StringVar(&r.given.Teacher, "teacher", d.Teacher, "policy to clone first")
	f.IntVar(&r.given.Validation.Episodes, "validations", d.Validation.Episodes, "episodes on which policies are chosen")
	f.IntVar(&r.given.BC.Passes, "bc-passes", d.BC.Passes, "passes of behaviour cloning, 0 none")
	f.IntVar(&r.given.ES.Generations, "es-generations", d.ES.Generations, "generations of evolution strategies, 0 none")
	f.IntVar(&r.given.PPO.Iterations, "ppo-iterations", d.PPO.Iterations, "iterations of PPO, 0 none")
	f.StringVar(&r.given.Only, "only", "", "train only the allocation or only the configuration policy")
}

// resolve returns the defaults, changed by the file, changed by the flags.
func (r *runFlags) resolve(f *pflag.FlagSet) (*runfile.File, error) {
	file, err := r.merge(f)
	if err != nil {
		return nil, err
	}
	return file, r.check(file)
}

// merge is resolve without a check that there is enough for a run.
func (r *runFlags) merge(f *pflag.FlagSet) (*runfile.File, error) { return r.mergeWith(f, nil) }

// mergeWith is merge with settings between those of the file and those of flags.
func (r *runFlags) mergeWith(f *pflag.FlagSet, between []sweep.Setting) (*runfile.File, error) {
	file := runfile.Defaults()
	if r.config != "" {
		if err := file.Merge(r.config); err != nil {
			return nil, err
		}
	}
	for _, s := range between {
		if err := file.Set(s.Key + "=" + s.Value); err != nil {
			return nil, fmt.Errorf("set: %w", err)
		}
	}
	if err := r.override(f, file); err != nil {
		return nil, usageError{err}
	}
	return file, r.checkNames(f, between, file)
}

// checkNames refuses GPU types and models that nothing describes, and says where they
// are named: it takes all of the settings to know.
func (r *runFlags) checkNames(f *pflag.FlagSet, between []sweep.Setting, file *runfile.File) error {
	err := file.CheckNames()
	unknown, ok := errors.AsType[*runfile.NameError](err)
	if !ok {
		return err
	}
	if errors.Is(err, perf.ErrUnknownGPU) || errors.Is(err, perf.ErrUnknownModel) {
		err = fmt.Errorf("%w; describe your own in a file of --catalogue", err)
	}
	for _, k := range runKeys {
		if k.key == unknown.Key && f.Changed(k.flag) {
			return usageError{fmt.Errorf("--%s: %w", k.flag, err)}
		}
	}
	for _, s := range r.set {
		if strings.HasPrefix(s, unknown.Key+"=") {
			return usageError{fmt.Errorf("--set %s: %w", s, err)}
		}
	}
	if slices.ContainsFunc(between, func(s sweep.Setting) bool { return s.Key == unknown.Key }) {
		return fmt.Errorf("set: %w", err)
	}
	if place := runfile.Place(r.config, unknown.Key); place != "" {
		return fmt.Errorf("%s: %w", place, err)
	}
	return err
}

// check refuses settings that are allowed one by one and make no run.
func (r *runFlags) check(file *runfile.File) error {
	if file.Scenario.Trace == "" {
		return usageError{errors.New("--trace is missing, and no run file with a scenario.trace is given (see yardmaster train --help)")}
	}
	if _, err := policies().New(file.Teacher); err != nil {
		return usageError{fmt.Errorf("teacher: %w", err)}
	}
	return nil
}

// override changes file by the flags that were given, and reports all that is wrong
// with them.
func (r *runFlags) override(f *pflag.FlagSet, file *runfile.File) error {
	var errs []error
	by := make(map[string]string) // which flag set a key
	for _, n := range []*int{&r.given.BC.Passes, &r.given.ES.Generations, &r.given.PPO.Iterations} {
		*n = max(0, *n) // a negative number has always been none
	}
	for _, k := range runKeys {
		if !f.Changed(k.flag) {
			continue
		}
		by[k.key] = "--" + k.flag
		if err := file.Take(k.key, &r.given); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", k.flag, err))
		}
	}
	for _, s := range r.set {
		key, _, _ := strings.Cut(s, "=")
		if earlier, ok := by[key]; ok {
			errs = append(errs, fmt.Errorf("--set %s: %s sets %s, too: give one of them", s, earlier, key))
			continue
		}
		by[key] = "--set"
		if err := file.Set(s); err != nil {
			errs = append(errs, fmt.Errorf("--set %s: %w", s, err))
		}
	}
	return errors.Join(errs...)
}

// resumed returns the settings of the run in dir. Settings on the command line have
// to be the same.
func (r *runFlags) resumed(f *pflag.FlagSet, dir string) (*runfile.File, error) {
	path := filepath.Join(dir, runfile.Name)
	file, err := runfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run that can be resumed: it has no %s (begin one with yardmaster train --out %s)", dir, runfile.Name, shellQuote(dir))
	}
	if err != nil {
		return nil, err
	}
	if file.Scenario.Trace == "" {
		return nil, fmt.Errorf("%s has no scenario.trace: it was emptied or cut, and the run cannot be resumed", path)
	}
	wanted, err := runfile.Read(path)
	if err != nil {
		return nil, err
	}
	if r.config != "" {
		if err := wanted.Merge(r.config); err != nil {
			return nil, err
		}
	}
	if err := r.override(f, wanted); err != nil {
		return nil, usageError{err}
	}
	if err := errors.Join(absolute(file), absolute(wanted), sameCatalogue(file, wanted)); err != nil {
		return nil, err
	}
	var errs []error
	for _, d := range runfile.Compare(file, wanted) {
		errs = append(errs, fmt.Errorf("%s is %s in %s and %s on the command line: a run is resumed as it was begun", d.Key, d.A, path, d.B))
	}
	if errs != nil {
		return nil, usageError{errors.Join(append(errs, fmt.Errorf("for a new run with them: yardmaster train --config %s … --out ANOTHER", shellQuote(path)))...)}
	}
	return file, r.check(file)
}

// sameCatalogue lets wanted name the run's copies of GPU types and models where its files
// say the same to the byte.
func sameCatalogue(file, wanted *runfile.File) error {
	kept, err := scenario.ReadCatalogue(file.Scenario.Catalogue)
	if err != nil {
		return err
	}
	given, err := scenario.ReadCatalogue(wanted.Scenario.Catalogue)
	if err == nil && given.Hash() == kept.Hash() {
		wanted.Scenario.Catalogue = file.Scenario.Catalogue
	}
	return err
}

// absolute makes the paths of a file comparable with those of another.
func absolute(file *runfile.File) (err error) {
	for _, path := range file.Scenario.Files() {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	return err
}
