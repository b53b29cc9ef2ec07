package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/sweep"
)

type sweepFlags struct {
	settings runFlags
	config   string
	out      string
	grid     []string
	random   []string
	trials   int
	seeds    int
	drawSeed uint64
	parallel int
	json     bool
}

// Names in the directory of a sweep.
const (
	sweepFile   = "sweep.yaml"
	baseFile    = "base.yaml"
	bestFile    = "best.yaml"
	resultsFile = "results.json"
)

func newTrainSweep() *cobra.Command {
	var flags sweepFlags
	c := &cobra.Command{
		Use:   "sweep --trace jobs.parquet --grid ppo.rate=1e-4,3e-4 --out sweep",
		Short: "Search settings of training over a grid or at random",
		Long: `Train the policy that allocates GPUs with many settings, each with several
seeds, and rank them by the score that validation gives the policy that is kept.

  yardmaster train sweep --trace jobs.parquet --out s --grid ppo.rate=1e-4,3e-4 --grid ppo.leash=0,0.1 --seeds 3
  yardmaster train sweep --trace jobs.parquet --out s --random ppo.rate=log:1e-5..1e-3 --random network.hidden=16,32 --trials 20
  yardmaster train sweep --config sweep.yaml --out s

A grid tries every combination; of what is random, a value is drawn for each
trial, from a range (log: spreads the draws over powers of ten) or from a list.
With both, trials go round the grid. Keys are those of a run file (yardmaster
train config). Trials are changes of a run: the defaults, --base, --set and the
flags of train. The scenario is the same for all, or their scores could not be
compared, but for scenario.vary; seeds differ in what training draws, not in the
problem.

A sweep file says the same:

` + indent(sweep.Example) + `
Finished runs are kept in the directory, by a hash of their settings. The same
command goes on after Ctrl-C, and more trials or seeds add to what is there.
best.yaml is the run file of the best trial, results.json the table. Every run
is a run directory, as in yardmaster bench --run s/trials/HASH; compare on the
test part of the trace, since the best of many looks better than it is on the
episodes it was chosen on.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "out"); err != nil {
				return err
			}
			defer quitOnSecondInterrupt(c.Context(), c.ErrOrStderr())()
			return runSweep(c.Context(), c, flags)
		},
	}
	f := c.Flags()
	flags.settings.add(f, "base")
	f.StringVar(&flags.config, "config", "", "sweep file in YAML")
	f.StringVar(&flags.out, "out", "", "directory to write")
	f.StringArrayVar(&flags.grid, "grid", nil, "`KEY=V1,V2` to try in every combination; may be repeated")
	f.StringArrayVar(&flags.random, "random", nil, "`KEY=LOW..HIGH`, KEY=log:LOW..HIGH or KEY=V1,V2 to draw from; may be repeated")
	f.IntVar(&flags.trials, "trials", 0, "number of trials (default as many as the grid has points)")
	f.IntVar(&flags.seeds, "seeds", 1, "how often each trial is trained")
	f.Uint64Var(&flags.drawSeed, "sweep-seed", 1, "seed of what is drawn")
	f.IntVar(&flags.parallel, "parallel", 1, "runs at the same time; one uses all cores")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return c
}

// indent indents the lines of an example.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func runSweep(ctx context.Context, c *cobra.Command, flags sweepFlags) error {
	file, err := flags.file(c.Flags())
	if err != nil {
		return err
	}
	base, err := flags.base(c.Flags(), file)
	if err != nil {
		return err
	}
	trials, err := file.Space.List(base)
	if err != nil {
		return usageError{err}
	}
	l, err := scenario.Load(base.Scenario)
	if err != nil {
		return err
	}
	if err := errors.Join(refuseLoad(c.Flags(), l), enoughEpisodes(l, base)); err != nil {
		return err
	}
	if err := saveSweep(flags.out, file, base); err != nil {
		return err
	}
	s := &sweepRun{loaded: l, trials: trials, stderr: c.ErrOrStderr()}
	if !flags.json {
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%d trials × %d seeds in %s\n", len(trials), max(1, file.Space.Seeds), flags.out); err != nil {
			return err
		}
	}
	outcomes, err := sweep.Run(ctx, sweep.Config{
		Dir: flags.out, Trials: trials, Seeds: file.Space.Seeds, Parallel: flags.parallel, Data: dataHash(l), Train: s.train, Finished: s.finished,
	})
	if ctx.Err() != nil {
		return fmt.Errorf("stopped; what is finished is kept. Go on with\n  yardmaster train sweep --config %s --out %s", shellQuote(filepath.Join(flags.out, sweepFile)), shellQuote(flags.out))
	}
	if err != nil {
		return err
	}
	return flags.report(c.OutOrStdout(), l, trials, outcomes)
}

// file returns what is searched: a sweep file, or flags.
func (flags *sweepFlags) file(f *pflag.FlagSet) (*sweep.File, error) {
	file := new(sweep.File)
	if flags.config != "" {
		var err error
		if file, err = sweep.Read(flags.config); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, text := range flags.grid {
		a, err := sweep.ParseAxis(text)
		errs = append(errs, prefixed("--grid", err))
		file.Space.Grid = append(file.Space.Grid, a)
	}
	for _, text := range flags.random {
		d, err := sweep.ParseDraw(text)
		errs = append(errs, prefixed("--random", err))
		file.Space.Random = append(file.Space.Random, d)
	}
	for _, n := range []struct {
		flag string
		from int
		to   *int
	}{{"trials", flags.trials, &file.Space.Trials}, {"seeds", flags.seeds, &file.Space.Seeds}} {
		if f.Changed(n.flag) {
			*n.to = n.from
			if n.from < 1 {
				errs = append(errs, fmt.Errorf("--%s is %d, want 1 or more", n.flag, n.from))
			}
		}
	}
	if f.Changed("only") {
		errs = append(errs, fmt.Errorf("--only is for train: a sweep always trains the policy that allocates GPUs, alone"))
	}
	if f.Changed("sweep-seed") {
		file.Space.Seed = flags.drawSeed
	}
	if flags.parallel < 1 {
		errs = append(errs, fmt.Errorf("--parallel is %d, want 1 or more", flags.parallel))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usageError{err}
	}
	return file, nil
}

func prefixed(flag string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", flag, err)
	}
	return err
}

// base returns the run that trials are changes of.
func (flags *sweepFlags) base(f *pflag.FlagSet, file *sweep.File) (*runfile.File, error) {
	if flags.settings.config != "" && file.Run != "" {
		return nil, usageError{fmt.Errorf("--base and run in %s both say what trials are changes of: give one of them", flags.config)}
	}
	if file.Run != "" {
		flags.settings.config = file.Run
	}
	base, err := flags.settings.mergeWith(f, file.Set)
	if err != nil {
		return nil, err
	}
	base.Only = runfile.OnlyAllocation
	if err := absolute(base); err != nil {
		return nil, err
	}
	return base, errors.Join(flags.settings.check(base), refuseIncomparable(file.Space.Keys()))
}

// refuseIncomparable refuses to search what would make scores mean different things.
func refuseIncomparable(keys []string) error {
	var errs []error
	for _, key := range keys {
		switch section, _, _ := strings.Cut(key, "."); {
		case strings.HasPrefix(key, "scenario.vary."): // of training episodes only
		case section == "scenario", section == "validation":
			errs = append(errs, fmt.Errorf("sweep: %s is the problem, which all trials share: their scores could not be compared", key))
		case section == "tune", section == "only", section == "checkpoints":
			errs = append(errs, fmt.Errorf("sweep: %s does not change the policy that a sweep trains, which allocates GPUs", key))
		}
	}
	if errs != nil {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

// saveSweep writes what is needed to go on.
func saveSweep(dir string, file *sweep.File, base *runfile.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := base.Save(filepath.Join(dir, baseFile)); err != nil {
		return err
	}
	resolved := sweep.File{Run: baseFile, Space: file.Space} // base has what Set says
	return renameio.WriteFile(filepath.Join(dir, sweepFile), resolved.Encode(), 0o644, renameio.WithTempDir(dir))
}

// dataHash returns a hash of what trials are trained on: the rows of the trace and the
// user's GPU types and models.
func dataHash(l *scenario.Loaded) string { return l.TraceHash + l.Catalogue.Hash() }

// sweepRun trains trials.
type sweepRun struct {
	loaded *scenario.Loaded
	trials []sweep.Trial
	stderr io.Writer
}

// train trains a run, or goes on with it.
func (s *sweepRun) train(ctx context.Context, trial int, dir string, file *runfile.File) (float64, error) {
	loaded := s.loaded
	if file.Scenario.Vary != loaded.Scenario.Vary {
		var err error
		if loaded, err = scenario.Load(file.Scenario); err != nil {
			return 0, err
		}
		if dataHash(loaded) != dataHash(s.loaded) { // by which the trial is kept
			return 0, errors.New("the trace or the catalogue was changed while the sweep ran: start it again")
		}
	}
	r := &trainRun{
		file: file, loaded: loaded, dir: dir, tensorboard: true, stdout: io.Discard, stderr: s.stderr,
		label: fmt.Sprintf("trial %d, seed %d: ", trial+1, file.Seed),
	}
	unlock, err := lockRun(dir)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, runfile.Name)); err == nil {
		r.resume = true
	} else if err := beginDirectory(dir, file, loaded.Catalogue, false); err != nil {
		return 0, err
	}
	result, err := r.allocation(ctx)
	if err != nil {
		return 0, err
	}
	return result.Kept.Score, nil
}

// finished says what a run came to.
func (s *sweepRun) finished(p sweep.Progress) {
	var settings []string
	for _, x := range s.trials[p.Trial].Settings {
		settings = append(settings, x.Key+"="+x.Value)
	}
	came := printCost(s.loaded, p.Outcome.Score)
	if p.Outcome.Error != "" {
		came = "failed: " + p.Outcome.Error
	}
	fmt.Fprintf(s.stderr, "%d/%d: trial %d, seed %d, %s: %s\n", p.Done, p.Total, p.Trial+1, p.Outcome.Seed, strings.Join(settings, " "), came)
}

// sweepResult is what a sweep came to.
type sweepResult struct {
	Rows []sweep.Row `json:"trials"` // the best first; scores in seconds
	Best string      `json:"best"`   // its run file
}

func (flags *sweepFlags) report(stdout io.Writer, l *scenario.Loaded, trials []sweep.Trial, outcomes [][]sweep.Outcome) error {
	rows := sweep.Rank(trials, outcomes)
	if rows[0].Error != "" {
		return fmt.Errorf("every trial failed; the first: %s", rows[0].Error)
	}
	result := sweepResult{rows, filepath.Join(flags.out, bestFile)}
	if err := trials[rows[0].Trial-1].File.Save(result.Best); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(flags.out, resultsFile), func(w io.Writer) error { return writeJSON(w, result) }); err != nil {
		return err
	}
	if flags.json {
		return writeJSON(stdout, result)
	}
	if err := sweep.Render(stdout, rows, func(x float64) string { return printCost(l, x) }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "best: %s (yardmaster train --config %s --out RUN)\n", result.Best, shellQuote(result.Best))
	return err
}
