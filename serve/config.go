package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"

	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Config configures a Server. Guard.Fallback, Guard.Greedy and one of URL and
// Broker.StoreDir must be given; the zero value of every other field is its
// default.
type Config struct {
	Guard guard.Config // policies, deadline, configurer

	Models Models // repository, modes, shadow and decision log; none by default

	// URL is an external NATS server or cluster. "" starts the embedded one.
	URL     string
	Options []nats.Option // for URL: TLS, credentials
	Broker  broker.Config // of the embedded broker

	Prefix string // of all subjects; wire.DefaultPrefix
	Stream string // that keeps the decisions; wire.StreamName(Prefix)

	// Window is how long a configuration holds on the cluster's own clock
	// (State.Now): a new one is decided at the first state after it; 1 h.
	Window time.Duration

	// UnreadyAfter is how long the connection to NATS may be lost before the
	// service is not ready; 5 s.
	UnreadyAfter time.Duration

	// Lease says whether this service publishes for a cluster only while it
	// holds the cluster's lease, so that several services can share a broker:
	// LeaseAuto, LeaseOn or LeaseOff. Auto is on with URL, off without.
	Lease    string
	LeaseTTL time.Duration // how long a lease outlives its holder; 2 s, at least 500 ms
	ID       string        // of this service among those that share a broker; a random one

	Replicas int // of the stream and the leases, on a NATS cluster: 1, 3 or 5; 1

	// MaxRate bounds the published states per second and cluster, with a burst
	// of as many; 10,000. States beyond it are refused as overloaded.
	MaxRate float64
	// StaleAfter is how long a cluster may be silent before it is called stale;
	// 0 is three of its own rounds, at least 30 s.
	StaleAfter time.Duration
	// MaxSkew is how far a cluster's clock may be from this one's before that
	// is told; 2 s. Nothing else depends on clocks of others.
	MaxSkew time.Duration

	Version     string // SemVer of the service, shown by `nats micro info`; 0.1.0
	MaxClusters int    // clusters remembered; the longest idle one is forgotten first; 1024
	Concurrency int    // decisions in the making at once, for published states and for requests each; 64

	Tracer trace.Tracer // spans of OpenTelemetry (package stage); nil makes none

	Logger *slog.Logger // nil discards; also the guard's and the broker's unless they have their own

	stages *stage.Recorder
}

func (c *Config) fillDefaults() {
	if c.Prefix == "" {
		c.Prefix = wire.DefaultPrefix
	}
	if c.Stream == "" {
		c.Stream = wire.StreamName(c.Prefix)
	}
	if c.Window == 0 {
		c.Window = time.Hour
	}
	if c.UnreadyAfter == 0 {
		c.UnreadyAfter = 5 * time.Second
	}
	if c.Version == "" {
		c.Version = "0.1.0"
	}
	c.fillSharing()
	c.Models.fillDefaults()
	if c.MaxClusters == 0 {
		c.MaxClusters = 1024
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.stages == nil {
		c.stages = stage.New(c.Tracer)
	}
	c.Guard.Stages = c.stages
	if c.Guard.Logger == nil {
		c.Guard.Logger = c.Logger
	}
	if c.Broker.Logger == nil {
		c.Broker.Logger = c.Logger
	}
}

var (
	versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)
	streamPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
)

func (c *Config) validate() error {
	var errs []error
	if c.URL == "" && c.Broker.StoreDir == "" {
		errs = append(errs, errors.New("serve: config: neither URL nor Broker.StoreDir is given, want one"))
	}
	if _, err := wire.NewSubjects(c.Prefix); err != nil {
		errs = append(errs, fmt.Errorf("serve: config: Prefix: %w", err))
	}
	if !streamPattern.MatchString(c.Stream) {
		errs = append(errs, fmt.Errorf("serve: config: Stream is %q, want 1 to 255 of A-Z a-z 0-9 _ -", c.Stream))
	}
	if c.Window < 0 {
		errs = append(errs, fmt.Errorf("serve: config: Window is %v, want > 0", c.Window))
	}
	if c.UnreadyAfter < 0 {
		errs = append(errs, fmt.Errorf("serve: config: UnreadyAfter is %v, want > 0", c.UnreadyAfter))
	}
	errs = append(errs, c.Models.validate()...)
	if !versionPattern.MatchString(c.Version) {
		errs = append(errs, fmt.Errorf("serve: config: Version is %q, want SemVer such as 1.2.3", c.Version))
	}
	errs = append(errs, c.validateSharing()...)
	if c.MaxClusters < 1 || c.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("serve: config: MaxClusters is %d and Concurrency %d, want both >= 1", c.MaxClusters, c.Concurrency))
	}
	return errors.Join(errs...)
}
