package serve

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/stage"
)

// Check is one condition of being ready.
type Check struct {
	Name string // stable
	Err  error  // nil where it holds
}

// Names of the checks.
const (
	CheckServing     = "serving"     // started and not draining
	CheckNATS        = "nats"        // connected, or lost for less than Config.UnreadyAfter
	CheckStream      = "stream"      // the stream of decisions was found or made after the last reconnect
	CheckPermissions = "permissions" // NATS denied nothing but replies since the last reconnect
)

var (
	errStarting = errors.New("starting")
	errDraining = errors.New("draining")
	errChecking = errors.New("being checked after a reconnect")
)

// health is what readiness depends on. It is safe for concurrent use: NATS
// calls it from goroutines of its own.
type health struct {
	mu         sync.Mutex
	started    bool
	draining   bool
	lostAt     time.Time // zero while connected
	stream     error
	permission error
}

func (h *health) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

func (h *health) begin() { h.set(func() { h.started = true }) }
func (h *health) drain() { h.set(func() { h.draining = true }) }
func (h *health) lost()  { h.set(func() { h.lostAt = time.Now() }) }

// up notes a reconnect. The stream may be gone with the old broker, and
// permissions may have changed: what is still denied is denied again.
func (h *health) up() {
	h.set(func() { h.lostAt, h.stream, h.permission = time.Time{}, errChecking, nil })
}

func (h *health) checked(err error) { h.set(func() { h.stream = err }) }

func (h *health) denied(err error) { h.set(func() { h.permission = err }) }

// failed handles an error that NATS reports by itself. What is denied is told
// once per subject: it is denied again with every state.
func (s *Server) failed(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		s.cfg.Logger.Warn("NATS", "error", err)
		return
	}
	subject := deniedSubject(err)
	if s.isReply(err, subject) {
		if s.handler.stats.deny(deniedReplies) {
			s.cfg.Logger.Warn("NATS denies an answer where it was asked for; more of these are counted only", "subject", subject, "error", err)
		}
		return
	}
	s.health.denied(err)
	if s.handler.stats.deny(subject) {
		s.cfg.Logger.Error("NATS denies what the service needs", "subject", subject, "error", err)
	}
	if abort := s.abort.Load(); abort != nil {
		(*abort)(err)
	}
}

// deniedReplies stands in the counters for all subjects that askers chose: any number.
const deniedReplies = "(replies)"

// isReply reports whether what is denied is an answer where somebody asked for it:
// who asks must not be able to make the service not ready.
func (s *Server) isReply(err error, subject string) bool {
	return strings.Contains(err.Error(), "Publish to") && s.subjects.MayReply(subject)
}

// deniedSubject returns the subject that a permissions violation is about. The
// client library has it only in the text, between quotes.
func deniedSubject(err error) string {
	_, rest, ok := strings.Cut(err.Error(), `"`)
	subject, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		return "unknown"
	}
	return subject
}

// checks returns all checks in a fixed order.
func (h *health) checks(grace time.Duration) []Check {
	h.mu.Lock()
	defer h.mu.Unlock()
	serving := Check{Name: CheckServing}
	switch {
	case h.draining:
		serving.Err = errDraining
	case !h.started:
		serving.Err = errStarting
	}
	connected := Check{Name: CheckNATS}
	if away := time.Since(h.lostAt); !h.lostAt.IsZero() && away >= grace {
		connected.Err = fmt.Errorf("disconnected for %v", away.Round(time.Second))
	}
	return []Check{serving, connected, {CheckStream, h.stream}, {CheckPermissions, h.permission}}
}

// Checks returns what being ready depends on: it is ready where no check has an
// error. A missing model is none: the linear program decides.
func (s *Server) Checks() []Check { return s.health.checks(s.cfg.UnreadyAfter) }

// Connection tells about the connection to NATS: whether it stands, and how
// often it was made again.
func (s *Server) Connection() (connected bool, reconnects uint64) {
	if !s.whole.Load() {
		return false, 0
	}
	return s.nc.IsConnected(), s.nc.Stats().Reconnects
}

// LastStates returns when each known cluster sent its last state.
func (s *Server) LastStates() map[string]time.Time {
	if !s.whole.Load() {
		return nil
	}
	return s.intake.known.seen()
}

// Latency returns how long a stage of decisions took.
func (s *Server) Latency(of stage.Stage) stage.Latency { return s.handler.stages.Latency(of) }
