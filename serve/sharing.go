package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/serve/lease"
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

// share starts to keep leases, if others may publish too.
func (s *Server) share(ctx context.Context) (err error) {
	if s.cfg.Lease != LeaseOn {
		return nil
	}
	s.publisher.leases, err = lease.Start(ctx, lease.Config{
		Conn: s.nc, Bucket: wire.LeaseBucket(s.cfg.Prefix), ID: s.cfg.ID, TTL: s.cfg.LeaseTTL, Replicas: s.cfg.Replicas,
		OnChange: s.changed, Logger: s.cfg.Logger,
	})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	s.intake.known.onForget = s.publisher.leases.Forget
	return nil
}

// changed follows the lease of a cluster.
func (s *Server) changed(cluster string, leading bool) {
	s.handler.stats.count(func(s *Stats) *int64 { return &s.LeaderChanges })
	if !leading {
		s.cfg.Logger.Warn("no longer the leader", "cluster", cluster)
		if c := s.intake.known.known(cluster); c != nil {
			c.lose()
		}
		return
	}
	s.cfg.Logger.Info("leader", "cluster", cluster)
	s.handler.events.tell(wire.NewEvent(wire.EventLeader, cluster, s.cfg.ID+" publishes for the cluster"))
	s.intake.lead(cluster)
}

// leaders fills in who publishes for whom.
func (s *Server) leaders(stats *Stats) {
	stats.ID = s.cfg.ID
	leases := s.publisher.leases
	if leases == nil {
		stats.Leading = stats.Clusters
		return
	}
	stats.Leading, stats.Leaders = leases.Held(), make(map[string]string)
	for _, c := range s.intake.known.all() {
		stats.Leaders[c.id] = leases.Holder(c.id)
	}
}

// sweepEvery is how often silent clusters are looked for.
const sweepEvery = time.Second

// sweep marks clusters that went silent. Nothing is decided for them: what they
// were told last holds.
func (s *Server) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, c := range s.intake.known.sweep(time.Now(), s.cfg.StaleAfter) {
			s.cfg.Logger.Warn("cluster is silent", "cluster", c.id)
			if s.publisher.leads(c.id) {
				s.handler.events.tell(wire.NewEvent(wire.EventStale, c.id, "no state for too long: nothing is decided until the next"))
			}
		}
	}
}
