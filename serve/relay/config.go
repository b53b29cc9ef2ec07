package relay

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/serve/client"
)

// Config configures a relay. Client, State and Apply must be given; the zero value
// of every other field is its default.
type Config struct {
	Client client.Config // who the cluster is and where the broker

	State string // shell command that prints the state
	Apply string // shell command that applies a decision

	Interval time.Duration // from one round's begin to the next; 1 min
	Timeout  time.Duration // of each command; 5 s
	Wait     time.Duration // for a decision; 2 s
	Rounds   int64         // after which Run returns; 0 is never

	Logger *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	if c.Interval == 0 {
		c.Interval = time.Minute
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Wait == 0 {
		c.Wait = 2 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Client.Logger == nil {
		c.Client.Logger = c.Logger
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.State == "" || c.Apply == "" {
		errs = append(errs, fmt.Errorf("relay: config: State is %q and Apply %q, want both commands", c.State, c.Apply))
	}
	if c.Interval < 0 || c.Timeout < 0 || c.Wait < 0 || c.Rounds < 0 {
		errs = append(errs, fmt.Errorf("relay: config: Interval is %v, Timeout %v, Wait %v, Rounds %d, want all > 0", c.Interval, c.Timeout, c.Wait, c.Rounds))
	}
	return errors.Join(errs...)
}
