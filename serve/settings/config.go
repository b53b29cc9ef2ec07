package settings

import (
	"fmt"
	"net"

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
	Addr      string // host:port; "" is none
	Pprof     bool   // profiles; Addr must be loopback
	TokenFile string // holds the token that all but probes need; "" asks for none
	Infer     bool   // the infer path of the Open Inference protocol
}

// Public reports whether other machines may reach the endpoint.
func (h *HTTP) Public() bool {
	host, _, err := net.SplitHostPort(h.Addr)
	return err == nil && !Loopback(host)
}

// Token returns the token in TokenFile, "" without one.
func (h *HTTP) Token() (string, error) {
	if h.TokenFile == "" {
		return "", nil
	}
	token, err := ReadSecret(h.TokenFile)
	if err != nil {
		return "", fmt.Errorf("http.token_file: %w", err)
	}
	return token, nil
}

// Tracing says where spans go.
type Tracing struct {
	Endpoint string // base URL of an OTLP/HTTP collector; "" leaves it to OTEL_…
}
