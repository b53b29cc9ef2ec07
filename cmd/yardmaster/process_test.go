package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// processEnv makes the test binary the program: its arguments, a line each.
const processEnv = "YARDMASTER_TEST_PROCESS"

func TestMain(m *testing.M) {
	if args := os.Getenv(processEnv); args != "" {
		os.Args = append(os.Args[:1], strings.Split(args, "\n")...)
		main()
		return
	}
	os.Exit(m.Run())
}

// process is yardmaster as a process of its own, which signals can reach.
type process struct {
	*exec.Cmd
	run     string // directory, of a service
	mu      sync.Mutex
	records []map[string]any
	text    strings.Builder
	ended   chan struct{} // closed once its log has ended
}

// startProcess starts a process with these arguments; it does not outlive the
// test.
func startProcess(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Env = append(append(os.Environ(), env...), processEnv+"="+strings.Join(args, "\n"))
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.read(lines.Text())
		}
	}()
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			<-p.ended
			_ = p.Wait()
		}
	})
	return p
}

func (p *process) read(line string) {
	var record map[string]any
	err := json.Unmarshal([]byte(line), &record)
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(&p.text, line)
	if err == nil {
		p.records = append(p.records, record)
	}
}

// find returns the nth log record with this message, from 0, or nil.
func (p *process) find(msg string, n int) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.records {
		if r["msg"] == msg {
			if n == 0 {
				return r
			}
			n--
		}
	}
	return nil
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits for the nth log record with this message.
func (p *process) await(t testing.TB, msg string, n int) map[string]any {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if r := p.find(msg, n); r != nil {
			return r
		}
		select {
		case <-p.ended:
			if r := p.find(msg, n); r != nil {
				return r
			}
			t.Fatalf("the process ended before it logged %q:\n%s", msg, p.log())
		default:
		}
	}
	t.Fatalf("no %q within 30 s:\n%s", msg, p.log())
	return nil
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatalf("%v: %v:\n%s", s, err, p.log())
	}
}

// exit waits for the end and returns the exit code, negative of the signal that
// ended it.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	timer := time.AfterFunc(40*time.Second, func() { _ = p.Process.Signal(syscall.SIGABRT) }) // shows its goroutines
	defer timer.Stop()
	<-p.ended
	_ = p.Wait() // the state says it
	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int(status.Signal())
	}
	return p.ProcessState.ExitCode()
}

// serveProcess starts a service on free ports, and returns it with the URLs of
// its broker and its endpoint.
func serveProcess(t testing.TB, env []string, args ...string) (p *process, url, http string) {
	t.Helper()
	dir := t.TempDir()
	p = startProcess(t, env, append([]string{"serve", "--run", dir, "--store", filepath.Join(dir, "store"), "--port", "0", "--http", "127.0.0.1:0"}, args...)...)
	p.run = dir
	serving := p.await(t, "serving", 0)
	return p, serving["url"].(string), p.find("operations", 0)["url"].(string)
}
