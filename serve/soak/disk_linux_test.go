package soak_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/soak"
)

// prepare makes the store folder a small file system, in the process's own mount
// namespace, if that is wanted.
func (a address) prepare() error {
	// A limit on the size of files is how a test makes the disk fail; the signal
	// that comes with it would end the process.
	signal.Ignore(syscall.SIGXFSZ)
	if a.Disk == 0 {
		return nil
	}
	if err := os.MkdirAll(a.Store, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("none", a.Store, "tmpfs", 0, "size="+strconv.Itoa(a.Disk)); err != nil {
		return fmt.Errorf("mount a file system on %s: %w", a.Store, err)
	}
	return nil
}

// isolated returns what starts the service in namespaces of its own.
func (a address) isolated(t *testing.T) func() *exec.Cmd {
	t.Helper()
	command := a.command(t)
	return func() *exec.Cmd {
		cmd := command()
		cmd.SysProcAttr = namespaces()
		return cmd
	}
}

func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// needNamespaces skips a test where the kernel lets nobody mount a file system.
func needNamespaces(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = namespaces()
	if err := cmd.Run(); err != nil {
		t.Skipf("no user and mount namespaces here, so no small disk to fill: %v", err)
	}
}

// rounds plays n rounds of a cluster and fails unless each is answered.
func rounds(t *testing.T, c *client.Client, s replay.Cluster, n int) {
	t.Helper()
	for range n {
		seq, _ := c.PublishState(s.State()) // where the broker is away, Wait sends it again
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		d, err := c.Wait(ctx, seq)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Advance(d.Allocation); err != nil {
			t.Fatal(err)
		}
	}
}

// metric returns a metric of the service, asked for over HTTP: the broker may
// be away.
func (a address) metric(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := http.Get(a.http() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// Metrics of the broker's disk.
const (
	storedMetric   = "yardmaster_decisions_stored_total"
	healthyMetric  = "yardmaster_store_healthy"
	restartsMetric = "yardmaster_broker_restarts_total"
)

// alive reports what /healthz answers.
func (a address) alive(t *testing.T) int {
	t.Helper()
	resp, err := http.Get(a.http() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func follow(t *testing.T, at address, name string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Config{URL: at.nats(), Cluster: name, Epoch: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// The disk of the broker fills up: decisions go on reaching the cluster, that
// nothing is stored is said, and storing goes on by itself once there is room.
func TestFault20DiskFull(t *testing.T) {
	needNamespaces(t)
	at := newAddress(t)
	at.Disk = 8 << 20
	p := soak.NewProcess(at.isolated(t), at.http())
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	c, s := follow(t, at, "c1"), replay.Of(servetest.Sim(t, 1, 10_000))
	rounds(t, c, s, 5)
	if stored := at.stored(t, 5); stored < 5 {
		t.Fatalf("got %v decisions stored with room, want 5", stored)
	}

	filler := fmt.Sprintf("/proc/%d/root%s", p.PID(), filepath.Join(at.Store, "filler"))
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.CopyBuffer(f, endless{}, make([]byte, 4096))
	if err == nil {
		t.Fatalf("the disk took %d bytes and is not full", n)
	}
	f.Close()
	at.fails(t, c, s)
	if code := at.alive(t); code != http.StatusOK {
		t.Errorf("healthz answers %d on a full disk, want 200: a restart would not help", code)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	at.recovers(t, c, s)
}

// fails plays rounds until the service says that it stores nothing.
func (a address) fails(t *testing.T, c *client.Client, s replay.Cluster) {
	t.Helper()
	for end := time.Now().Add(patience); a.stores(t); time.Sleep(20 * time.Millisecond) {
		rounds(t, c, s, 20)
		if time.Now().After(end) {
			t.Fatal("the disk takes nothing and the service does not say so")
		}
	}
}

// recovers waits until the service stores again and checks that it does.
func (a address) recovers(t *testing.T, c *client.Client, s replay.Cluster) {
	t.Helper()
	for end := time.Now().Add(patience); !a.stores(t); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the disk works again and the service does not store")
		}
	}
	stored := a.metric(t, storedMetric)
	rounds(t, c, s, 10)
	if got := a.stored(t, stored+5); got < stored+5 {
		t.Errorf("got %v decisions stored after the disk works again, want at least 5 more than %v", got, stored)
	}
	if n := a.metric(t, restartsMetric); n != 1 {
		t.Errorf("got %v restarts of the broker, want 1", n)
	}
}

// stores reports whether the service says that it stores.
func (a address) stores(t *testing.T) bool {
	t.Helper()
	return a.metric(t, healthyMetric) == 1
}

// stored waits until so many decisions are stored, or for patience, and returns
// how many are.
func (a address) stored(t *testing.T, want float64) float64 {
	t.Helper()
	got := 0.0
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = a.metric(t, storedMetric); got >= want {
			break
		}
	}
	return got
}

// endless is a source of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Writing to the broker's disk fails: decisions go on reaching the cluster, the
// broker is restarted once the disk works, and not before.
func TestFault21DiskFails(t *testing.T) {
	at := newAddress(t)
	p := soak.NewProcess(at.command(t), at.http())
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	c, s := follow(t, at, "c1"), replay.Of(servetest.Sim(t, 1, 10_000))
	rounds(t, c, s, 5)
	limit := func(soft uint64) {
		t.Helper()
		l := unix.Rlimit{Cur: soft, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(p.PID(), unix.RLIMIT_FSIZE, &l, nil); err != nil {
			t.Fatal(err)
		}
	}
	limit(0)
	at.fails(t, c, s)
	rounds(t, c, s, 20)
	if n := at.metric(t, restartsMetric); n != 0 {
		t.Errorf("got %v restarts of the broker while its disk fails, want none: they would not help", n)
	}
	limit(unix.RLIM_INFINITY)
	at.recovers(t, c, s)
}
