package serve

import (
	"context"
	"time"
)

// Pauses of the watchdog.
const (
	watchEvery      = time.Second
	watchLooks      = 3               // in a row at which a fault is believed: a stream in the making looks broken, too
	restartPause    = 5 * time.Second // after a restart of the broker, before the next one
	maxRestartPause = 5 * time.Minute
)

// watch restarts the embedded broker where it has ceased to store: the server
// gives up a stream at the first write error and goes on without a word. It
// waits until the disk takes files again, since a restart would not help before.
// Subscribers get their decisions all the time, but for the moment of the
// restart.
func (s *Server) watch(ctx context.Context) {
	pause, next, looks := restartPause, time.Time{}, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		fault := s.broker.Health()
		if looks++; fault == nil {
			looks = 0
		} else if looks < watchLooks {
			continue
		}
		if s.handler.stats.storing(fault) && fault != nil {
			s.cfg.Logger.Error("decisions are not stored", "error", fault)
		}
		if fault == nil || time.Now().Before(next) || s.broker.Probe() != nil {
			continue
		}
		s.cfg.Logger.Warn("restarting the broker: the disk takes files, its streams do not", "error", fault)
		if err := s.broker.Restart(); err != nil {
			s.cfg.Logger.Error("broker", "error", err)
		}
		s.handler.stats.count(func(s *Stats) *int64 { return &s.BrokerRestarts })
		next, pause = time.Now().Add(pause), min(2*pause, maxRestartPause)
	}
}
