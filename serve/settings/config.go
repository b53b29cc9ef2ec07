package settings

import (
	"github.com/yardmaster/yardmaster/serve"
)

// Config is what the settings say. Policies and models are named here and
// loaded by the command.
type Config struct {
	Run      string // run directory whose models decide
	Fallback string // policy that answers where the learned one does not
	URLFile  string // where the broker's URL is written once the service takes states

	Log     Log
	NATS    NATS
	HTTP    HTTP
	Tracing Tracing

	Serve serve.Config // all but its policies, logger and NATS options
}

// Log is what is logged, and how.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // auto, text or json
}

// HTTP is the endpoint for operators.
type HTTP struct {
	Addr  string // host:port; "" is none
	Pprof bool   // profiles; Addr must be loopback
	Infer bool   // the infer path of the Open Inference protocol
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint string // base URL of an OTLP/HTTP collector; "" leaves it to OTEL_…
}
