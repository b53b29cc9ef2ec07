package replay_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

const epoch = 11

// helperEnv makes the test binary a service: "<port> <store folder>".
const helperEnv = "YARDMASTER_TEST_SERVICE"

// serveAsHelper serves until it is killed.
func serveAsHelper() int {
	var port int
	var dir string
	if _, err := fmt.Sscan(os.Getenv(helperEnv), &port, &dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	program, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s, err := serve.New(serve.Config{
		Guard:  guard.Config{Policy: heuristic.SRTF{}, ModelName: "srtf@1", Fallback: guard.LP{Policy: program}, Greedy: heuristic.FIFO{}, Deadline: 10 * time.Second},
		Broker: broker.Config{StoreDir: dir, Port: port},
	})
	if err == nil {
		err = s.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// helper is a service in a process of its own.
type helper struct {
	t    *testing.T
	port int
	dir  string
	cmd  *exec.Cmd
}

func newHelper(t *testing.T) *helper {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := &helper{t: t, port: l.Addr().(*net.TCPAddr).Port, dir: t.TempDir()}
	t.Cleanup(h.kill)
	return h
}

func (h *helper) url() string { return "nats://127.0.0.1:" + strconv.Itoa(h.port) }

func (h *helper) start() {
	h.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	h.cmd = exec.Command(exe)
	h.cmd.Env = append(os.Environ(), helperEnv+"="+strconv.Itoa(h.port)+" "+h.dir)
	h.cmd.Stderr = os.Stderr
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
}

// kill ends the process as a power cut would: nothing of it runs any more.
func (h *helper) kill() {
	if h.cmd == nil {
		return
	}
	_ = h.cmd.Process.Signal(syscall.SIGKILL)
	_ = h.cmd.Wait() // its error says that it was killed
	h.cmd = nil
}

// counted checks, apart from the report, that each round of a cluster is
// advanced once.
type counted struct {
	replay.Cluster
	rounds []int64
}

func (c *counted) Advance(a env.Allocation) error {
	c.rounds = append(c.rounds, c.State().Round)
	return c.Cluster.Advance(a)
}

// The service is killed in mid-replay again and again, at any moment of a
// decision, and started again. With patience the cluster waits for it, and its
// schedule is as if nothing had happened.
func TestKilledServiceWithPatience(t *testing.T) {
	h := newHelper(t)
	h.start()
	want := servetest.Sim(t, 2, 400)
	inProcess(t, want, func(s *env.State) (env.Allocation, error) { return heuristic.SRTF{}.Decide(t.Context(), s) })
	got := servetest.Sim(t, 2, 400)
	cluster := &counted{Cluster: replay.Of(got)}

	ctx, cancel := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	kills := 0
	rounds := make(chan struct{}, 1) // a decision came: the service is up
	killer.Go(func() {
		r := rng.New(1, "kill")
		for ctx.Err() == nil && kills < 8 {
			select {
			case <-rounds:
			case <-ctx.Done():
				return
			}
			time.Sleep(time.Duration(r.IntN(20_000)) * time.Microsecond)
			h.kill()
			kills++
			h.start()
			select {
			case <-rounds: // of the service that was killed
			default:
			}
		}
	})
	report, err := replay.Run(t.Context(), replay.Config{
		Client: client.Config{URL: h.url(), Cluster: "c1", Epoch: epoch, Retry: 50 * time.Millisecond}, Cluster: cluster, Timeout: patience,
		Progress: func(int64, *env.State) {
			select {
			case rounds <- struct{}{}:
			default:
			}
		},
	})
	cancel()
	killer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Schedule(), got.Schedule()); diff != "" {
		t.Errorf("schedule (-in-process +killed):\n%s", diff)
	}
	if report.Held != 0 || report.AppliedTwice != 0 || report.Allocations != report.Rounds {
		t.Errorf("got %+v", report)
	}
	if report.Reconnects < 3 { // a service killed while it started is not noticed
		t.Errorf("got %d kills and %d reconnects, want at least 3", kills, report.Reconnects)
	}
	t.Logf("%d kills in %d rounds: %+v", kills, report.Rounds, *report)
	checkRounds(t, cluster, report)
}

// Without patience the cluster holds while the service is away and goes on from
// the next state when it is back.
func TestKilledServiceWithoutPatience(t *testing.T) {
	h := newHelper(t)
	h.start()
	cluster := &counted{Cluster: replay.Of(servetest.Sim(t, 2, 150))}
	killed := false
	var back int64 // rounds that were held when it came back
	report, err := replay.Run(t.Context(), replay.Config{
		Client: client.Config{URL: h.url(), Cluster: "c1", Epoch: epoch, Retry: 50 * time.Millisecond}, Cluster: cluster, Timeout: 300 * time.Millisecond,
		Progress: func(n int64, s *env.State) {
			switch {
			case n == 12:
				h.kill()
				killed = true
			case killed && h.cmd == nil && n == 15: // three rounds nobody could answer
				back = n
				h.start()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if back == 0 || report.Held < 3 || report.AppliedTwice != 0 || report.Allocations+report.Held != report.Rounds || report.Allocations < 20 {
		t.Errorf("got %+v, want at least 3 rounds held and the others decided", report)
	}
	checkRounds(t, cluster, report)
	checkStream(t, h, report)
}

func checkRounds(t *testing.T, c *counted, report *replay.Report) {
	t.Helper()
	if int64(len(c.rounds)) != report.Rounds {
		t.Errorf("cluster advanced %d rounds, report says %d", len(c.rounds), report.Rounds)
	}
	for i := 1; i < len(c.rounds); i++ {
		if c.rounds[i] <= c.rounds[i-1] {
			t.Errorf("round %d advanced after round %d", c.rounds[i], c.rounds[i-1])
		}
	}
}

// checkStream checks that the stream holds no decision twice, and the last one
// once it had the time to store it.
func checkStream(t *testing.T, h *helper, report *replay.Report) {
	t.Helper()
	nc, err := nats.Connect(h.url())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), wire.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	last := "c1:" + strconv.FormatUint(epoch, 10) + ":" + strconv.FormatInt(report.Rounds, 10) + ":allocation"
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		m, err := stream.GetLastMsgForSubject(t.Context(), "yardmaster.v1.decision.c1.allocation")
		if err == nil && m.Header.Get(jetstream.MsgIDHeader) == last {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the stream does not hold the last decision, %s: got %v, %v", last, m, err)
		}
	}
	seen := map[string]bool{}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			continue // removed by the limit per subject
		}
		id := m.Header.Get(jetstream.MsgIDHeader)
		if seen[id] {
			t.Errorf("the stream holds decision %s twice", id)
		}
		seen[id] = true
	}
}
