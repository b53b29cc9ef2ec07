package serve_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// nodes starts a NATS cluster of three servers with JetStream.
func nodes(t *testing.T) []*server.Server {
	t.Helper()
	var routes []*url.URL
	ports := make([]int, 3)
	for i := range ports {
		ports[i] = freePort(t)
		u, err := url.Parse(fmt.Sprint("nats://127.0.0.1:", ports[i]))
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, u)
	}
	list := make([]*server.Server, 3)
	for i := range list {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i+1), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: ports[i]}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		list[i] = s
	}
	for _, s := range list {
		if !s.ReadyForConnections(patience) {
			t.Fatal("a node is not ready")
		}
	}
	eventually(t, "the nodes have a leader", func() bool {
		for _, s := range list {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3
			}
		}
		return false
	})
	return list
}

// Three nodes with three replicas of streams and leases, two services: a node may
// go, whichever it is, and decisions go on, each stored once and in order.
func TestThreeNodes(t *testing.T) {
	list := nodes(t)
	var urls []string
	for _, n := range list {
		urls = append(urls, n.ClientURL())
	}
	address := strings.Join(urls, ",")
	services := map[string]*serve.Server{}
	for _, id := range []string{"one", "two"} {
		services[id] = startQuietly(t, serve.Config{Guard: servetest.Guard(t), URL: address, ID: id, Replicas: 3})
	}
	c, err := client.Connect(t.Context(), client.Config{URL: address, Cluster: "c1", Epoch: 1, Retry: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := &servetest.State(t, 1, 1).State
	for range 5 {
		decision(t, c, state)
	}
	for _, id := range []string{"one", "two"} {
		eventually(t, id+" knows who leads", func() bool { return services[id].Stats().Leaders["c1"] != "" })
	}
	if one, two := services["one"].Stats(), services["two"].Stats(); one.Leading+two.Leading != 1 || one.Leaders["c1"] != two.Leaders["c1"] {
		t.Errorf("leaders: got %d %v and %d %v, want one that both know", one.Leading, one.Leaders, two.Leading, two.Leaders)
	}
	var gone *server.Server
	for _, n := range list {
		if n.JetStreamIsStreamLeader("$G", "YM_DECISIONS") {
			gone = n
		}
	}
	if gone == nil {
		t.Fatal("the stream has no leader")
	}
	gone.Shutdown()
	gone.WaitForShutdown()
	began := time.Now()
	for i := range 20 {
		d := decision(t, c, state)
		if i == 0 {
			t.Logf("a decision %v after the stream's leader went", time.Since(began).Round(time.Millisecond))
		}
		if err := c.Ack(d, nil); err != nil {
			t.Logf("acknowledge: %v", err)
		}
	}
	for _, n := range list {
		if n != gone {
			eventually(t, "the last decision is stored", func() bool {
				done := checkOrder(t, n.ClientURL(), "c1")
				return len(done) > 0 && done[len(done)-1].seq == 25
			})
			return
		}
	}
}
