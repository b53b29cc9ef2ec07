package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/ops"
	"github.com/yardmaster/yardmaster/serve/settings"
	"github.com/yardmaster/yardmaster/serve/systemd"
	"github.com/yardmaster/yardmaster/serve/tracing"
)

func newServe() *cobra.Command {
	var flags settingFlagSet
	c := &cobra.Command{
		Use:   "serve --run run",
		Short: "Decide for clusters over NATS",
		Long: `Decide for clusters over NATS. Clusters publish their state; the service publishes
an allocation for every state and a configuration for every hour of the cluster's
clock, and answers requests. The learned policy decides under a deadline; every
decision is validated; where it is late, invalid or fails, the linear program
answers and the decision says why.

Without --nats the service starts a broker of its own on 127.0.0.1. With an empty
or missing model it decides by the linear program alone.

With --http 127.0.0.1:8088 it shows itself on a page, and answers probes (/healthz,
/readyz), Prometheus (/metrics) and the Open Inference protocol (/v2).

Everything can also be said in a file (--config) or by environment variables: a
flag wins over a variable, that over the file, that over the default.

  yardmaster config print --resolved         every setting, its value and who gave it
  kill -HUP $(pidof yardmaster)              read the file again; a wrong one changes nothing
  nats req yardmaster.v1.svc.status ''       what the service did so far
  nats req yardmaster.v1.svc.validate <FILE  all that is wrong with a state
  nats req yardmaster.v1.svc.explain <FILE   why the jobs of a state got what they got
  nats micro list                            the service among others

SIGTERM and SIGINT drain: what is being decided is finished, published and stored,
then the service exits with 0. A second one ends it at once.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runServe(c.Context(), c.ErrOrStderr(), flags.load)
		},
	}
	flags.add(c.Flags())
	return c
}

// runServe serves until ctx ends, or fails. load reads the settings, now and
// whenever SIGHUP comes.
func runServe(ctx context.Context, stderr io.Writer, load func() (*settings.Resolved, error)) error {
	// From the first moment: without a handler the signal ends the process.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	r, err := load()
	if err != nil {
		return usageError{err}
	}
	if r.Config.Run == "" {
		return usageError{errors.New("run is missing: --run, YM_RUN or run: in the file of --config; a folder without models will do, then the linear program decides")}
	}
	level := new(slog.LevelVar)
	logger, err := newLogger(stderr, r.Config.Log, level)
	if err != nil {
		return err
	}
	for _, note := range r.Notes {
		logger.Warn("environment", "note", note)
	}
	s := &service{settings: r, load: load, level: level, logger: logger}
	err = s.start(ctx)
	if err == nil {
		s.wait(ctx, hangup)
	} else if ctx.Err() != nil {
		logger.Info("told to stop while starting", "error", err)
		err = nil
	}
	return errors.Join(err, s.close())
}

// service is a running yardmaster serve.
type service struct {
	settings *settings.Resolved
	load     func() (*settings.Resolved, error)
	level    *slog.LevelVar
	logger   *slog.Logger

	server   *serve.Server
	served   atomic.Pointer[[]inference.Served] // models of the run
	endpoint *ops.Endpoint                      // nil without one
	spans    *tracing.Provider                  // nil without one
	stop     context.CancelFunc
	watched  chan struct{} // closed when the watchdog is no longer fed
}

// tracesTimeout bounds how long the end waits for a collector.
const tracesTimeout = 3 * time.Second

func (s *service) start(ctx context.Context) (err error) {
	c := &s.settings.Config
	if s.spans, err = tracing.Start(ctx, tracing.Config{Endpoint: c.Tracing.Endpoint, Version: version, Logger: s.logger}); err != nil {
		return err
	}
	cfg, served, err := assemble(c, s.logger)
	if err != nil {
		return err
	}
	s.served.Store(&served)
	cfg.Tracer = s.spans.Tracer()
	if s.server, err = serve.New(cfg); err != nil {
		return err
	}
	// Before the service: probes see it start, and see why it does not.
	if c.HTTP.Addr != "" {
		var models inference.Source
		token, err := c.HTTP.Token()
		if err != nil {
			return err
		}
		if c.HTTP.Infer {
			models = s.networks
		}
		s.endpoint, err = ops.Start(ops.Config{Service: s.server, Addr: c.HTTP.Addr, Pprof: c.HTTP.Pprof, Token: token, Models: models, Logger: s.logger})
		if err != nil {
			return err
		}
		s.logger.Info("operations", "url", s.endpoint.URL(), "pprof", c.HTTP.Pprof)
		if c.HTTP.Public() && token == "" {
			s.logger.Warn("whoever reaches the endpoint may look: give http.token_file, or a loopback address", "url", s.endpoint.URL())
		}
	}
	if err := s.server.Start(ctx); err != nil {
		return err
	}
	s.logger.Info("serving", "url", s.server.URL(), "model", cfg.Guard.ModelName, "configurer", cfg.Guard.ConfigurerName, "config", s.settings.File)
	if c.URLFile != "" {
		if err := renameio.WriteFile(c.URLFile, []byte(s.server.URL()), 0o644); err != nil {
			return fmt.Errorf("url_file: %w", err)
		}
	}
	s.watch()
	return nil
}

// networks returns the models that can be asked over HTTP.
func (s *service) networks() []inference.Served {
	return append(s.server.Networks(), *s.served.Load()...)
}

// watch tells systemd that the service is ready and, again and again, alive.
func (s *service) watch() {
	if err := systemd.Ready("serving on " + s.server.URL()); err != nil {
		s.logger.Warn("systemd", "error", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.watched = stop, make(chan struct{})
	go func() {
		defer close(s.watched)
		// What is asked needs the locks that every decision needs.
		if err := systemd.Watchdog(ctx, func() error { s.server.Stats(); return nil }); err != nil {
			s.logger.Warn("systemd", "error", err)
		}
	}()
}

// wait returns when ctx ends.
func (s *service) wait(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			s.reload()
		}
	}
}

// close drains and ends what was started, the endpoint last, so that probes see
// it drain.
func (s *service) close() error {
	var errs []error
	if s.server != nil {
		if err := systemd.Stopping(); err != nil {
			s.logger.Warn("systemd", "error", err)
		}
		stats := s.server.Stats()
		s.logger.Info("stopping", "allocations", stats.Allocations, "configurations", stats.Configurations, "by_source", stats.BySource, "fallbacks", stats.Fallbacks)
		errs = append(errs, s.server.Close())
	}
	if s.stop != nil {
		s.stop()
		<-s.watched
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesTimeout)
	defer cancel()
	if err := s.spans.Close(ctx); err != nil { // spans are worth no failure
		s.logger.Warn("spans not sent", "error", err)
	}
	if s.endpoint != nil {
		if err := s.endpoint.Close(); err != nil {
			s.logger.Warn("operations endpoint", "error", err)
		}
	}
	return errors.Join(errs...)
}
