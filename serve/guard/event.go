package guard

import (
	"context"
	"log/slog"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// tell sends an event about the decision on s.
func (g *Guard) tell(s *wire.State, kind string, reason wire.Reason, text string, fill func(*wire.Event)) {
	if g.cfg.OnEvent == nil {
		return
	}
	e := wire.NewEvent(kind, s.Cluster, text)
	e.Epoch, e.StateSeq, e.Reason, e.Model = s.Epoch, s.Seq, string(reason), g.cfg.ModelName
	fill(e)
	g.cfg.OnEvent(e)
}

// turn tells and logs that a rail begins or ends to hold.
func (g *Guard) turn(s *wire.State, reason wire.Reason, active bool, value, limit float64, text string) {
	level := slog.LevelInfo
	if active {
		level = slog.LevelWarn
	}
	g.cfg.Logger.Log(context.Background(), level, "guard: "+text, "cluster", s.Cluster, "seq", s.Seq, "reason", string(reason), "active", active, "value", value, "limit", limit)
	g.tell(s, wire.EventGuard, reason, text, func(e *wire.Event) { e.Active, e.Value, e.Limit = active, value, limit })
}
