package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/page"
	"github.com/yardmaster/yardmaster/serve/stage"
)

// Bounds of a connection. A CPU profile takes 30 s unless asked otherwise.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 2 * time.Minute
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
	closeTimeout  = 5 * time.Second
)

// Service is what the endpoint tells about; *serve.Server is one.
type Service interface {
	Checks() []serve.Check
	Stats() serve.Stats
	Latency(stage.Stage) stage.Latency
	Connection() (connected bool, reconnects uint64)
	LastStates() map[string]time.Time
	Overview() serve.Overview
}

// Config configures an endpoint. Service and Addr must be given; the zero value
// of every other field is its default.
type Config struct {
	Service Service
	Addr    string // host:port; port 0 takes a free one
	Pprof   bool   // serve profiles below /debug/pprof; Addr must be loopback
	Token   string // without which only probes are answered; "" asks for none
	// Models are what the Open Inference protocol can ask; nil answers no such
	// request.
	Models inference.Source
	Logger *slog.Logger // nil discards
}

func (c *Config) validate() error {
	var errs []error
	if c.Service == nil {
		errs = append(errs, errors.New("ops: config: Service is nil, want one"))
	}
	host, _, err := net.SplitHostPort(c.Addr)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("ops: config: Addr is %q, want host:port such as 127.0.0.1:8088", c.Addr))
	case c.Pprof && !loopback(host):
		errs = append(errs, fmt.Errorf("ops: config: Addr is %q, want a loopback address such as 127.0.0.1:8088: profiles tell everything about the process", c.Addr))
	}
	return errors.Join(errs...)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Endpoint is a running HTTP server. Close it.
type Endpoint struct {
	server *http.Server
	addr   net.Addr
	done   chan error
}

// Start listens and serves until Close.
func Start(cfg Config) (*Endpoint, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("ops: listen on %s: %w", cfg.Addr, err)
	}
	e := &Endpoint{addr: l.Addr(), done: make(chan error, 1), server: &http.Server{
		Handler:           Handler(cfg),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}}
	go func() { e.done <- e.server.Serve(l) }()
	return e, nil
}

// URL returns where it listens.
func (e *Endpoint) URL() string { return "http://" + e.addr.String() }

// Close finishes the requests in work, for up to five seconds, and stops.
func (e *Endpoint) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if err != nil { // a profile that takes longer
		err = errors.Join(err, e.server.Close())
	}
	if served := <-e.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Handler answers the endpoint's requests. Only GET and HEAD are answered, and
// POST where a network is evaluated.
func Handler(cfg Config) http.Handler {
	mux, s := http.NewServeMux(), cfg.Service
	live := func(w http.ResponseWriter, _ *http.Request) { tell(w, http.StatusOK, "ok\n") }
	ready := func(w http.ResponseWriter, r *http.Request) { tellReady(w, r, s.Checks()) }
	mux.HandleFunc("GET /healthz", live)
	mux.HandleFunc("GET /readyz", ready)
	// Those of the Open Inference protocol, which gives both answers one field.
	mux.HandleFunc("GET /v2/health/live", func(w http.ResponseWriter, _ *http.Request) { tellLive(w, true) })
	mux.HandleFunc("GET /v2/health/ready", func(w http.ResponseWriter, _ *http.Request) { tellLive(w, holds(s.Checks())) })
	if cfg.Models != nil {
		inference.New(cfg.Models, s.Stats().Version).Register(mux)
	}
	page.Register(mux, s)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry(s), promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	if cfg.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return guarded(cfg.Token, mux)
}

func holds(checks []serve.Check) bool {
	return !slices.ContainsFunc(checks, func(c serve.Check) bool { return c.Err != nil })
}

func tellLive(w http.ResponseWriter, live bool) {
	code := http.StatusOK
	if !live {
		code = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]bool{"live": live})
}

// tellReady answers 200 where all checks hold, else 503 and those that do not.
// With ?verbose it lists all, as Kubernetes does.
func tellReady(w http.ResponseWriter, r *http.Request, checks []serve.Check) {
	code, verbose := http.StatusOK, r.URL.Query().Has("verbose")
	var b strings.Builder
	for _, c := range checks {
		switch {
		case c.Err != nil:
			code = http.StatusServiceUnavailable
			fmt.Fprintf(&b, "[-]%s: %v\n", c.Name, c.Err)
		case verbose:
			fmt.Fprintf(&b, "[+]%s ok\n", c.Name)
		}
	}
	if code == http.StatusOK {
		b.WriteString("ok\n")
	} else {
		b.WriteString("not ready\n")
	}
	tell(w, code, b.String())
}

func tell(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // a reader that went away is its own concern
}
