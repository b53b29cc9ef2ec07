package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// switchFlags turn on what a simulation leaves out by default, and off what it
// has.
type switchFlags struct {
	scenario.Switches // Objective is not a flag here
	freeRestarts      bool
	freePlacement     bool
	placement         string
	spreadSlowdown    float64
	quotaCluster      string
	checkpoint        time.Duration
}

func (s *switchFlags) add(f *pflag.FlagSet) {
	switchesFlags(f, &s.Switches)
	f.BoolVar(&s.freeRestarts, "free-restarts", false, "starting and moving jobs takes no time")
	f.BoolVar(&s.freePlacement, "free-placement", false, "nodes do not matter")
	f.StringVar(&s.placement, "placement", sim.Consolidate.String(), "nodes that jobs get: consolidate (the fullest with room) or spread (the emptiest)")
	f.Float64Var(&s.spreadSlowdown, "spread-slowdown", 0, "speed is multiplied by it for every doubling of a job's nodes (default 0.9)")
	f.StringVar(&s.Quotas, "quotas", "", "quotas table (Parquet): GPUs that tenants may hold, over time")
	f.StringVar(&s.quotaCluster, "quota-cluster", "", "cluster of the quotas table to take, if it has several")
	f.DurationVar(&s.checkpoint, "checkpoint", 0, "progress between two checkpoints; a failure loses what came after the last (default 1h)")
}

// validate returns what is wrong with the flags that the simulator does not
// check.
func (s *switchFlags) validate() (errs []error) {
	if s.placement != sim.Consolidate.String() && s.placement != sim.Spread.String() {
		errs = append(errs, fmt.Errorf("--placement is %q, want %v or %v", s.placement, sim.Consolidate, sim.Spread))
	}
	if s.Colocation != "" && len(s.Shares) == 0 {
		errs = append(errs, fmt.Errorf("--colocation needs --share: GPUs are not shared"))
	}
	if s.quotaCluster != "" && s.Quotas == "" {
		errs = append(errs, fmt.Errorf("--quota-cluster needs --quotas"))
	}
	return errs
}

// apply sets the switches of cfg for jobs that were cut from the trace at zero
// and whose times were stretched by factor.
func (s *switchFlags) apply(cfg *sim.Config, p *perf.Performance, zero time.Duration, factor float64) error {
	cfg.FreeRestarts, cfg.FreePlacement = s.freeRestarts, s.freePlacement
	cfg.SpreadSlowdown = s.spreadSlowdown
	if s.placement == sim.Spread.String() {
		cfg.Placement = sim.Spread
	}
	cfg.Failures = sim.Failures{MTBF: s.MTBF, MTTR: s.MTTR}
	cfg.Checkpoint, cfg.ThroughputSigma, cfg.Profiling = s.checkpoint, s.ThroughputSigma, s.Profiling
	var err error
	if cfg.Interference, err = scenario.ReadInterference(s.Colocation, cfg.Cluster, p); err != nil {
		return err
	}
	if s.Quotas == "" {
		return nil
	}
	table, err := datasets.ReadQuotas(s.Quotas)
	if err != nil {
		return err
	}
	cfg.Quotas, err = s.quotaChanges(table, &cfg.Cluster, zero, factor)
	return err
}

// quotaChanges returns the quotas of one cluster of a table on the clock of the
// simulation: those that hold at zero from its beginning on.
func (s *switchFlags) quotaChanges(t *datasets.QuotaTable, c *env.Cluster, zero time.Duration, factor float64) ([]sim.QuotaChange, error) {
	cluster, err := s.clusterOf(t)
	if err != nil {
		return nil, err
	}
	rows := t.At(zero)
	for i := range t.Rows {
		if t.Rows[i].From > zero {
			rows = append(rows, t.Rows[i])
		}
	}
	var changes []sim.QuotaChange
	for i := range rows {
		r := &rows[i]
		if r.Cluster != cluster {
			continue
		}
		quota, ok := scenario.Quota(r, c)
		if !ok {
			continue // of GPUs that are not there
		}
		at := max(0, time.Duration(math.Round(float64(r.From-zero)*factor)))
		changes = append(changes, sim.QuotaChange{At: at, Quota: quota})
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("%s: no quota is of cluster %q and its GPUs", t.Name, cluster)
	}
	return changes, nil
}

// clusterOf returns the cluster of a quotas table to take.
func (s *switchFlags) clusterOf(t *datasets.QuotaTable) (string, error) {
	var names []string
	for i := range t.Rows {
		names = append(names, t.Rows[i].Cluster)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case s.quotaCluster == "" && len(names) == 1:
		return names[0], nil
	case slices.Contains(names, s.quotaCluster):
		return s.quotaCluster, nil
	}
	return "", usageError{fmt.Errorf("--quota-cluster is %q: %s has quotas of %s", s.quotaCluster, t.Name, strings.Join(names, ", "))}
}
