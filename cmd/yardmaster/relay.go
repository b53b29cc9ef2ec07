package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/serve/relay"
)

type relayFlags struct {
	nats     natsFlags
	prefix   string
	cluster  string
	state    string
	apply    string
	interval time.Duration
	timeout  time.Duration
	wait     time.Duration
	rounds   int64
	json     bool
	verbose  bool
}

func newRelay() *cobra.Command {
	var flags relayFlags
	c := &cobra.Command{
		Use:   "relay --cluster-id ID --state COMMAND --apply COMMAND",
		Short: "Connect a scheduler that is not written in Go",
		Long: `Connect a scheduler that is not written in Go, such as Slurm. Every --interval the
state command is run; it prints the object "state" of yardmaster.state.v1 (yardmaster
schema show state), or a whole such message, of which only that is used. It is checked
and published, and the decision is waited for. Then the apply command is run with the
decision (yardmaster schema show allocation) on its standard input and the state in the
file $YARDMASTER_STATE; the file $YARDMASTER_PLAN has both as lines for the shell: start,
move, keep, stop or wait, the job's id and, where it runs, the GPU type's index, its
name, GPUs, nodes and the strategy. Exit code 0: applied. Lines such as
{"job": 1, "applied": false, "reason": "why"} that it prints say for which jobs not.

A command that does not end within --timeout is killed with all it started. Without a
state nothing is published and nothing applied; a decision that comes too late is not
applied. Both commands run in /bin/sh.

For Slurm serve/deploy/relay-slurm.sh is a start: read its head for what it does not do.

  yardmaster relay --cluster-id hpc --state 'relay-slurm.sh state' --apply 'relay-slurm.sh apply'
  yardmaster solve --example > state.json
  yardmaster relay --cluster-id lab --state 'cat state.json' --apply 'cat $YARDMASTER_PLAN >&2' --rounds 1`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"cluster-id", "state", "apply"} {
				if err := requireFlag(c, name); err != nil {
					return err
				}
			}
			return runRelay(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), flags)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&flags.cluster, "cluster-id", "", "name of the cluster: letters, digits, _ and -")
	f.StringVar(&flags.state, "state", "", "command that prints the state")
	f.StringVar(&flags.apply, "apply", "", "command that applies a decision")
	f.DurationVar(&flags.interval, "interval", time.Minute, "from one state to the next")
	f.DurationVar(&flags.timeout, "timeout", 5*time.Second, "time that each command may take")
	f.DurationVar(&flags.wait, "wait", 2*time.Second, "time to wait for a decision")
	f.Int64Var(&flags.rounds, "rounds", 0, "end after this many rounds; 0 goes on")
	f.StringVar(&flags.prefix, "prefix", "", "prefix of all subjects (default yardmaster)")
	flags.nats.add(f)
	f.BoolVar(&flags.json, "json", false, "at the end print what was done as JSON")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "log more")
	return c
}

func runRelay(ctx context.Context, stdout, stderr io.Writer, flags relayFlags) error {
	reach, err := flags.nats.client(flags.cluster, flags.prefix)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if flags.verbose {
		level = slog.LevelDebug
	}
	report, err := relay.Run(ctx, relay.Config{
		Client: reach, State: flags.state, Apply: flags.apply,
		Interval: flags.interval, Timeout: flags.timeout, Wait: flags.wait, Rounds: flags.rounds,
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})),
	})
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(stdout, report)
	}
	_, err = fmt.Fprintf(stdout, "%d rounds: %d applied, %d in part, %d failed; %d without a state, %d without a decision, %d refused\n",
		report.Rounds, report.Applied, report.Partial, report.Failed, report.NoState, report.Undecided, report.Refused)
	return err
}
