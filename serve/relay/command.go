package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// maxErrorBytes bounds what is kept of a command's standard error.
const maxErrorBytes = 64 << 10

// ErrTimeout is wrapped by the error of a command that did not end in time.
var ErrTimeout = errors.New("relay: command did not end in time")

// errOutput is the error of a command that prints too much.
var errOutput = errors.New("relay: command printed too much")

// command runs line in a shell and returns what it printed. Nothing of it is left
// when this returns: it has a process group of its own, which is killed. What it says
// on standard error is logged.
func (r *relay) command(ctx context.Context, line string, stdin []byte, env []string) ([]byte, error) {
	limit := r.cfg.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	c.Env = append(os.Environ(), env...)
	c.Stdin = bytes.NewReader(stdin)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Cancel = kill
	c.WaitDelay = time.Second // for who inherited the pipes and left the group
	out, errs := &bounded{max: wire.MaxBytes, full: cancel}, &bounded{max: maxErrorBytes}
	c.Stdout, c.Stderr = out, errs
	err := c.Run()
	if c.Process != nil {
		_ = kill() // what it left in the background; usually nobody is there
	}
	for said := range strings.Lines(errs.kept.String()) {
		if said = strings.TrimRight(said, "\r\n"); said != "" {
			r.cfg.Logger.Info("command says", "command", line, "text", strings.ToValidUTF8(said, "\uFFFD"))
		}
	}
	switch {
	case out.over:
		return nil, fmt.Errorf("%w: %q: more than %d bytes", errOutput, line, wire.MaxBytes)
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return nil, fmt.Errorf("%w: %q: killed after %v", ErrTimeout, line, limit)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return out.kept.Bytes(), fmt.Errorf("relay: %q: %w%s", line, err, errs.last())
	}
	return out.kept.Bytes(), nil
}

// bounded keeps what is written, up to max bytes. It does not embed the buffer,
// whose ReadFrom would know no bound.
type bounded struct {
	kept bytes.Buffer
	max  int
	over bool
	full func() // called where there is more; may be nil
}

// Write implements io.Writer. It never fails: a command should not see how much
// is kept.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.max - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	b.kept.Write(p[:room])
	if b.over = true; b.full != nil {
		b.full()
	}
	return len(p), nil
}

// last returns the last line, as the end of an error.
func (b *bounded) last() string {
	text := strings.TrimSpace(b.kept.String())
	if text == "" {
		return ""
	}
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return ": " + strings.ToValidUTF8(line[:min(len(line), 200)], "")
}
