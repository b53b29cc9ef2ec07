package stage_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/yardmaster/yardmaster/serve/stage"
)

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range stage.Stages() {
		if s.String() == "" || seen[s.String()] {
			t.Errorf("stage %d is called %q", s, s)
		}
		seen[s.String()] = true
	}
}

// Without a tracer, and without a recorder, stages allocate nothing, and the
// context stays as it is.
func TestNoTracerCostsNothing(t *testing.T) {
	header := map[string][]string{"traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	for name, r := range map[string]*stage.Recorder{"recorder": stage.New(nil), "nil": nil} {
		ctx := t.Context()
		allocs := testing.AllocsPerRun(100, func() {
			inner, span := r.Start(r.Extract(ctx, header), stage.Policy)
			span.State("c1", 1, 2)
			span.Decision("lp", "late", "m@1", 10, 5)
			r.Inject(inner, header)
			span.End(nil)
			if inner != ctx {
				t.Errorf("%s: the context changed", name)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: got %v allocations, want 0", name, allocs)
		}
	}
	if l := (*stage.Recorder)(nil).Latency(stage.LP); l.Count != 0 {
		t.Errorf("nil recorder counted %d", l.Count)
	}
}

// Every stage is counted once, by itself, from many goroutines.
func TestStagesAreCounted(t *testing.T) {
	r := stage.New(nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				_, span := r.StartAt(context.Background(), stage.LP, time.Now().Add(-time.Second))
				span.End(nil)
				_, span = r.Start(context.Background(), stage.Encode)
				span.End(errors.New("boom"))
				_, span = r.Trace(context.Background(), stage.Decide, time.Now())
				span.End(nil) // not counted
				r.Add(stage.Guard, time.Millisecond)
			}
		})
	}
	wg.Wait()
	for s, want := range map[stage.Stage]uint64{stage.LP: 400, stage.Encode: 400, stage.Guard: 400, stage.Policy: 0, stage.Decide: 0} {
		if l := r.Latency(s); l.Count != want {
			t.Errorf("%s: got %d, want %d", s, l.Count, want)
		}
	}
	if l := r.Latency(stage.LP); l.Sum < 400*time.Second {
		t.Errorf("LP: got a sum of %v, want at least 400 s", l.Sum)
	}
}

// Spans nest as contexts do, carry what they are about, and travel in headers:
// those of the sender become parents, those of the decision are the service's.
func TestSpans(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	r := stage.New(provider.Tracer("test"))
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, name := range []string{"traceparent", "Traceparent"} {
		exporter.Reset()
		start := time.Now().Add(-time.Minute)
		ctx, whole := r.StartAt(r.Extract(t.Context(), map[string][]string{name: {parent}, "x": nil}), stage.Decide, start)
		whole.State("c1", 7, 9)
		inner, policy := r.Start(ctx, stage.Policy)
		policy.End(errors.New("not finite"))
		out := map[string][]string{}
		r.Inject(inner, out)
		whole.End(nil)
		spans := exporter.GetSpans()
		if len(spans) != 2 || spans[0].Name != "yardmaster.policy" || spans[1].Name != "yardmaster.decide" {
			t.Fatalf("%s: got %d spans: %v", name, len(spans), spans)
		}
		if got := spans[1].Parent.SpanID().String(); got != "b7ad6b7169203331" {
			t.Errorf("%s: parent is %s", name, got)
		}
		if spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() || spans[0].Status.Code != codes.Error {
			t.Errorf("%s: policy has parent %s and status %v", name, spans[0].Parent.SpanID(), spans[0].Status)
		}
		if !spans[1].StartTime.Equal(start) {
			t.Errorf("%s: began at %v, want %v", name, spans[1].StartTime, start)
		}
		if want := "00-0af7651916cd43dd8448eb211c80319c-" + spans[0].SpanContext.SpanID().String() + "-01"; !slices.Equal(out["traceparent"], []string{want}) {
			t.Errorf("%s: sent on as %v, want %s", name, out, want)
		}
		attributes := map[string]string{}
		for _, a := range spans[1].Attributes {
			attributes[string(a.Key)] = a.Value.String()
		}
		if attributes["yardmaster.cluster"] != "c1" || attributes["yardmaster.state_seq"] != "9" {
			t.Errorf("%s: got %v", name, attributes)
		}
	}
}

func BenchmarkStage(b *testing.B) {
	r := stage.New(nil)
	b.ReportAllocs()
	for b.Loop() {
		_, span := r.Start(b.Context(), stage.Policy)
		span.End(nil)
	}
}
