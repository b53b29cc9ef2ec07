package serve_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// A decision is one span from its state's arrival, in the sender's trace, with its
// stages below it; the decision names it.
func TestDecisionsAreTraced(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	exporter := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	cfg := serve.Config{Guard: servetest.Guard(t), Tracer: provider.Tracer("test")}
	cfg.Guard.Hedge = -1 // the linear program runs beside the policy
	nc := start(t, cfg).nc
	decisions, err := nc.SubscribeSync("yardmaster.v1.decision.c1.allocation")
	if err != nil {
		t.Fatal(err)
	}
	body := servetest.Body(t, servetest.State(t, 1, 1))
	for name, ask := range map[string]func(*nats.Msg) (*nats.Msg, error){
		"yardmaster.v1.state.c1": func(m *nats.Msg) (*nats.Msg, error) {
			if err := nc.PublishMsg(m); err != nil {
				return nil, err
			}
			return decisions.NextMsg(patience)
		},
		"yardmaster.v1.svc.decide": func(m *nats.Msg) (*nats.Msg, error) { return nc.RequestMsg(m, 20*time.Second) },
	} {
		exporter.Reset()
		m := &nats.Msg{Subject: name, Data: body, Header: nats.Header{"traceparent": {"00-" + id + "-" + parent + "-01"}}}
		answer, err := ask(m)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"decide", "decode", "encode", "guard", "lp", "policy", "publish"}
		if name != "yardmaster.v1.svc.decide" {
			want = append(want, "queue")
		}
		spans := await(t, exporter, want)
		whole := spans["decide"]
		if whole.Parent.SpanID().String() != parent || whole.SpanContext.TraceID().String() != id {
			t.Errorf("%s: the decision's span is in trace %s below %s", name, whole.SpanContext.TraceID(), whole.Parent.SpanID())
		}
		for stage, above := range map[string]string{"decode": "decide", "guard": "decide", "encode": "decide", "publish": "decide", "policy": "guard", "lp": "guard"} {
			if got := spans[stage].Parent.SpanID(); got != spans[above].SpanContext.SpanID() {
				t.Errorf("%s: %s is not below %s", name, stage, above)
			}
		}
		if got := answer.Header["traceparent"]; !slices.Equal(got, []string{"00-" + id + "-" + whole.SpanContext.SpanID().String() + "-01"}) {
			t.Errorf("%s: the decision says %q", name, got)
		}
	}
}

// await waits until the exporter has spans of these stages, by stage.
func await(t *testing.T, exporter *tracetest.InMemoryExporter, want []string) map[string]tracetest.SpanStub {
	t.Helper()
	var names []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		spans := map[string]tracetest.SpanStub{}
		names = names[:0]
		for _, s := range exporter.GetSpans() {
			stage := strings.TrimPrefix(s.Name, "yardmaster.")
			spans[stage] = s
			names = append(names, stage)
		}
		if slices.Sort(names); slices.Equal(names, want) {
			return spans
		}
	}
	t.Fatalf("got spans %v, want %v", names, want)
	return nil
}
