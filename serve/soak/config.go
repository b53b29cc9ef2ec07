package soak

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/yardmaster/yardmaster/serve/replay"
)

// Config configures a soak. Command, Broker, HTTP and NewCluster must be given;
// the zero value of every other field is its default.
type Config struct {
	Command func() *exec.Cmd // the service, not started: serves at Broker and HTTP whenever it runs
	Broker  string           // URL of its broker
	HTTP    string           // URL of its operations endpoint

	// NewCluster returns a simulated cluster at the start of an episode.
	NewCluster func(seed uint64) (replay.Cluster, error)

	Seed     uint64        // of faults and clusters
	Clusters int           // 50
	Duration time.Duration // of the faults; 10 min
	Tick     time.Duration // from one state of a cluster to the next, longer than the service's deadline; 1 s
	Pause    time.Duration // mean time between two faults; 3 s
	// KillFor is the part of Duration, from its start, in which the process is
	// killed now and then. After that it lives on, and its memory is watched. 0.3
	KillFor float64
	// Recovery is how long after a fault a state may still go unanswered; 5 s.
	Recovery time.Duration

	Logger *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	c.Clusters = cmp.Or(c.Clusters, 50)
	c.Duration = cmp.Or(c.Duration, 10*time.Minute)
	c.Tick = cmp.Or(c.Tick, time.Second)
	c.Pause = cmp.Or(c.Pause, 3*time.Second)
	c.KillFor = cmp.Or(c.KillFor, 0.3)
	c.Recovery = cmp.Or(c.Recovery, 5*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.Command == nil || c.Broker == "" || c.HTTP == "" || c.NewCluster == nil {
		errs = append(errs, errors.New("soak: config: Command, Broker, HTTP and NewCluster are required"))
	}
	if c.Clusters < 1 || c.Duration < 0 || c.Tick < 0 || c.Pause < 0 || c.Recovery < 0 {
		errs = append(errs, fmt.Errorf("soak: config: Clusters %d, Duration %v, Tick %v, Pause %v, Recovery %v: want all > 0", c.Clusters, c.Duration, c.Tick, c.Pause, c.Recovery))
	}
	if !(c.KillFor >= 0 && c.KillFor <= 1) {
		errs = append(errs, fmt.Errorf("soak: config: KillFor is %v, want 0 to 1", c.KillFor))
	}
	return errors.Join(errs...)
}
