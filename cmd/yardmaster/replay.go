package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/wire"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
)

type replayFlags struct {
	run     string
	nats    natsFlags
	prefix  string
	cluster string
	episode uint64
	timeout time.Duration
	apply   string
	verify  bool
	json    bool
}

func newReplay() *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use:   "replay --run run --nats URL",
		Short: "Be a cluster on the other side of NATS, in simulated time",
		Long: `Be a cluster on the other side of NATS: run held-out jobs in simulated time,
publish the state of every round, apply the decisions that come back, and report
what came. A round without a decision in time is held: jobs keep what they have.

With --verify the same jobs are also scheduled in this process by the learned
policy, and both schedules are compared job by job.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "run"); err != nil {
				return err
			}
			return runReplay(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.run, "run", "", "run directory of yardmaster train: its cluster and held-out jobs")
	flags.nats.add(f)
	f.StringVar(&flags.prefix, "prefix", "", "prefix of all subjects (default yardmaster)")
	f.StringVar(&flags.cluster, "cluster-id", "replay", "name of this cluster: letters, digits, _ and -")
	f.Uint64Var(&flags.episode, "episode", 0, "which of the benchmark's episodes to run")
	f.DurationVar(&flags.timeout, "timeout", 2*time.Second, "time to wait for a decision")
	f.StringVar(&flags.apply, "apply", "allocations", "allocations, or configurations: then the cluster runs Tiresias as configured by the service")
	f.BoolVar(&flags.verify, "verify", false, "compare with the schedule of the learned policy in this process")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return c
}

// replayResult is what replay prints.
type replayResult struct {
	Episode uint64          `json:"episode"`
	Summary metrics.Summary `json:"summary"`
	Report  *replay.Report  `json:"report"`
	// Same counts the jobs whose record equals that of the in-process schedule;
	// nil where there was nothing to compare with.
	Same *int `json:"same,omitempty"`
}

func runReplay(ctx context.Context, stdout, stderr io.Writer, flags replayFlags) error {
	if flags.apply != "allocations" && flags.apply != "configurations" {
		return usageError{fmt.Errorf("--apply is %q, want allocations or configurations", flags.apply)}
	}
	if flags.verify && flags.apply != "allocations" {
		return usageError{errors.New("--verify compares allocations, not configurations")}
	}
	if flags.timeout <= 0 {
		return usageError{fmt.Errorf("--timeout is %v, want more than 0", flags.timeout)}
	}
	l, err := loadRun(flags.run)
	if err != nil {
		return err
	}
	result, schedule, err := flags.replay(ctx, stderr, l)
	if err != nil {
		return err
	}
	if flags.verify {
		same, err := verifyReplay(ctx, flags, l, schedule)
		if err != nil {
			return err
		}
		result.Same = &same
	}
	if flags.json {
		err = writeJSON(stdout, result)
	} else {
		err = result.print(stdout)
	}
	if err == nil && result.Same != nil && *result.Same != len(schedule.Jobs) {
		return fmt.Errorf("%d of %d jobs were scheduled otherwise than by the learned policy in this process", len(schedule.Jobs)-*result.Same, len(schedule.Jobs))
	}
	return err
}

func (flags *replayFlags) replay(ctx context.Context, stderr io.Writer, l *scenario.Loaded) (*replayResult, metrics.Schedule, error) {
	s, err := sim.New(l.Sim(scenario.Test))
	if err != nil {
		return nil, metrics.Schedule{}, err
	}
	if err := s.Reset(flags.episode); err != nil {
		return nil, metrics.Schedule{}, err
	}
	reach, err := flags.nats.client(flags.cluster, flags.prefix)
	if err != nil {
		return nil, metrics.Schedule{}, err
	}
	bar := newProgress(stderr, -1, "replaying rounds")
	cfg := replay.Config{
		Client:   reach,
		Cluster:  replay.Of(s),
		Timeout:  flags.timeout,
		Build:    func(c env.Configuration) (replay.Scheduler, error) { return heuristic.FromConfiguration(c) },
		Initial:  heuristic.TiresiasDefault(),
		Progress: func(int64, *env.State) { _ = bar.Add(1) },
	}
	if flags.apply == "configurations" {
		cfg.Apply = replay.Configurations
	}
	report, err := replay.Run(ctx, cfg)
	_ = bar.Finish()
	if err != nil && ctx.Err() != nil && report != nil {
		err = fmt.Errorf("stopped after %d rounds, before all jobs were done", report.Rounds)
	}
	if err != nil {
		return nil, metrics.Schedule{}, err
	}
	schedule := s.Schedule()
	summary, err := schedule.Summarize()
	return &replayResult{Episode: flags.episode, Summary: summary, Report: report}, schedule, err
}

// verifyReplay returns how many jobs have the same record as in a schedule by
// the learned policy in this process.
func verifyReplay(ctx context.Context, flags replayFlags, l *scenario.Loaded, got metrics.Schedule) (int, error) {
	p, err := newPolicy(learned, flags.run)
	if err != nil {
		return 0, err
	}
	want, err := eval.Play(ctx, l.Sim(scenario.Test), p, flags.episode)
	if err != nil {
		return 0, err
	}
	if len(got.Jobs) != len(want.Schedule.Jobs) {
		return 0, fmt.Errorf("replay finished %d jobs, this process %d", len(got.Jobs), len(want.Schedule.Jobs))
	}
	same := 0
	for i := range got.Jobs {
		if cmp.Equal(got.Jobs[i], want.Schedule.Jobs[i]) {
			same++
		}
	}
	return same, nil
}

func (r *replayResult) print(w io.Writer) error {
	var b strings.Builder
	rep := r.Report
	fmt.Fprintf(&b, "replayed episode %d over NATS: %d jobs in %d rounds, mean JCT %.2f h, makespan %.1f h, utilization %.3f\n",
		r.Episode, r.Summary.Jobs, rep.Rounds, r.Summary.MeanJCT/3600, r.Summary.Makespan/3600, r.Summary.Utilization)
	fmt.Fprintf(&b, "decisions received: %d allocations, %d configurations; by source: %s; fallbacks: %s\n",
		rep.Allocations, rep.Configurations, sources(rep.BySource), counts(rep.Fallbacks))
	fmt.Fprintf(&b, "rounds held %d, rejected %d, duplicates ignored %d, applied twice %d; reconnects %d, states sent again %d\n",
		rep.Held, rep.Rejected, rep.Duplicates, rep.AppliedTwice, rep.Reconnects, rep.Resent)
	fmt.Fprintf(&b, "state to decision: %.0f µs median, %.0f µs p99\n", rep.Latency.P50, rep.Latency.P99)
	if rep.Configuration != nil {
		fmt.Fprintf(&b, "last configuration: %s\n", rep.Configuration)
	}
	if r.Same != nil {
		fmt.Fprintf(&b, "the same as in this process: %d of %d jobs\n", *r.Same, r.Summary.Jobs)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sources lists how many decisions came from where, those of the learned policy
// first.
func sources(m map[string]int64) string {
	return fmt.Sprintf("learned %d, lp %d, greedy %d, hold %d",
		m[string(wire.SourcePolicy)], m[string(wire.SourceLP)], m[string(wire.SourceGreedy)], m[string(wire.SourceHold)])
}

// counts lists what was counted, in order of the names, without zeros.
func counts(m map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
