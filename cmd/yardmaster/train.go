package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

type trainFlags struct {
	settings    runFlags
	out         string
	resume      string
	force       bool
	tensorboard bool
	json        bool
}

func newTrain() *cobra.Command {
	var flags trainFlags
	c := &cobra.Command{
		Use:   "train --trace jobs.parquet --out run",
		Short: "Learn to schedule from a trace",
		Long: `Learn two policies from the first part of a trace, by time of submission:

  the policy that allocates GPUs: it starts as a greedy heuristic, clones the
  teacher (a linear program), and goes on by evolution strategies and by PPO in
  JobStrategy-v0, each from the best policy so far;
  the policy that configures Tiresias every hour: it clones a search on
  generated futures.

After each step the policy is played on validation windows of the second part,
and the best one is kept. The third part is left for the benchmark.

  yardmaster train --trace jobs.parquet --out run
  yardmaster train --trace jobs.parquet --out run --set ppo.rate=1e-4 --set ppo.iterations=40

GPU types and models that the program does not know are described in a file, of
which the run keeps a copy:

  yardmaster train --trace jobs.parquet --catalogue own.yaml --cluster L40S=16 --out run

Every setting is a key of a run file in YAML. train config prints it with all
defaults, each with what it means and which values it may have. Flags and --set
win over the file.

  yardmaster train config > my.yaml
  yardmaster train --config my.yaml --trace jobs.parquet --out run

The run directory holds run.yaml, all settings of the run; --config run/run.yaml
repeats it, byte for byte but for times. metrics.jsonl and tensorboard/ hold what was
logged, a line or a point per step (tensorboard --logdir run), checkpoints/ the model at
each validation, model/ and configuration/ the policies. Ctrl-C stops after what
is saved, a second one at once; then, or after a crash, go on with

  yardmaster train --resume run

which ends with the bytes of a run that was never stopped.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			defer quitOnSecondInterrupt(c.Context(), c.ErrOrStderr())()
			return runTrain(c.Context(), c, flags)
		},
	}
	f := c.Flags()
	flags.settings.add(f, "config")
	f.StringVar(&flags.out, "out", "", "run directory to write")
	f.StringVar(&flags.resume, "resume", "", "run directory of a run that was stopped: go on with it")
	f.BoolVar(&flags.force, "force", false, "write to --out even if there is a run, which is replaced")
	f.BoolVar(&flags.tensorboard, "tensorboard", true, "write event files to tensorboard/ in the run directory")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	c.AddCommand(newTrainConfig(), newTrainSweep())
	return c
}

// trained is what a run came to.
type trained struct {
	Out           string              `json:"out"`
	Trace         string              `json:"trace"`
	Allocation    *train.Result       `json:"allocation,omitempty"`
	Configuration *configurationScore `json:"configuration,omitempty"`
}

// configurationScore says how the policy that configures the scheduler compares,
// in job-hours above the best choice.
type configurationScore struct {
	Lessons int         `json:"lessons"`
	Regret  tune.Regret `json:"regret_job_hours"`
}

func runTrain(ctx context.Context, c *cobra.Command, flags trainFlags) error {
	stdout := c.OutOrStdout()
	if flags.json {
		stdout = io.Discard
	}
	file, err := flags.file(c)
	if err != nil {
		return err
	}
	l, err := scenario.Load(file.Scenario)
	if err != nil {
		return err
	}
	if err := refuseLoad(c.Flags(), l); err != nil {
		return err
	}
	r := &trainRun{file: file, loaded: l, dir: flags.out, resume: flags.resume != "", tensorboard: flags.tensorboard, stdout: stdout, stderr: c.ErrOrStderr()}
	if err := printScenario(stdout, l); err != nil {
		return err
	}
	if err := enoughEpisodes(l, file); err != nil {
		return err
	}
	unlock, err := lockRun(r.dir)
	if err != nil {
		return err
	}
	defer unlock()
	if !r.resume {
		if err := beginDirectory(r.dir, file, l.Catalogue, flags.force); err != nil {
			return err
		}
	}
	result, err := r.both(ctx)
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("stopped; all steps that were finished are saved. Go on with\n  yardmaster train --resume %s", shellQuote(r.dir))
	}
	if err != nil || !flags.json {
		return err
	}
	return writeJSON(c.OutOrStdout(), result)
}

// enoughEpisodes returns an error if the trace is too short for what is to be
// trained: before anything is written.
func enoughEpisodes(l *scenario.Loaded, file *runfile.File) error {
	if file.Only == runfile.OnlyConfiguration {
		return nil
	}
	_, err := l.Seeds(scenario.Validation, file.Validation.Episodes)
	return err
}

// file returns the settings of the run that the command line asks for, and sets
// flags.out.
func (flags *trainFlags) file(c *cobra.Command) (*runfile.File, error) {
	if flags.resume == "" {
		if err := requireFlag(c, "out"); err != nil {
			return nil, err
		}
		if err := refuseRun(flags.out, flags.force); err != nil {
			return nil, err
		}
		return flags.settings.resolve(c.Flags())
	}
	if flags.force {
		return nil, usageError{fmt.Errorf("--resume goes on with a run and --force replaces one: give one of them")}
	}
	if flags.out != "" && flags.out != flags.resume {
		return nil, usageError{fmt.Errorf("--resume goes on in %s: leave out --out", flags.resume)}
	}
	flags.out = flags.resume
	return flags.settings.resumed(c.Flags(), flags.resume)
}

// trainRun is one run, wherever its settings come from.
type trainRun struct {
	file           *runfile.File
	loaded         *scenario.Loaded
	dir            string
	resume         bool
	tensorboard    bool
	label          string // of its progress, if there are several
	stdout, stderr io.Writer
}

// both trains the policies that the file asks for.
func (r *trainRun) both(ctx context.Context) (*trained, error) {
	out := &trained{Out: r.dir, Trace: r.loaded.Scenario.Trace}
	var err error
	if r.file.Only != runfile.OnlyConfiguration {
		if out.Allocation, err = r.allocation(ctx); err != nil {
			return out, err
		}
		if err := r.printAllocation(out.Allocation); err != nil {
			return out, err
		}
	}
	if r.file.Only != runfile.OnlyAllocation {
		out.Configuration, err = r.configuration(ctx)
	}
	return out, err
}

func printScenario(w io.Writer, l *scenario.Loaded) error {
	s := &l.Scenario
	arrive := fmt.Sprintf("at load %g", s.Load)
	if l.Offered.Span == 0 {
		arrive = "that all arrive at once"
	}
	_, err := fmt.Fprintf(w, "trace: %s\ncluster: %s in nodes of %d; episodes of %d jobs %s; policies know: %v\n",
		l.Report, strings.ReplaceAll(s.Cluster, ",", " "), s.GPUsPerNode, s.Jobs, arrive, s.Knowledge)
	return err
}
