package serve

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// Values of Config.Lease.
const (
	LeaseAuto = "auto"
	LeaseOn   = "on"
	LeaseOff  = "off"
)

// fillSharing fills in what concerns a broker that others use too.
func (c *Config) fillSharing() {
	if c.Lease == "" || c.Lease == LeaseAuto {
		c.Lease = LeaseOff
		if c.URL != "" {
			c.Lease = LeaseOn
		}
	}
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 2 * time.Second
	}
	if c.ID == "" {
		c.ID = "yardmaster-" + rand.Text()[:8]
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.MaxRate == 0 {
		c.MaxRate = 10_000
	}
	if c.MaxSkew == 0 {
		c.MaxSkew = 2 * time.Second
	}
}

func (c *Config) validateSharing() (errs []error) {
	if c.Lease != LeaseOn && c.Lease != LeaseOff {
		errs = append(errs, fmt.Errorf("serve: config: Lease is %q, want %s, %s or %s", c.Lease, LeaseAuto, LeaseOn, LeaseOff))
	}
	if c.LeaseTTL < 500*time.Millisecond || c.LeaseTTL > time.Minute {
		errs = append(errs, fmt.Errorf("serve: config: LeaseTTL is %v, want 500 ms to 1 min", c.LeaseTTL))
	}
	if err := wire.CheckCluster(c.ID); err != nil {
		errs = append(errs, fmt.Errorf("serve: config: ID is %.64q, want 1 to 32 of A-Z a-z 0-9 _ -", c.ID))
	}
	if c.Replicas < 1 || c.Replicas > 5 || c.Replicas%2 == 0 {
		errs = append(errs, fmt.Errorf("serve: config: Replicas is %d, want 1, 3 or 5", c.Replicas))
	}
	if c.Replicas > 1 && c.URL == "" {
		errs = append(errs, errors.New("serve: config: Replicas is above 1 with the embedded broker, which is one node: want URL of a NATS cluster"))
	}
	if !(c.MaxRate > 0) {
		errs = append(errs, fmt.Errorf("serve: config: MaxRate is %v, want > 0", c.MaxRate))
	}
	if c.StaleAfter < 0 || c.MaxSkew < 0 {
		errs = append(errs, fmt.Errorf("serve: config: StaleAfter is %v and MaxSkew %v, want both >= 0", c.StaleAfter, c.MaxSkew))
	}
	return errs
}
