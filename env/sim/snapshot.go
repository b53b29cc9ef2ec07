package sim

import (
	"errors"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// Snapshot is a point of an episode to go back to. It is immutable and may be
// restored any number of times, by any simulator with the same Config.
type Snapshot struct {
	ep       *episode
	at       trajectory
	cluster  env.Cluster
	outages  []Outage
	settings settings
}

// settings are the parts of a Config that a trajectory depends on.
type settings struct {
	round, window  int64
	knowledge      env.Knowledge
	freePlacement  bool
	freeRestarts   bool
	spreadSlowdown float64
	maxRounds      int64
	placement      Placement
	mtbf, mttr     int64
	checkpoint     int64
	noise          float64
	profiling      int64
}

// errOtherConfig is returned by Restore on a simulator that would continue the
// episode by other rules.
var errOtherConfig = errors.New("sim: restore: the snapshot was taken under another config")

// Snapshot returns the current point of the episode. It costs a copy of the
// active and the finished jobs.
func (s *Sim) Snapshot() *Snapshot {
	snap := &Snapshot{ep: s.ep, cluster: s.cfg.Cluster, outages: s.cfg.Failures.Outages, settings: s.settings()}
	s.trajectory.copyTo(&snap.at)
	return snap
}

// Restore goes back to snap. It reuses the simulator's memory and invalidates
// the borrowed State.
func (s *Sim) Restore(snap *Snapshot) error {
	same := snap.settings == s.settings() &&
		slices.Equal(snap.cluster.Types, s.cfg.Cluster.Types) && slices.Equal(snap.cluster.Nodes, s.cfg.Cluster.Nodes) &&
		slices.Equal(snap.outages, s.cfg.Failures.Outages)
	if !same {
		return errOtherConfig
	}
	s.ep = snap.ep
	snap.at.copyTo(&s.trajectory)
	s.countParts()
	s.recorder.resume(s)
	return nil
}

func (s *Sim) settings() settings {
	return settings{
		round: int64(s.cfg.Round), window: int64(s.cfg.windowRounds()), knowledge: s.cfg.Knowledge,
		freePlacement: s.cfg.FreePlacement, freeRestarts: s.cfg.FreeRestarts,
		spreadSlowdown: s.cfg.SpreadSlowdown, maxRounds: s.cfg.MaxRounds,
		placement: s.cfg.Placement, mtbf: int64(s.cfg.Failures.MTBF), mttr: int64(s.cfg.Failures.MTTR),
		checkpoint: int64(s.cfg.Checkpoint), noise: s.cfg.ThroughputSigma, profiling: int64(s.cfg.Profiling),
	}
}

// copyTo copies t into dst, reusing dst's memory.
func (t *trajectory) copyTo(dst *trajectory) {
	jobs := append(dst.state.Jobs[:0], t.state.Jobs...)
	down := append(dst.down[:0], t.down...)
	more := append(dst.more[:0], t.more...)
	profiled := append(dst.profiled[:0], t.profiled...)
	nodes := append(dst.outages.nodes[:0], t.outages.nodes...)
	active := append(dst.active[:0], t.active...)
	finished := append(dst.finished[:0], t.finished...)
	placed, window := dst.placement, dst.recent
	t.placement.copyTo(&placed)
	t.recent.copyTo(&window)
	*dst = *t
	dst.state.Jobs, dst.active, dst.finished = jobs, active, finished
	dst.down, dst.more, dst.profiled, dst.outages.nodes = down, more, profiled, nodes
	dst.placement, dst.recent = placed, window
	dst.showDown()
}
