// Package stage measures where the time of a decision goes. A stage is measured
// once: its duration is counted for the metrics and, where spans are wanted,
// becomes a span of OpenTelemetry.
//
// Without a tracer a stage costs two looks at the clock and one count, and
// allocates nothing. A nil Recorder measures nothing.
package stage

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Stage is one part of the way from a state to its decision.
type Stage int

// The stages, in the order in which they begin.
const (
	Decide  Stage = iota // all of it, from the state's arrival; counted once its decision is made, and traced until that is published
	Queue                // the state waits for its turn
	Decode               // bytes to state, with all checks
	Guard                // the guard chooses among the policies' answers
	Policy               // the learned policy: features, network, picks
	LP                   // the linear program
	Greedy               // the heuristic
	Encode               // decision to bytes
	Publish              // bytes to NATS; storing goes on beside it
	count
)

var names = [count]string{"decide", "queue", "decode", "guard", "policy", "lp", "greedy", "encode", "publish"}

// String returns the name that metrics and spans have for it.
func (s Stage) String() string { return names[s] }

// Stages returns all stages in order.
func Stages() []Stage {
	list := make([]Stage, count)
	for i := range list {
		list[i] = Stage(i)
	}
	return list
}

// Recorder measures stages. It is safe for concurrent use.
type Recorder struct {
	tracer trace.Tracer // nil makes no spans
	stages [count]struct {
		mu sync.Mutex
		Histogram
	}
}

// New returns a recorder; a nil tracer makes no spans.
func New(tracer trace.Tracer) *Recorder { return &Recorder{tracer: tracer} }

// Span is a stage that goes on. End it once. The zero value is a stage that
// nobody measures.
type Span struct {
	recorder *Recorder
	stage    Stage
	start    time.Time
	counted  bool
	span     trace.Span // nil without a tracer
}

// Start begins a stage; ctx carries the span above it, the returned one this.
func (r *Recorder) Start(ctx context.Context, s Stage) (context.Context, Span) {
	if r == nil {
		return ctx, Span{}
	}
	return r.StartAt(ctx, s, time.Now())
}

// StartAt begins a stage that began at another time.
func (r *Recorder) StartAt(ctx context.Context, s Stage, start time.Time) (context.Context, Span) {
	ctx, span := r.Trace(ctx, s, start)
	span.counted = true
	return ctx, span
}

// Trace begins a stage that is traced and not counted: Add does that.
func (r *Recorder) Trace(ctx context.Context, s Stage, start time.Time) (context.Context, Span) {
	if r == nil {
		return ctx, Span{}
	}
	span := Span{recorder: r, stage: s, start: start}
	if r.tracer != nil {
		kind := trace.SpanKindInternal
		if s == Decide {
			kind = trace.SpanKindConsumer
		}
		ctx, span.span = r.tracer.Start(ctx, "yardmaster."+s.String(), trace.WithTimestamp(start), trace.WithSpanKind(kind))
	}
	return ctx, span
}

// End ends the stage. A stage that failed is counted like one that did not.
func (s Span) End(err error) {
	if s.recorder == nil {
		return
	}
	now := time.Now()
	if s.counted {
		s.recorder.Add(s.stage, now.Sub(s.start))
	}
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.RecordError(err)
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End(trace.WithTimestamp(now))
}

// Add counts a stage that took so long.
func (r *Recorder) Add(s Stage, took time.Duration) {
	if r == nil {
		return
	}
	h := &r.stages[s]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Histogram.Add(took)
}

// Quantile returns the q-quantile of a stage in microseconds, 0 if it never
// happened.
func (r *Recorder) Quantile(s Stage, q float64) float64 {
	if r == nil {
		return 0
	}
	h := &r.stages[s]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Histogram.Quantile(q)
}

// Latency returns how long a stage took.
func (r *Recorder) Latency(s Stage) Latency {
	if r == nil {
		return Latency{}
	}
	h := &r.stages[s]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Cumulative()
}
