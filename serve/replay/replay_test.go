package replay_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		os.Exit(serveAsHelper())
	}
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

// start starts a service on an embedded broker.
func start(t *testing.T, g guard.Config) *serve.Server {
	t.Helper()
	s, err := serve.New(serve.Config{Guard: g, Broker: broker.Config{StoreDir: t.TempDir()}, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// inProcess runs the episode without NATS.
func inProcess(t *testing.T, s *sim.Sim, decide func(*env.State) (env.Allocation, error)) {
	t.Helper()
	for !s.Done() {
		a, err := decide(s.State())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
}

// The schedule over NATS equals the in-process schedule of the same policy, job
// by job and nanosecond by nanosecond.
func TestReplayEqualsInProcess(t *testing.T) {
	g := servetest.Guard(t)
	g.Configurer = tuner
	s := start(t, g)
	var configurations int64
	for seed := range uint64(3) {
		want := servetest.Sim(t, seed, 40)
		inProcess(t, want, func(s *env.State) (env.Allocation, error) { return heuristic.SRTF{}.Decide(t.Context(), s) })

		got := servetest.Sim(t, seed, 40)
		var rounds int64
		report, err := replay.Run(t.Context(), replay.Config{
			Client: client.Config{URL: s.URL(), Cluster: "c1"}, Cluster: replay.Of(got), Timeout: patience,
			Progress: func(n int64, _ *env.State) { rounds = n },
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Schedule(), got.Schedule()); diff != "" {
			t.Errorf("seed %d: schedule over NATS (-in-process +replay):\n%s", seed, diff)
		}
		if report.Held != 0 || report.AppliedTwice != 0 || report.Allocations != report.Rounds || report.Rounds != rounds || report.Rounds == 0 || report.BySource["policy"] != report.Rounds {
			t.Errorf("seed %d: got %+v", seed, report)
		}
		if report.Latency.P50 <= 0 || report.Latency.P50 > report.Latency.P99 || report.Latency.P99 > report.Latency.Max {
			t.Errorf("seed %d: latency %+v", seed, report.Latency)
		}
		configurations += report.Configurations
		if report.Configurations < 3 || report.Configuration == nil {
			t.Errorf("seed %d: received %d configurations, want some though none is applied", seed, report.Configurations)
		}
	}
	if stats := s.Stats(); stats.Configurations != configurations {
		t.Errorf("received %d configurations of %d decided", configurations, stats.Configurations)
	}
	if stats := s.Stats(); stats.Applied == 0 || stats.Duplicates != 0 {
		t.Errorf("service: got %+v", stats)
	}
}

// tuner chooses Tiresias' thresholds by the length of the queue: so that the
// schedule depends on every configuration being applied in its round.
var tuner = servetest.Configurer(func(_ context.Context, s *env.State) (env.Configuration, error) {
	configs := heuristic.TiresiasConfigurations()
	return configs[(len(s.Jobs)*7+s.Recent.Arrivals)%len(configs)], nil
})

func build(c env.Configuration) (replay.Scheduler, error) { return heuristic.FromConfiguration(c) }

// A cluster that runs its own scheduler under the received configurations ends
// like one that is configured in-process.
func TestConfigurationsEqualInProcess(t *testing.T) {
	g := servetest.Guard(t)
	g.Configurer = tuner
	s := start(t, g)

	want := servetest.Sim(t, 5, 60)
	var scheduler replay.Scheduler
	due := time.Duration(0)
	var configs int64
	inProcess(t, want, func(s *env.State) (env.Allocation, error) {
		if scheduler == nil || s.Now >= due {
			c, err := tuner(t.Context(), s)
			if err != nil {
				return nil, err
			}
			if scheduler, err = build(c); err != nil {
				return nil, err
			}
			due = s.Now + time.Hour
			configs++
		}
		return scheduler.Decide(t.Context(), s)
	})
	got := servetest.Sim(t, 5, 60)
	report, err := replay.Run(t.Context(), replay.Config{
		Client: client.Config{URL: s.URL(), Cluster: "c1"}, Cluster: replay.Of(got), Timeout: patience,
		Apply: replay.Configurations, Build: build, Initial: heuristic.TiresiasDefault(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Schedule(), got.Schedule()); diff != "" {
		t.Errorf("schedule (-in-process +replay):\n%s", diff)
	}
	if report.Configurations != configs || configs < 3 || report.Configuration == nil || report.Held != 0 {
		t.Errorf("got %+v, want %d configurations in force", report, configs)
	}
}

// With the learned policy delayed beyond the deadline the linear program
// answers every round, and the reason is counted on both sides.
func TestLatePolicy(t *testing.T) {
	g := servetest.Guard(t)
	g.PolicyDelay, g.Deadline = time.Hour, 400*time.Millisecond
	s := start(t, g)
	report, err := replay.Run(t.Context(), replay.Config{
		Client: client.Config{URL: s.URL(), Cluster: "c1"}, Timeout: patience,
		Cluster: &limited{Cluster: replay.Of(servetest.Sim(t, 1, 20)), rounds: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Fallbacks["late"] != 4 || report.BySource["lp"] != 4 || report.Held != 0 {
		t.Errorf("got %+v, want 4 rounds by the linear program, reason late", report)
	}
	if stats := s.Stats(); stats.Fallbacks["late"] != 4 {
		t.Errorf("service: got %+v", stats)
	}
}

// limited ends a cluster after some rounds.
type limited struct {
	replay.Cluster
	rounds int
}

func (l *limited) Done() bool { return l.rounds == 0 || l.Cluster.Done() }

func (l *limited) Advance(a env.Allocation) error {
	l.rounds--
	return l.Cluster.Advance(a)
}

// Without a service every round holds.
func TestNobodyAnswers(t *testing.T) {
	b, err := broker.Start(broker.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	report, err := replay.Run(t.Context(), replay.Config{
		Client: client.Config{URL: b.URL(), Cluster: "c1"}, Timeout: 20 * time.Millisecond,
		Cluster: &limited{Cluster: replay.Of(servetest.Sim(t, 1, 20)), rounds: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Rounds != 5 || report.Held != 5 || report.Allocations != 0 || report.Latency != (replay.Latency{}) {
		t.Errorf("got %+v, want 5 rounds held", report)
	}
}

// impossible damages some states, so that the service refuses them.
type impossible struct{ *limited }

func (i impossible) State() *env.State {
	s := *i.limited.State()
	if i.rounds%2 == 0 {
		s.RoundLen = 0
	}
	return &s
}

func TestRefusedRoundsAreHeld(t *testing.T) {
	s := start(t, servetest.Guard(t))
	report, err := replay.Run(t.Context(), replay.Config{
		Client: client.Config{URL: s.URL(), Cluster: "c1"}, Timeout: patience,
		Cluster: impossible{&limited{Cluster: replay.Of(servetest.Sim(t, 1, 20)), rounds: 6}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Rounds != 6 || report.Held != 3 || report.Refused != 3 || report.Allocations != 3 {
		t.Errorf("got %+v, want every second of 6 rounds refused and held", report)
	}
}

func TestCancelled(t *testing.T) {
	s := start(t, servetest.Guard(t))
	ctx, cancel := context.WithCancel(t.Context())
	report, err := replay.Run(ctx, replay.Config{
		Client: client.Config{URL: s.URL(), Cluster: "c1"}, Cluster: replay.Of(servetest.Sim(t, 1, 20)),
		Progress: func(n int64, _ *env.State) {
			if n == 3 {
				cancel()
			}
		},
	})
	if err == nil || report == nil || report.Rounds != 3 {
		t.Errorf("got %+v, %v, want an error and a report of 3 rounds", report, err)
	}
}

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := replay.Run(t.Context(), replay.Config{Timeout: -1, Apply: 7})
	for _, want := range []string{"Cluster", "Timeout", "Apply"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
	_, err = replay.Run(t.Context(), replay.Config{Cluster: &limited{}, Apply: replay.Configurations})
	if err == nil || !strings.Contains(err.Error(), "Build") {
		t.Errorf("Build is not named in: %v", err)
	}
}
