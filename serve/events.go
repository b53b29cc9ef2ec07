package serve

import (
	"log/slog"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// events tells observers what happened, on subjects of core NATS: nobody need
// listen, and nothing waits for them. Before the service is connected and while
// it is not, events are only logged and counted by whoever counts them.
//
// It is safe for concurrent use, also as nil, which tells nobody.
type events struct {
	nc       atomic.Pointer[nats.Conn]
	subjects wire.Subjects
	server   string // id of this service
	logger   *slog.Logger
}

// tell publishes one event.
func (e *events) tell(event *wire.Event) {
	if e == nil {
		return
	}
	nc := e.nc.Load()
	if nc == nil || !nc.IsConnected() {
		return
	}
	event.Server = e.server
	cluster := event.Cluster
	if wire.CheckCluster(cluster) != nil {
		cluster = wire.NoCluster
	}
	data, err := wire.Encode(event)
	if err != nil { // strings and integers always encode
		e.logger.Error("event not told", "event", event.Event, "error", err)
		return
	}
	m := &nats.Msg{Subject: e.subjects.Event(event.Event, cluster), Data: data, Header: nats.Header{wire.HeaderSchema: {wire.EventSchema}}}
	if err := nc.PublishMsg(m); err != nil {
		e.logger.Debug("event not told", "event", event.Event, "error", err)
	}
}
