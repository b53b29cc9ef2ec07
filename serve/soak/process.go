package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// startLimit bounds how long a process may take to be ready.
const startLimit = 60 * time.Second

// Process is the service in a process of its own, started again and again.
type Process struct {
	command func() *exec.Cmd // not started
	ready   string           // URL that answers 200 once it serves

	mu      sync.Mutex
	cmd     *exec.Cmd
	started time.Time
	exited  chan error
}

// NewProcess returns a process that is not started. Command makes it; at the URL
// http it answers readiness probes.
func NewProcess(command func() *exec.Cmd, http string) *Process {
	return &Process{command: command, ready: http + "/readyz"}
}

// Start starts the process and waits until it is ready.
func (p *Process) Start(ctx context.Context) error {
	cmd := p.command()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("soak: start the service: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	p.mu.Lock()
	p.cmd, p.started, p.exited = cmd, time.Now(), exited
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		if _, err := fetch(ctx, p.ready); err == nil {
			return nil
		}
		select {
		case err := <-exited:
			exited <- err
			return fmt.Errorf("soak: the service ended before it was ready: %w", errors.Join(errEnded, err))
		case <-ctx.Done():
			return fmt.Errorf("soak: the service is not ready: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

var errEnded = errors.New("process ended")

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(s) // an error says that it has ended, which Start and Stop report
}

// Kill ends the process as a power cut would: nothing of it runs any more.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// Stop asks the process to end and returns how it did.
func (p *Process) Stop(limit time.Duration) error {
	p.Signal(syscall.SIGTERM)
	select {
	case err := <-p.exited:
		return err
	case <-time.After(limit):
		p.Kill()
		return fmt.Errorf("soak: the service did not end within %v of SIGTERM", limit)
	}
}

// PID returns the id of the process.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// birth returns when the process was started.
func (p *Process) birth() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started
}

// fetch returns the body of an answer with status 200.
func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return body, err
}
