package lease

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Config configures a Keeper. Conn, Bucket and ID must be given; the zero value of
// every other field is its default.
type Config struct {
	Conn     *nats.Conn
	Bucket   string        // name of the key-value bucket, made if missing
	ID       string        // of this service: a value of the bucket
	TTL      time.Duration // how long a lease outlives its holder; 2 s
	Replicas int           // of the bucket; 1

	// OnChange is told when this service gains or loses the lease of a cluster.
	// Calls come one after the other; it must not block.
	OnChange func(cluster string, leading bool)
	Logger   *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	if c.TTL == 0 {
		c.TTL = 2 * time.Second
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.OnChange == nil {
		c.OnChange = func(string, bool) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.Conn == nil {
		errs = append(errs, errors.New("lease: config: Conn is nil, want a connection"))
	}
	if c.Bucket == "" || c.ID == "" {
		errs = append(errs, fmt.Errorf("lease: config: Bucket is %q and ID %q, want both", c.Bucket, c.ID))
	}
	if c.TTL < 500*time.Millisecond {
		errs = append(errs, fmt.Errorf("lease: config: TTL is %v, want at least 500 ms", c.TTL))
	}
	return errors.Join(errs...)
}
