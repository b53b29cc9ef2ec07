package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/ops"
	"github.com/yardmaster/yardmaster/train/tune"
)

type serveFlags struct {
	run      string
	fallback string
	store    string
	port     int
	nats     string
	urlFile  string
	prefix   string
	deadline time.Duration
	window   time.Duration
	delay    time.Duration
	http     string
	pprof    bool
	format   string
	verbose  bool
}

func newServe() *cobra.Command {
	var flags serveFlags
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

With --http it answers probes (/healthz, /readyz) and Prometheus (/metrics).

  nats req yardmaster.v1.svc.status ''       what the service did so far
  nats micro list                            the service among others`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "run"); err != nil {
				return err
			}
			return runServe(c.Context(), c.ErrOrStderr(), flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.run, "run", "", "run directory whose models decide")
	f.StringVar(&flags.fallback, "fallback", "lp:throughput", "linear program that answers where the learned policy does not")
	f.StringVar(&flags.store, "store", "", "folder of the broker's streams (default RUN/store)")
	f.IntVar(&flags.port, "port", 4222, "port of the broker on 127.0.0.1; 0 takes a free one")
	f.StringVar(&flags.nats, "nats", "", "URL of an external NATS server or cluster, instead of the own broker")
	f.StringVar(&flags.urlFile, "url-file", "", "write the broker's URL to this file once the service takes states")
	f.StringVar(&flags.prefix, "prefix", "", "prefix of all subjects (default yardmaster)")
	f.DurationVar(&flags.deadline, "deadline", 500*time.Millisecond, "time from a state to its decision")
	f.DurationVar(&flags.window, "window", time.Hour, "how long a configuration holds, on the cluster's clock")
	f.DurationVar(&flags.delay, "drill-policy-delay", 0, "fault drill: delay the learned policy by this much")
	f.StringVar(&flags.http, "http", "", "address of /healthz, /readyz and /metrics, such as 127.0.0.1:8088 (default none)")
	f.BoolVar(&flags.pprof, "pprof", false, "serve profiles below /debug/pprof of --http, which must be a loopback address")
	f.StringVar(&flags.format, "log-format", "text", "text or json")
	f.BoolVarP(&flags.verbose, "verbose", "v", false, "log every decision")
	return c
}

func runServe(ctx context.Context, stderr io.Writer, flags serveFlags) error {
	cfg, err := flags.config(stderr)
	if err != nil {
		return err
	}
	s, err := serve.New(cfg)
	if err != nil {
		return err
	}
	// Before the service: probes see it start, and see why it does not.
	endpoint, err := flags.operations(s, cfg.Logger)
	if err != nil {
		return err
	}
	defer endpoint.close()
	if err := s.Start(ctx); err != nil {
		return err
	}
	cfg.Logger.Info("serving", "url", s.URL(), "model", cfg.Guard.ModelName, "configurer", cfg.Guard.ConfigurerName)
	if flags.urlFile != "" {
		if err := renameio.WriteFile(flags.urlFile, []byte(s.URL()), 0o644); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	<-ctx.Done()
	stats := s.Stats()
	cfg.Logger.Info("stopping", "allocations", stats.Allocations, "configurations", stats.Configurations, "by_source", stats.BySource, "fallbacks", stats.Fallbacks)
	return s.Close()
}

// operations starts the HTTP endpoint, if one is wanted.
func (flags *serveFlags) operations(s *serve.Server, logger *slog.Logger) (operations, error) {
	if flags.http == "" {
		if flags.pprof {
			return operations{}, usageError{errors.New("--pprof needs --http, such as --http 127.0.0.1:8088")}
		}
		return operations{}, nil
	}
	e, err := ops.Start(ops.Config{Service: s, Addr: flags.http, Pprof: flags.pprof, Logger: logger})
	if err != nil {
		return operations{}, err
	}
	logger.Info("operations", "url", e.URL(), "pprof", flags.pprof)
	return operations{e, logger}, nil
}

// operations is the HTTP endpoint, or none.
type operations struct {
	*ops.Endpoint
	logger *slog.Logger
}

// close stops the endpoint after the service, so that probes see it drain.
func (o operations) close() {
	if o.Endpoint == nil {
		return
	}
	if err := o.Endpoint.Close(); err != nil {
		o.logger.Warn("operations endpoint", "error", err)
	}
}

// log returns the logger that the flags ask for.
func (flags *serveFlags) log(stderr io.Writer) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if flags.verbose {
		options.Level = slog.LevelDebug
	}
	switch flags.format {
	case "text":
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), nil
	}
	return nil, usageError{fmt.Errorf("--log-format is %q, want text or json", flags.format)}
}

func (flags *serveFlags) config(stderr io.Writer) (serve.Config, error) {
	logger, err := flags.log(stderr)
	if err != nil {
		return serve.Config{}, err
	}
	cfg := serve.Config{
		URL:    flags.nats,
		Broker: broker.Config{StoreDir: flags.store, Port: flags.port},
		Prefix: flags.prefix,
		Window: flags.window,
		Logger: logger,
	}
	if cfg.Broker.StoreDir == "" {
		cfg.Broker.StoreDir = filepath.Join(flags.run, "store")
	}
	cfg.Version = version
	cfg.Guard, err = flags.guard()
	return cfg, err
}

// guard loads the models of the run. A model that is not there is no fault: the
// linear program decides. A model that does not fit is one.
func (flags *serveFlags) guard() (guard.Config, error) {
	cfg := guard.Config{Deadline: flags.deadline, PolicyDelay: flags.delay, NonFinite: neural.ErrNonFinite}
	if _, err := os.Stat(flags.run); err != nil {
		return cfg, err
	}
	fallback, err := policies().New(flags.fallback)
	if err != nil {
		return cfg, usageError{err}
	}
	cfg.Fallback = fallback
	if program, ok := fallback.(*lp.Policy); ok {
		cfg.Fallback = guard.LP{Policy: program}
	}
	if cfg.Greedy, err = policies().New("density"); err != nil {
		return cfg, err
	}
	m, err := models.Load(filepath.Join(flags.run, "model"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return cfg, err
	default:
		if cfg.Policy, err = neural.NewPolicy(m); err != nil {
			return cfg, err
		}
		cfg.ModelName = modelName(m)
	}
	c, err := models.Load(filepath.Join(flags.run, tune.ModelDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return cfg, err
	default:
		if cfg.Configurer, err = neural.NewConfigurer(c, heuristic.TiresiasConfigurations()); err != nil {
			return cfg, err
		}
		cfg.ConfigurerName = modelName(c)
	}
	return cfg, nil
}

// modelName identifies a model in messages by its kind and weights.
func modelName(m *models.Model) string {
	return fmt.Sprintf("%s@%.12s", m.Manifest.Kind, m.Manifest.SHA256)
}
