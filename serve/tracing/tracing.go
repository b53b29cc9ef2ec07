// Package tracing sends the spans of decisions to a collector of OpenTelemetry,
// over OTLP/HTTP. It is off unless an endpoint is given, by its configuration or
// by the standard environment variables:
//
//	OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT  where to; turns it on
//	OTEL_EXPORTER_OTLP_HEADERS, …_TIMEOUT, …_CERTIFICATE, …          as the exporter's documentation says
//	OTEL_TRACES_EXPORTER=otlp|none                                   on (to http://localhost:4318) or off
//	OTEL_SDK_DISABLED=true                                           off
//	OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES                      who sends; yardmaster
//	OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG                     which spans; all
//	OTEL_BSP_SCHEDULE_DELAY, OTEL_BSP_MAX_QUEUE_SIZE, …              how they are batched
//
// A collector that is away costs no decision: spans wait in a bounded queue and
// are then dropped.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope names the instrumentation in every span.
const scope = "github.com/yardmaster/yardmaster/serve"

// Config says where spans go. The zero value leaves it to the environment.
type Config struct {
	Endpoint string       // base URL of the collector, such as http://127.0.0.1:4318; wins over the environment
	Version  string       // of the service
	Logger   *slog.Logger // told of spans that could not be sent; nil discards

	// Exporter takes the spans instead of a collector, each at once: for tests.
	Exporter sdk.SpanExporter
}

// Provider makes spans and sends them. A nil Provider makes none. Close it.
type Provider struct{ sdk *sdk.TracerProvider }

// Start returns a provider, or nil where tracing is off.
func Start(ctx context.Context, cfg Config) (*Provider, error) {
	if cfg.Exporter == nil {
		switch on, err := cfg.enabled(); {
		case err != nil:
			return nil, err
		case !on:
			return nil, nil
		}
	}
	about, err := describe(ctx, cfg.Version)
	if err != nil {
		return nil, err
	}
	options := []sdk.TracerProviderOption{sdk.WithResource(about)}
	if cfg.Exporter != nil {
		options = append(options, sdk.WithSyncer(cfg.Exporter))
	} else {
		exporter, err := cfg.exporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("tracing: %w", err)
		}
		options = append(options, sdk.WithBatcher(exporter))
		if cfg.Logger != nil { // the library tells only one handler per process
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { cfg.Logger.Warn("tracing", "error", err) }))
		}
	}
	return &Provider{sdk.NewTracerProvider(options...)}, nil
}

// enabled reports whether spans are wanted.
func (c *Config) enabled() (bool, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	on := c.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	switch name := os.Getenv("OTEL_TRACES_EXPORTER"); name {
	case "":
	case "otlp":
		on = true
	case "none":
		on = c.Endpoint != ""
	default:
		return false, fmt.Errorf("tracing: OTEL_TRACES_EXPORTER is %q, want otlp or none", name)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); on && p != "" && p != "http/protobuf" {
			return false, fmt.Errorf("tracing: %s is %q, want http/protobuf: the other ones are not spoken here", name, p)
		}
	}
	return on, nil
}

func (c *Config) exporter(ctx context.Context) (sdk.SpanExporter, error) {
	if c.Endpoint == "" {
		return otlptracehttp.New(ctx)
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("endpoint is %q, want a URL such as http://127.0.0.1:4318", c.Endpoint)
	}
	// The endpoint is a base, as in OTEL_EXPORTER_OTLP_ENDPOINT.
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.JoinPath("v1", "traces").String()))
}

// describe says who sends the spans. The environment wins.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "yardmaster"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithProcessPID(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	return r, nil
}

// Tracer returns what makes spans, nil for none.
func (p *Provider) Tracer() trace.Tracer {
	if p == nil {
		return nil
	}
	return p.sdk.Tracer(scope)
}

// Close sends what waits, until ctx ends.
func (p *Provider) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if err := p.sdk.Shutdown(ctx); err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	return nil
}
