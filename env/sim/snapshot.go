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
}

// errOtherConfig is returned by Restore on a simulator that would continue the
// episode by other rules.
var errOtherConfig = errors.New("sim: restore: the snapshot was taken under another config")

// Snapshot returns the current point of the episode. It costs a copy of the
// active and the finished jobs.
func (s *Sim) Snapshot() *Snapshot {
	snap := &Snapshot{ep: s.ep, cluster: s.cfg.Cluster, settings: s.settings()}
	s.trajectory.copyTo(&snap.at)
	return snap
}

// Restore goes back to snap. It reuses the simulator's memory and invalidates
// the borrowed State.
func (s *Sim) Restore(snap *Snapshot) error {
	same := snap.settings == s.settings() &&
		slices.Equal(snap.cluster.Types, s.cfg.Cluster.Types) && slices.Equal(snap.cluster.Nodes, s.cfg.Cluster.Nodes)
	if !same {
		return errOtherConfig
	}
	s.ep = snap.ep
	snap.at.copyTo(&s.trajectory)
	s.recorder.resume(s)
	return nil
}

func (s *Sim) settings() settings {
	return settings{
		round: int64(s.cfg.Round), window: int64(s.cfg.windowRounds()), knowledge: s.cfg.Knowledge,
		freePlacement: s.cfg.FreePlacement, freeRestarts: s.cfg.FreeRestarts,
		spreadSlowdown: s.cfg.SpreadSlowdown, maxRounds: s.cfg.MaxRounds,
	}
}

// copyTo copies t into dst, reusing dst's memory.
func (t *trajectory) copyTo(dst *trajectory) {
	jobs := append(dst.state.Jobs[:0], t.state.Jobs...)
	active := append(dst.active[:0], t.active...)
	finished := append(dst.finished[:0], t.finished...)
	placed, window := dst.placement, dst.recent
	t.placement.copyTo(&placed)
	t.recent.copyTo(&window)
	*dst = *t
	dst.state.Jobs, dst.active, dst.finished = jobs, active, finished
	dst.placement, dst.recent = placed, window
}
