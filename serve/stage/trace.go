package stage

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
)

// State says which state a span is about.
func (s Span) State(cluster string, epoch, seq uint64) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(
		attribute.String("yardmaster.cluster", cluster),
		attribute.Int64("yardmaster.epoch", int64(epoch)), // below 2^53
		attribute.Int64("yardmaster.state_seq", int64(seq)),
	)
}

// Decision says what was decided, by whom, and why not by the learned policy.
func (s Span) Decision(source, reason, model string, jobs, running int) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(
		attribute.String("yardmaster.source", source),
		attribute.String("yardmaster.reason", reason),
		attribute.String("yardmaster.model", model),
		attribute.Int("yardmaster.jobs", jobs),
		attribute.Int("yardmaster.running", running),
	)
}

// format is how spans travel: the headers traceparent and tracestate of the W3C.
var format propagation.TraceContext

// Extract returns ctx with the span that the headers of a message name, if they
// name one and spans are wanted.
func (r *Recorder) Extract(ctx context.Context, header map[string][]string) context.Context {
	if r == nil || r.tracer == nil || len(header) == 0 {
		return ctx
	}
	return format.Extract(ctx, carrier(header))
}

// Inject writes the span of ctx into the headers of a message, if there is one.
func (r *Recorder) Inject(ctx context.Context, header map[string][]string) {
	if r == nil || r.tracer == nil {
		return
	}
	format.Inject(ctx, carrier(header))
}

// carrier is the headers of a NATS message, whose names are kept as they were
// written: clients write traceparent and Traceparent.
type carrier map[string][]string

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	if v := c[key]; len(v) > 0 {
		return v[0]
	}
	if v := c[strings.ToUpper(key[:1])+key[1:]]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { c[key] = []string{value} }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}
