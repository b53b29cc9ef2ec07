package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/ops"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/soak"
)

// serviceEnv makes the test binary the service: its address as JSON.
const serviceEnv = "YARDMASTER_SOAK_SERVICE"

// durationEnv lengthens the soak; `make soak` sets it.
const durationEnv = "YARDMASTER_SOAK"

// address is where the service runs.
type address struct {
	Store    string
	NATS     int
	HTTP     int
	Deadline time.Duration
	Disk     int // bytes of a file system of its own for Store; 0 is none
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(serviceEnv); raw != "" {
		if err := service(raw); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// service serves until SIGTERM, as the command does, with a learned policy that
// misbehaves.
func service(raw string) error {
	var at address
	if err := json.Unmarshal([]byte(raw), &at); err != nil {
		return err
	}
	if err := at.prepare(); err != nil {
		return err
	}
	program, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		return err
	}
	learned, err := policy()
	if err != nil {
		return err
	}
	logger := slog.New(slog.DiscardHandler) // it would fill the test's output with what is asked for
	s, err := serve.New(serve.Config{
		Guard: guard.Config{
			Policy: moody{learned, at.Deadline}, ModelName: "soak@1", NonFinite: neural.ErrNonFinite,
			Fallback: guard.LP{Policy: program}, Greedy: heuristic.FIFO{}, Deadline: at.Deadline,
		},
		Broker: broker.Config{StoreDir: at.Store, Port: at.NATS}, Logger: logger,
	})
	if err != nil {
		return err
	}
	endpoint, err := ops.Start(ops.Config{Service: s, Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(at.HTTP)), Logger: logger})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return errors.Join(s.Run(ctx), endpoint.Close())
}

// policy returns a learned policy with random parameters: it decides something.
func policy() (*neural.Policy, error) {
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 32, Value: 64})
	p.Initialize(rng.New(1, "soak/policy"))
	return neural.NewPolicy(models.New(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), p))
}

// moody is a policy that is late, wrong or broken for some states: always the
// same ones.
type moody struct {
	policy   *neural.Policy // not embedded: the guard must not find another way to ask it
	deadline time.Duration
}

func (m moody) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	switch rng.New(uint64(s.Now)+uint64(len(s.Jobs)), "moody").IntN(50) {
	case 0: // late, and it knows
		<-ctx.Done()
		return nil, ctx.Err()
	case 1: // late, and it does not care
		time.Sleep(2 * m.deadline)
	case 2:
		panic("moody policy")
	case 3:
		return nil, errors.New("moody policy")
	case 4:
		return nil, neural.ErrNonFinite
	case 5: // everything at once
		a := env.NewAllocation(len(s.Jobs))
		clear(a)
		return a, nil
	case 6: // for another state
		return env.NewAllocation(len(s.Jobs) + 1), nil
	}
	return m.policy.Decide(ctx, s)
}

func newAddress(t *testing.T) address {
	t.Helper()
	return address{Store: filepath.Join(t.TempDir(), "store"), NATS: port(t), HTTP: port(t), Deadline: 400 * time.Millisecond}
}

func (a address) nats() string { return "nats://127.0.0.1:" + strconv.Itoa(a.NATS) }
func (a address) http() string { return "http://127.0.0.1:" + strconv.Itoa(a.HTTP) }

// command returns what starts the service there.
func (a address) command(t *testing.T) func() *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return func() *exec.Cmd {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), serviceEnv+"="+string(raw))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd
	}
}

func port(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// The service keeps its promises for as long as the soak lasts: seconds here,
// minutes with `make soak`.
func TestSoak(t *testing.T) {
	at := newAddress(t)
	cfg := soak.Config{
		Clusters: 8, Duration: 4 * time.Second, Pause: 300 * time.Millisecond, Recovery: 5 * time.Second,
	}
	if long := os.Getenv(durationEnv); long != "" {
		d, err := time.ParseDuration(long)
		if err != nil {
			t.Fatalf("%s: %v", durationEnv, err)
		}
		cfg = soak.Config{Duration: d}
	}
	cfg.Seed = 1
	cfg.Broker, cfg.HTTP, cfg.Command = at.nats(), at.http(), at.command(t)
	cfg.NewCluster = func(seed uint64) (replay.Cluster, error) { return replay.Of(servetest.Sim(t, seed, 200)), nil }
	report, err := soak.Run(t.Context(), cfg)
	if report != nil {
		text, _ := json.MarshalIndent(report, "", "  ")
		t.Logf("%s", text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Check(); err != nil {
		t.Error(err)
	}
	if report.Faults["hostile"] == 0 || len(report.Faults) < 2 || report.Wire.Decisions == 0 || len(report.Service.Fallbacks) < 2 {
		t.Errorf("got faults %v, fallbacks %v and %d decisions on the wire, want some of each", report.Faults, report.Service.Fallbacks, report.Wire.Decisions)
	}
}
