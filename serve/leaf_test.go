package serve_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// runServer starts a NATS server with a shipped file, changed only in its ports and
// folders.
func runServer(t *testing.T, file string, change func(*server.Options)) *server.Server {
	t.Helper()
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.Port, opts.NoSigs, opts.NoLog = server.RANDOM_PORT, true, true
	if opts.JetStream {
		opts.StoreDir = t.TempDir()
	}
	if change != nil {
		change(opts)
	}
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatalf("%s is not ready", file)
	}
	return s
}

// One leaf node per cluster, with the shipped files: a cluster's scheduler talks
// to its leaf, gets its decisions, also after the leaf was cut off from the hub,
// and can neither hear nor speak for another cluster.
func TestLeafNodes(t *testing.T) {
	for _, name := range []string{"SERVICE", "LEAF_C1", "LEAF_C2"} {
		t.Setenv("YM_"+name+"_PASSWORD", "secret-"+name)
	}
	port := freePort(t)
	direct := fmt.Sprint("nats://127.0.0.1:", port)
	hub := runServer(t, "deploy/hub.conf", func(o *server.Options) { o.LeafNode.Port = port })
	proxy := servetest.NewProxy(t, direct)
	s := startQuietly(t, serve.Config{URL: hub.ClientURL(), Options: []nats.Option{nats.UserInfo("service", "secret-SERVICE")}, Guard: servetest.Guard(t)})

	leaf := func(cluster, secret, url string) string {
		t.Helper()
		t.Setenv("YM_HUB", "nats://leaf-"+cluster+":secret-"+secret+"@"+url[len("nats://"):])
		l := runServer(t, "deploy/leaf.conf", func(o *server.Options) {
			o.ServerName = "yardmaster-leaf-" + cluster
			o.LeafNode.ReconnectInterval = 50 * time.Millisecond
		})
		eventually(t, "leaf of "+cluster+" is connected", func() bool { return l.NumLeafNodes() == 1 })
		return l.ClientURL()
	}
	urls := map[string]string{"c1": leaf("c1", "LEAF_C1", proxy.URL()), "c2": leaf("c2", "LEAF_C2", direct)}

	schedulers := map[string]*client.Client{}
	for id, url := range urls {
		c, err := client.Connect(t.Context(), client.Config{URL: url, Cluster: id, Retry: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		schedulers[id] = c
	}
	state := &servetest.State(t, 1, 1).State
	for id, c := range schedulers {
		if err := c.Ack(decision(t, c, state), nil); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if _, err := c.Ask(t.Context(), state); err != nil {
			t.Errorf("%s asks: %v", id, err)
		}
	}
	eventually(t, "acknowledged", func() bool { return s.Stats().Applied == 2 })

	// What the scheduler of c1 may not do, its leaf may not either.
	c1 := connect(t, urls["c1"])
	heard := subscribe(t, c1, "yardmaster.v1.decision.c2.*")
	before := s.Stats().States
	forged := servetest.State(t, 7, 1)
	forged.Cluster = "c2"
	if err := c1.Publish("yardmaster.v1.state.c2", servetest.Body(t, forged)); err != nil {
		t.Fatal(err)
	}
	if m, err := c1.Request("$JS.API.DIRECT.GET.YM_DECISIONS.yardmaster.v1.decision.c2.allocation", nil, 300*time.Millisecond); err == nil {
		t.Errorf("c1 reads the last decision of c2: %s", m.Data)
	} else if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("c1 reads the last decision of c2: got %v", err)
	}
	decision(t, schedulers["c2"], state)
	if got := s.Stats().States - before; got != 1 {
		t.Errorf("the service heard %d states, want that of c2 alone", got)
	}
	if len(heard) > 0 {
		t.Errorf("c1 hears what c2 is told: %s", (<-heard).Data)
	}

	// Cut off from the hub, the cluster keeps what it has; back, it goes on.
	proxy.Cut()
	seq, err := schedulers["c1"].PublishState(state)
	if err != nil {
		t.Fatal(err) // its leaf is there
	}
	time.Sleep(200 * time.Millisecond)
	proxy.Mend()
	d, err := schedulers["c1"].Wait(t.Context(), seq)
	if err != nil || d.Message.StateSeq != seq {
		t.Errorf("after the leaf was cut off: got %v, %v", d, err)
	}
}
