package tracing

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/yardmaster/yardmaster/serve/stage"
)

// clear removes what the machine may have set.
func clear(t *testing.T) {
	t.Helper()
	for _, name := range []string{"OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_SERVICE_NAME"} {
		t.Setenv(name, "")
	}
}

// Off is off: no provider, no tracer, nothing to close.
func TestOffByDefault(t *testing.T) {
	clear(t)
	for name, env := range map[string][2]string{
		"nothing":  {"OTEL_SERVICE_NAME", "x"},
		"none":     {"OTEL_TRACES_EXPORTER", "none"},
		"disabled": {"OTEL_SDK_DISABLED", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "disabled" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			}
			t.Setenv(env[0], env[1])
			p, err := Start(t.Context(), Config{})
			if err != nil || p != nil || p.Tracer() != nil {
				t.Errorf("got %v, %v", p, err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	clear(t)
	for _, endpoint := range []string{"127.0.0.1:4318", "ftp://x", "http://", "::"} {
		if _, err := Start(t.Context(), Config{Endpoint: endpoint}); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:4318") {
			t.Errorf("%s: got %v", endpoint, err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := Start(t.Context(), Config{Endpoint: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("grpc: got %v", err)
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "zipkin")
	if _, err := Start(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "zipkin") {
		t.Errorf("zipkin: got %v", err)
	}
}

// receiver is a collector that keeps what it gets.
type receiver struct {
	mu    sync.Mutex
	path  string
	spans []string // service/name
}

func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = zipped
	}
	data, err := io.ReadAll(body)
	var m collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.path = r.URL.Path
	for _, resource := range m.ResourceSpans {
		var service strings.Builder
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" || a.Key == "service.version" {
				service.WriteString(a.Value.GetStringValue() + "/")
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, service.String()+span.Name)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans come to a collector, named by the configuration or by the standard
// variables.
func TestCollector(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, url string) Config{
		"configured": func(_ *testing.T, url string) Config { return Config{Endpoint: url, Version: "1.2.3"} },
		"env": func(t *testing.T, url string) Config {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			return Config{Version: "1.2.3"}
		},
		"traces": func(t *testing.T, url string) Config {
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url+"/v1/traces")
			t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
			return Config{Version: "1.2.3"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			clear(t)
			c := new(receiver)
			server := httptest.NewServer(c)
			defer server.Close()
			p, err := Start(t.Context(), set(t, server.URL))
			if err != nil {
				t.Fatal(err)
			}
			r := stage.New(p.Tracer())
			ctx, whole := r.Start(t.Context(), stage.Decide)
			_, lp := r.Start(ctx, stage.LP)
			lp.End(nil)
			whole.End(nil)
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := []string{"yardmaster/1.2.3/yardmaster.lp", "yardmaster/1.2.3/yardmaster.decide"}; !slices.Equal(c.spans, want) || c.path != "/v1/traces" {
				t.Errorf("got %v at %s, want %v at /v1/traces", c.spans, c.path, want)
			}
		})
	}
}

// A collector that is away holds nothing up: what does not fit into the queue is
// dropped, and Close gives up with its context, or sooner.
func TestCollectorAway(t *testing.T) {
	clear(t)
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	p, err := Start(t.Context(), Config{Endpoint: server.URL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := stage.New(p.Tracer())
	for range 10_000 { // several times what is queued
		_, span := r.Start(t.Context(), stage.LP)
		span.End(nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- p.Close(ctx) }()
	select {
	case err := <-closed:
		t.Log("close:", err) // nil where the exporter had given up before
	case <-time.After(20 * time.Second):
		t.Error("Close does not end with its context")
	}
}

func TestExporterForTests(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	p, err := Start(t.Context(), Config{Exporter: exporter})
	if err != nil {
		t.Fatal(err)
	}
	_, span := stage.New(p.Tracer()).Start(t.Context(), stage.Queue)
	span.End(nil)
	if spans := exporter.GetSpans(); len(spans) != 1 || spans[0].Name != "yardmaster.queue" {
		t.Errorf("got %v", spans)
	}
}
