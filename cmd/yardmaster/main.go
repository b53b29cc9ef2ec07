// Command yardmaster trains, compares and serves policies that schedule
// deep-learning jobs on clusters with GPUs of several types.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailure = 1   // the command could not do what it was asked
	exitUsage   = 2   // the command line is wrong
	exitStopped = 130 // a signal ended it before it was done, as shells say for SIGINT
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("stopped before it was done: nothing was written") // and not where it stood in what
	}
	fmt.Fprintln(stderr, "yardmaster:", err)
	if ctx.Err() != nil {
		return exitStopped
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "yardmaster",
		Short: "Train, compare and serve schedulers for GPU clusters",
		Long: `Yardmaster decides, round by round, which training job runs on which GPUs with
which parallelization strategy, and how the scheduler itself is configured.

  yardmaster trace synth --out jobs.parquet            a trace to start from
  yardmaster train --trace jobs.parquet --out run      learn from it
  yardmaster tune --trace jobs.parquet --out t.yaml    fit the heuristics it has to beat
  yardmaster bench --run run                           compare with heuristics and linear programs
  yardmaster solve --state s.json --policy lp:srpt     decide one state and say why
  yardmaster serve --run run                           decide for clusters over NATS
  yardmaster replay --run run --nats URL               be such a cluster, in simulated time

Exit codes: 0 done, 1 it could not be done, 2 the command line is wrong, 130 stopped by
Ctrl-C or SIGTERM before it was done. What is written appears whole or not at all.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newTrace(), newTrain(), newBench(), newTune(), newSolve(), newSimulate(), newServe(), newConfig(), newHealthcheck(), newModel(), newReplay(), newRelay(), newSchema(), newVerify(), newPerf(), newAgents(), newVersion())
	refuseUnknownCommands(root)
	refuseUnknownTopics(root)
	offerCompletions(root, completions())
	return root
}
