package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Handler answers states: bytes in, bytes out, no transport. It is safe for
// concurrent use.
type Handler struct {
	guard  *roster
	stats  *recorder
	events *events // of a Server; nil tells nobody
	stages *stage.Recorder
	recent *recent
	logger *slog.Logger
}

// NewHandler returns the handler of a service with this configuration; it reads
// only Guard, Models, Version and Logger. Models of a repository or bucket are
// loaded when a Server starts: until then the linear program decides.
func NewHandler(cfg Config) (*Handler, error) {
	cfg.fillDefaults()
	r, err := newRoster(&cfg)
	if err != nil {
		return nil, err
	}
	return &Handler{guard: r, stats: newRecorder(cfg.Version, cfg.Guard.ModelName), stages: cfg.stages, recent: new(recent), logger: cfg.Logger}, nil
}

// Decide answers one state message with one allocation message. Its error is a
// *wire.Error, the body of the error reply.
func (h *Handler) Decide(ctx context.Context, body []byte) ([]byte, error) {
	received := time.Now()
	ctx, span := h.stages.Trace(ctx, stage.Decide, received)
	s, err := h.decode(ctx, body)
	if err != nil {
		span.End(err)
		return nil, err
	}
	_, data, err := h.allocate(guard.Requested(ctx), s, received)
	span.End(err)
	return data, err
}

// decode reads a state and counts a refusal.
func (h *Handler) decode(ctx context.Context, body []byte) (*wire.State, error) {
	_, span := h.stages.Start(ctx, stage.Decode)
	s, err := wire.DecodeState(body)
	span.End(err)
	if err != nil {
		h.stats.refuse(asRefusal(err).Code)
		return nil, err
	}
	if refusal := h.guard.refuses(s.Cluster); refusal != nil {
		h.stats.refuse(refusal.Code)
		refusal.Epoch, refusal.StateSeq = s.Epoch, s.Seq
		return nil, refusal
	}
	return s, nil
}

// allocate decides on a valid state.
func (h *Handler) allocate(ctx context.Context, s *wire.State, received time.Time) (*wire.Allocation, []byte, error) {
	guarded, span := h.stages.Start(ctx, stage.Guard)
	d := h.guard.Decide(guarded, s)
	span.State(s.Cluster, s.Epoch, s.Seq)
	span.Decision(string(d.Message.Source), string(d.Message.Reason), d.Message.Model, len(s.State.Jobs), len(d.Message.Picks))
	span.End(nil)
	_, span = h.stages.Start(ctx, stage.Encode)
	data, err := wire.Encode(d.Message)
	span.End(err)
	if err != nil { // only a decision larger than any message
		h.stats.refuse(wire.CodeInternal)
		refusal := wire.Errorf(wire.CodeInternal, "", "%v", err)
		refusal.Epoch, refusal.StateSeq = s.Epoch, s.Seq
		return nil, nil, refusal
	}
	h.stages.Add(stage.Decide, time.Since(received))
	h.stats.decide(d)
	h.recent.add(&d, s, received)
	h.logger.Debug("allocation", "id", d.Message.ID, "jobs", len(s.State.Jobs), "running", len(d.Message.Picks),
		"source", d.Message.Source, "reason", d.Message.Reason, "took", time.Since(received))
	return d.Message, data, nil
}

// configure decides on a configuration for a valid state, or returns nil.
func (h *Handler) configure(ctx context.Context, s *wire.State, window time.Duration) (*wire.Configuration, []byte) {
	c, model, reason, err := h.guard.Configure(ctx, s)
	h.stats.configure(reason)
	if err != nil {
		h.logger.Warn("no configuration", "cluster", s.Cluster, "seq", s.Seq, "reason", reason, "error", err)
		return nil, nil
	}
	m := &wire.Configuration{
		Schema: wire.ConfigurationSchema, Cluster: s.Cluster, Epoch: s.Epoch, StateSeq: s.Seq,
		ID:    wire.DecisionID(s.Key(), wire.KindConfiguration),
		Model: model, Now: s.State.Now, Window: window, Configuration: c,
	}
	data, err := wire.Encode(m)
	if err != nil { // only a configuration larger than any message
		h.logger.Warn("configuration not sent", "id", m.ID, "error", err)
		return nil, nil
	}
	h.logger.Debug("configuration", "id", m.ID, "configuration", c.String())
	return m, data
}

// asRefusal returns err as the body of an error reply.
func asRefusal(err error) *wire.Error {
	if e, ok := err.(*wire.Error); ok {
		return e
	}
	return wire.Errorf(wire.CodeInternal, "", "%v", err)
}
