package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/relay"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func start(t *testing.T, cfg serve.Config) *serve.Server {
	t.Helper()
	cfg.Guard, cfg.Broker = servetest.Guard(t), broker.Config{StoreDir: t.TempDir()}
	s, err := serve.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// journal is a log that a test may read while it is written.
type journal struct {
	mu sync.Mutex
	bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Buffer.Write(p)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.String()
}

// stateFile holds what a state command prints.
func stateFile(t *testing.T, s *env.State) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// run relays and returns the report and the log.
func run(t *testing.T, s *serve.Server, cfg relay.Config) (*relay.Report, string) {
	t.Helper()
	var log journal
	cfg.Client = client.Config{URL: s.URL(), Cluster: "c1", Retry: 50 * time.Millisecond}
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	report, err := relay.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report, log.text()
}

// A state command may print the whole message that another scheduler publishes.
func TestRelayTakesMessages(t *testing.T) {
	s := start(t, serve.Config{})
	message := servetest.State(t, 1, 7)
	message.Cluster = "another"
	file, given := filepath.Join(t.TempDir(), "message.json"), filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, servetest.Body(t, message), 0o600); err != nil {
		t.Fatal(err)
	}
	report, log := run(t, s, relay.Config{
		State: "cat " + file, Apply: "cp $YARDMASTER_STATE " + given, Interval: time.Millisecond, Rounds: 1, Wait: patience, Timeout: patience,
	})
	if report.Applied != 1 {
		t.Fatalf("got %+v\n%s", *report, log)
	}
	var state env.State
	if data, err := os.ReadFile(given); err != nil || json.Unmarshal(data, &state) != nil || state.Validate() != nil || len(state.Jobs) != len(message.State.Jobs) {
		t.Errorf("the apply command got %s, %v, want the state in the message", data, err)
	}
}

// The apply command gets the decision and the state that it answers.
func TestRelay(t *testing.T) {
	s := start(t, serve.Config{})
	dir := t.TempDir()
	state := &servetest.State(t, 1, 1).State
	file := stateFile(t, state)
	report, log := run(t, s, relay.Config{
		State:    "cat " + file,
		Apply:    "cat > " + dir + "/decision; cp $YARDMASTER_STATE " + dir + "/state; echo moved two jobs >&2",
		Interval: time.Millisecond, Rounds: 3, Wait: patience, Timeout: patience,
	})
	if want := (relay.Report{Rounds: 3, Applied: 3}); *report != want {
		t.Fatalf("got %+v, want %+v\n%s", *report, want, log)
	}
	if n := strings.Count(log, `text="moved two jobs"`); n != 3 {
		t.Errorf("what the command says is logged %d times, want 3:\n%s", n, log)
	}
	data, err := os.ReadFile(dir + "/decision")
	if err != nil {
		t.Fatal(err)
	}
	a, err := wire.DecodeAllocation(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(wire.Key{Cluster: "c1", Epoch: a.Epoch, Seq: 3}, state); err != nil {
		t.Error(err)
	}
	given, _ := os.ReadFile(dir + "/state")
	if want, _ := os.ReadFile(file); !bytes.Equal(given, want) {
		t.Error("the apply command got another state")
	}
	for end := time.Now().Add(patience); s.Stats().Applied != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("acknowledged: got %+v", s.Stats())
		}
	}
}

// Whatever a command does but print a state or apply, nothing is assumed of it.
func TestCommandsThatFail(t *testing.T) {
	s := start(t, serve.Config{})
	cat := "cat " + stateFile(t, &servetest.State(t, 1, 1).State)
	for _, test := range []struct {
		name         string
		state, apply string
		want         relay.Report
		log          string
	}{
		{"no state command", "exit 3", "true", relay.Report{NoState: 1}, "exit status 3"},
		{"its reason", "echo down >&2; exit 1", "true", relay.Report{NoState: 1}, "down"},
		{"text", "echo hello", "true", relay.Report{NoState: 1}, "malformed"},
		{"part of a state", cat + " | head -c 500", "true", relay.Report{NoState: 1}, "malformed"},
		{"impossible state", cat + ` | sed s/\"weight\":1/\"weight\":0/`, "true", relay.Report{NoState: 1}, "state.jobs[0]"},
		{"no end of output", "yes", "true", relay.Report{NoState: 1}, "printed too much"},
		{"apply fails", cat, "echo no such node >&2; exit 1", relay.Report{Failed: 1}, "no such node"},
		{"apply says nonsense", cat, "echo done", relay.Report{Failed: 1}, "want lines"},
		{"apply works in part", cat, `echo '{"job": 3, "applied": false, "reason": "no such node"}'`, relay.Report{Partial: 1}, "in part"},
		{"apply reads nothing", cat, "true", relay.Report{Applied: 1}, "applied"},
	} {
		report, log := run(t, s, relay.Config{State: test.state, Apply: test.apply, Rounds: 1, Wait: patience, Timeout: patience})
		test.want.Rounds = 1
		if *report != test.want || !strings.Contains(log, test.log) {
			t.Errorf("%s: got %+v, want %+v, and %q in\n%s", test.name, *report, test.want, test.log, log)
		}
	}
}

// Fault 30, the cluster's own scheduler hangs: a stopped command is killed with
// what it started, nothing is published or applied, and the service calls the
// cluster stale. When it answers again, all goes on.
func TestFault30HungScheduler(t *testing.T) {
	s := start(t, serve.Config{StaleAfter: 300 * time.Millisecond})
	dir := t.TempDir()
	cat := "cat " + stateFile(t, &servetest.State(t, 1, 1).State)
	hang := dir + "/hang"
	// Like squeue before a stopped slurmctld: it waits, and so does its child.
	squeue := "if [ -e " + hang + " ]; then echo $$ > " + dir + "/pid; sleep 1000 & kill -STOP $$; fi; " + cat
	ctx, cancel := context.WithCancel(t.Context())
	var log journal
	done := make(chan *relay.Report, 1)
	go func() {
		report, err := relay.Run(ctx, relay.Config{
			Client: client.Config{URL: s.URL(), Cluster: "c1"}, State: squeue, Apply: "echo >> " + dir + "/applied",
			Interval: 20 * time.Millisecond, Timeout: 700 * time.Millisecond, Wait: patience, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never: %s\n%s", what, log.text())
			}
		}
	}
	eventually("applied", func() bool { return s.Stats().Applied >= 2 })
	if err := os.WriteFile(hang, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually("the command hangs and is killed", func() bool { return strings.Contains(log.text(), "did not end in time") })
	eventually("stale", func() bool { return len(s.Stats().StaleClusters) == 1 })
	applied, _ := os.ReadFile(dir + "/applied")
	decided := s.Stats().Allocations
	pid, _ := os.ReadFile(dir + "/pid")
	time.Sleep(time.Second)
	if again, _ := os.ReadFile(dir + "/applied"); len(again) != len(applied) || s.Stats().Allocations != decided {
		t.Errorf("while it hung: %d decisions and %d applied more, want none", s.Stats().Allocations-decided, len(again)-len(applied))
	}
	if err := os.Remove(hang); err != nil {
		t.Fatal(err)
	}
	eventually("it goes on", func() bool { return s.Stats().Allocations > decided && len(s.Stats().StaleClusters) == 0 })
	cancel()
	if report := <-done; report != nil && (report.NoState == 0 || report.Applied == 0) {
		t.Errorf("got %+v", *report)
	}
	var group int
	if err := json.Unmarshal(bytes.TrimSpace(pid), &group); err != nil {
		t.Fatalf("the command's group: %v", err)
	}
	eventually("nothing is left of its group", func() bool { return syscall.Kill(-group, 0) == syscall.ESRCH })
}
