package client

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// Config configures a Client. URL and Cluster must be given; the zero value of
// every other field is its default.
type Config struct {
	URL     string
	Options []nats.Option // TLS, credentials
	Cluster string        // id, see wire.CheckCluster

	// Epoch names this run of the scheduler; a random one. A value must never
	// be used twice for one cluster: the service would take the new run's
	// states for old ones.
	Epoch uint64

	Prefix string // of all subjects; wire.DefaultPrefix
	Stream string // that keeps the decisions; wire.StreamName(Prefix)

	ConnectTimeout time.Duration // for the first connection, and for subscribing; 10 s
	// Retry is how long Wait waits before it looks into the stream and
	// publishes the state again; 500 ms. After a reconnect, or when nobody
	// listens, it does so at once.
	Retry time.Duration

	// Now is the clock that states are stamped with, so that the service can warn
	// of clocks that disagree; time.Now. Nothing else depends on it.
	Now func() time.Time

	Logger *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	if c.Epoch == 0 {
		c.Epoch = randomEpoch()
	}
	if c.Stream == "" {
		c.Stream = wire.StreamName(c.Prefix)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.Retry == 0 {
		c.Retry = 500 * time.Millisecond
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.URL == "" {
		errs = append(errs, errors.New("client: config: URL is empty, want the broker's address"))
	}
	if err := wire.CheckCluster(c.Cluster); err != nil {
		errs = append(errs, fmt.Errorf("client: config: Cluster: %w", err))
	}
	if c.Epoch > wire.MaxSafeInteger {
		errs = append(errs, fmt.Errorf("client: config: Epoch is %d, want at most 2^53-1", c.Epoch))
	}
	if _, err := wire.NewSubjects(c.Prefix); err != nil {
		errs = append(errs, fmt.Errorf("client: config: Prefix: %w", err))
	}
	if c.Retry < 0 {
		errs = append(errs, fmt.Errorf("client: config: Retry is %v, want > 0", c.Retry))
	}
	return errors.Join(errs...)
}

// randomEpoch returns 1 to 2^53-1. A clock would do, but clocks jump back.
func randomEpoch() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return max(1, binary.LittleEndian.Uint64(b[:])&wire.MaxSafeInteger)
}
