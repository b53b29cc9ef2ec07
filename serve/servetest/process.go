package servetest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// partEnv makes a test binary play a part instead of running tests.
const partEnv = "YARDMASTER_TEST_PART"

// A Part is what a process of a test does; it returns the exit code.
type Part func(args []string) int

// Play plays the part that this process was started for and does not return, or
// returns at once in a process that runs tests. TestMain calls it first.
func Play(parts map[string]Part) {
	text := os.Getenv(partEnv)
	if text == "" {
		return
	}
	name, rest, _ := strings.Cut(text, "\n")
	if name == natsPart {
		os.Exit(natsServer(strings.Split(rest, "\n")))
	}
	part := parts[name]
	if part == nil {
		fmt.Fprintf(os.Stderr, "servetest: no part %q\n", name)
		os.Exit(2)
	}
	os.Exit(part(strings.Split(rest, "\n")))
}

// Process is a process of a test, ended with it.
type Process struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string // of its standard output
	ended bool
}

// Start runs the test binary again, in a part that TestMain gave to Play.
func Start(t testing.TB, part string, args ...string) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, cmd: exec.Command(exe), lines: make(chan string, 1<<16)}
	p.cmd.Env = append(os.Environ(), partEnv+"="+strings.Join(append([]string{part}, args...), "\n"))
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(p.Kill)
	return p
}

// Lines is what the process writes to its standard output, closed at its end.
func (p *Process) Lines() <-chan string { return p.lines }

// Kill ends the process as a power cut would: nothing of it runs any more.
func (p *Process) Kill() {
	if p.ended {
		return
	}
	p.ended = true
	p.Signal(syscall.SIGKILL)
	for range p.lines { // closed before Wait, which closes the pipe
	}
	_ = p.cmd.Wait() // its error says that it was killed
}

// Stop freezes the process; Continue lets it go on.
func (p *Process) Stop() { p.Signal(syscall.SIGSTOP) }

// Continue lets a stopped process go on.
func (p *Process) Continue() { p.Signal(syscall.SIGCONT) }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %v: %v", s, err)
	}
}

const natsPart = "nats-server"

// NATS is a nats-server in a process of its own.
type NATS struct {
	*Process
	URL  string
	args []string
}

// StartNATS starts a nats-server with JetStream, every write synced, and returns
// once it takes clients. A payload of 0 is the server's default, 1 MiB.
func StartNATS(t testing.TB, maxPayload int) *NATS {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	n := &NATS{URL: "nats://127.0.0.1:" + port, args: []string{port, t.TempDir(), strconv.Itoa(maxPayload)}}
	n.Restart(t)
	return n
}

// Restart starts a server that was killed again: the same address and folder.
func (n *NATS) Restart(t testing.TB) {
	t.Helper()
	n.Process = Start(t, natsPart, n.args...)
	select {
	case line, ok := <-n.Lines():
		if !ok || line != "ready" {
			t.Fatalf("nats-server: got %q", line)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nats-server is not ready")
	}
}

func natsServer(args []string) int {
	port, _ := strconv.Atoi(args[0])
	payload, _ := strconv.Atoi(args[2])
	s, err := server.NewServer(&server.Options{
		ServerName: "external", Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[1], SyncAlways: true,
		MaxPayload: int32(payload), NoSigs: true, NoLog: true, NoSystemAccount: true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return 1
	}
	fmt.Println("ready")
	s.WaitForShutdown()
	return 0
}
