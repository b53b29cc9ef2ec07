package serve_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

const shipped = "deploy/nats-server.conf"

// guarded runs a NATS server with the shipped configuration, changed only in
// its port and folder, or with another file.
func guarded(t *testing.T, file string) string {
	t.Helper()
	for _, user := range []string{"SERVICE", "C1", "C2", "OPS"} {
		t.Setenv("YM_"+user+"_PASSWORD", "secret-"+user)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.Port, opts.StoreDir, opts.NoSigs, opts.NoLog = server.RANDOM_PORT, t.TempDir(), true, true
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
		t.Fatal("NATS server is not ready")
	}
	return s.ClientURL()
}

// as are the options of a user of the configuration.
func as(user string) []nats.Option {
	secret := map[string]string{"service": "SERVICE", "c1": "C1", "c2": "C2", "operator": "OPS"}[user]
	inbox := map[string]string{"c1": "_INBOX_c1", "c2": "_INBOX_c2", "operator": "_INBOX_ops"}[user]
	opts := []nats.Option{nats.UserInfo(user, "secret-"+secret)}
	if inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(inbox))
	}
	return opts
}

// peer connects as a user. The channel gets what NATS denies.
func peer(t *testing.T, url, user string) (*nats.Conn, <-chan error) {
	t.Helper()
	denied := make(chan error, 64)
	opts := append(as(user), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, denied
}

func served(t *testing.T, url string) *serve.Server {
	t.Helper()
	return startQuietly(t, serve.Config{URL: url, Options: as("service"), Guard: servetest.Guard(t)})
}

// startQuietly starts a service without a connection of the test's own.
func startQuietly(t *testing.T, cfg serve.Config) *serve.Server {
	t.Helper()
	s, err := serve.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// With the shipped configuration the service, clusters and operators can do all
// they need, and nothing is denied to them.
func TestPermissionsSuffice(t *testing.T) {
	url := guarded(t, shipped)
	s := served(t, url)
	for _, cluster := range []string{"c1", "c2"} {
		report, err := replay.Run(t.Context(), replay.Config{
			Client: client.Config{URL: url, Options: as(cluster), Cluster: cluster}, Cluster: replay.Of(servetest.Sim(t, 1, 6)), Timeout: patience,
		})
		if err != nil || report.Held != 0 {
			t.Errorf("%s: got %+v, %v", cluster, report, err)
		}
		// Clusters hear a decision before it is stored.
		eventually(t, "all stored", func() bool { stats := s.Stats(); return stats.Applied > 0 && stats.Stored == stats.Applied })
		nc, _ := peer(t, url, cluster)
		if m, err := nc.Request("$JS.API.DIRECT.GET.YM_DECISIONS.yardmaster.v1.decision."+cluster+".allocation", nil, patience); err != nil || !strings.Contains(string(m.Data), `"`+cluster+`"`) {
			t.Errorf("%s reads its last decision: got %v, %v", cluster, m, err)
		}
		if m, err := nc.Request("yardmaster.v1.svc.decide", servetest.Body(t, servetest.State(t, 1, 1)), patience); err != nil || m.Header.Get(nats.MsgIdHdr) != "" || len(m.Data) == 0 {
			t.Errorf("%s asks: got %v, %v", cluster, m, err)
		}
		if m, err := nc.Request("yardmaster.v1.svc.validate", []byte("hello"), patience); err != nil || !strings.Contains(string(m.Data), wire.ValidationSchema) {
			t.Errorf("%s has a state checked: got %v, %v", cluster, m, err)
		}
		if m, err := nc.Request("yardmaster.v1.svc.decide", []byte("hello"), patience); err != nil || m.Header.Get("Nats-Service-Error-Code") != "400" {
			t.Errorf("%s asks nonsense: got %v, %v", cluster, m, err)
		}
	}
	operator, denied := peer(t, url, "operator")
	for _, subject := range []string{"yardmaster.v1.svc.status", "$SRV.PING", "$SRV.STATS.yardmaster", "$SRV.INFO"} {
		if _, err := operator.Request(subject, nil, patience); err != nil {
			t.Errorf("operator: %s: %v", subject, err)
		}
	}
	for _, endpoint := range []string{"decide", "validate", "explain"} {
		if m, err := operator.Request("yardmaster.v1.svc."+endpoint, servetest.Body(t, servetest.State(t, 1, 1)), patience); err != nil || m.Header.Get("Nats-Service-Error-Code") != "" {
			t.Errorf("operator: %s: got %v, %v", endpoint, m, err)
		}
	}
	if len(denied) > 0 {
		t.Errorf("operator: %v", <-denied)
	}
	for _, c := range s.Checks() {
		if c.Err != nil {
			t.Errorf("service: check %s: %v", c.Name, c.Err)
		}
	}
	if stats := s.Stats(); stats.PublishErrors != 0 {
		t.Errorf("service: got %+v", stats)
	}
}

// Cluster c1 can neither read what c2 is told, nor speak for it, nor harm the
// stream, nor pose as the service.
func TestPermissionsDeny(t *testing.T) {
	url := guarded(t, shipped)
	s := served(t, url)
	c2, _ := peer(t, url, "c2")
	decisions := subscribe(t, c2, "yardmaster.v1.decision.c2.*")
	state := servetest.State(t, 1, 1)
	state.Cluster = "c2"
	if err := c2.Publish("yardmaster.v1.state.c2", servetest.Body(t, state)); err != nil {
		t.Fatal(err)
	}
	nextAllocation(t, decisions)
	eventually(t, "stored", func() bool { return s.Stats().Stored == 1 })

	c1, denied := peer(t, url, "c1")
	violation := func(what, subject string) {
		t.Helper()
		select {
		case err := <-denied:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), `"`+subject+`"`) {
				t.Errorf("%s: got %v, want a permissions violation that names %s", what, err, subject)
			}
		case <-time.After(patience):
			t.Errorf("%s %s: allowed", what, subject)
		}
	}
	for _, subject := range []string{
		"yardmaster.v1.decision.c2.*", "yardmaster.v1.decision.c2.allocation", "yardmaster.v1.decision.*.*", "yardmaster.v1.>", ">",
		"yardmaster.v1.state.c2", "yardmaster.v1.state.*", "yardmaster.v1.chunk.c2", "yardmaster.v1.ack.*", "yardmaster.v1.admin.>", "$KV.YM_LEASES.*", "$KV.>", "yardmaster.v1.svc.decide", "yardmaster.v1.event.>",
		"_INBOX.>", "_INBOX_c2.>", "_INBOX_yardmaster.>", "$SRV.>", "$JS.API.>", "$SYS.>",
	} {
		if _, err := c1.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		violation("subscribe", subject)
	}
	state.Seq = 2
	body := servetest.Body(t, state)
	for _, subject := range []string{
		"yardmaster.v1.state.c2", "yardmaster.v1.chunk.c2", "yardmaster.v1.ack.c2", "yardmaster.v1.admin.models", "yardmaster.v1.admin.promote",
		"$KV.YM_LEASES.c1", "$KV.YM_LEASES.c2", "$JS.API.DIRECT.GET.KV_YM_LEASES.$KV.YM_LEASES.c2", "yardmaster.v1.event.leader.c1",
		"yardmaster.v1.decision.c2.allocation", "yardmaster.v1.decision.c1.allocation", "yardmaster.v1.event.refused.c2",
		"yardmaster.v1.svc.status", "yardmaster.v1.svc.explain", "_INBOX_c2.state", "_INBOX_yardmaster.x", "$SRV.PING",
		"$JS.API.DIRECT.GET.YM_DECISIONS.yardmaster.v1.decision.c2.allocation", "$JS.API.DIRECT.GET.YM_DECISIONS", "$JS.API.STREAM.MSG.GET.YM_DECISIONS",
		"$JS.API.CONSUMER.CREATE.YM_DECISIONS.x.yardmaster.v1.decision.c2.allocation", "$JS.API.CONSUMER.CREATE.YM_DECISIONS",
		"$JS.API.STREAM.PURGE.YM_DECISIONS", "$JS.API.STREAM.DELETE.YM_DECISIONS", "$JS.API.STREAM.UPDATE.YM_DECISIONS", "$JS.API.STREAM.CREATE.mine",
	} {
		if err := c1.PublishRequest(subject, "_INBOX_c1.x", body); err != nil {
			t.Fatal(err)
		}
		violation("publish", subject)
	}
	if stats := s.Stats(); stats.States != 1 || stats.Applied+stats.Rejected != 0 {
		t.Errorf("service heard c1 speak for c2: %+v", stats)
	}
	if c, denied := peer(t, url, "c1"); c.Publish("yardmaster.v1.state.c1", body) != nil || c.Flush() != nil || len(denied) > 0 {
		t.Error("c1 may not publish on its own subject")
	}
	eventually(t, "a state that says c2 on the subject of c1 is refused", func() bool { return s.Stats().Refused["conflict"] == 1 })
}

// NATS lets a cluster choose where it is answered. The service, which may
// publish for all clusters, does not let itself be used.
func TestRepliesGoToNobodyElsesSubject(t *testing.T) {
	url := guarded(t, shipped)
	s := served(t, url)
	operator, _ := peer(t, url, "operator")
	heard := subscribe(t, operator, "yardmaster.v1.decision.c2.*")
	c1, denied := peer(t, url, "c1")
	state := servetest.State(t, 1, 1)
	state.Cluster = "c2"
	for _, body := range [][]byte{servetest.Body(t, state), []byte("hello")} {
		for _, subject := range []string{"yardmaster.v1.svc.decide", "yardmaster.v1.state.c1"} {
			if err := c1.PublishRequest(subject, "yardmaster.v1.decision.c2.allocation", body); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all refused", func() bool {
		refused := s.Stats().Refused
		return refused["conflict"] == 3 && refused["malformed"] == 1
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := operator.RequestWithContext(ctx, "yardmaster.v1.svc.status", nil); err != nil { // what was sent before is here
		t.Fatal(err)
	}
	if len(heard) > 0 {
		t.Errorf("c2 got what c1 made the service say: %s", (<-heard).Data)
	}
	if len(denied) > 0 {
		t.Errorf("c1: %v, want it allowed, so that the service is what refuses", <-denied)
	}
}

// without returns the shipped configuration without one permission.
func without(t *testing.T, permission string) (file string) {
	t.Helper()
	text, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	less := strings.Replace(string(text), `"`+permission+`"`, `"nothing"`, 1)
	if less == string(text) {
		t.Fatalf("the configuration does not allow %s", permission)
	}
	file = filepath.Join(t.TempDir(), "less.conf")
	if err := os.WriteFile(file, []byte(less), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Fault 27, NATS denies the service what it needs for its decisions: it is not
// ready and says which subject, in the log once, and does not try in a loop.
func TestFault27PermissionViolation(t *testing.T) {
	url := guarded(t, without(t, "yardmaster.v1.decision.*.*"))
	var log journal
	s := startQuietly(t, serve.Config{
		URL: url, Options: as("service"), Guard: servetest.Guard(t), LeaseTTL: 500 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	c1, _ := peer(t, url, "c1")
	state := servetest.State(t, 1, 1)
	for ; state.Seq <= 3; state.Seq++ {
		if err := c1.Publish("yardmaster.v1.state.c1", servetest.Body(t, state)); err != nil {
			t.Fatal(err)
		}
	}
	const subject = "yardmaster.v1.decision.c1.allocation"
	eventually(t, "denied", func() bool { return s.Stats().PermissionsDenied[subject] > 0 })
	if failing(s) != serve.CheckPermissions {
		t.Errorf("got check %q, want %s", failing(s), serve.CheckPermissions)
	}
	for _, c := range s.Checks() {
		if c.Name == serve.CheckPermissions && (c.Err == nil || !strings.Contains(c.Err.Error(), subject)) {
			t.Errorf("check %s: got %v, want the subject", c.Name, c.Err)
		}
	}
	time.Sleep(3 * time.Second) // longer than the service waits for the stream
	if n := s.Stats().PermissionsDenied[subject]; n > 3 {
		t.Errorf("denied %d times for 3 states", n)
	}
	if n := strings.Count(log.text(), "NATS denies"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log.text())
	}
}

// A permission that is missing at the start ends it at once, not after a timeout
// that names nothing.
func TestFault27DeniedAtStart(t *testing.T) {
	for _, permission := range []string{"$JS.API.STREAM.CREATE.YM_DECISIONS", "$JS.API.STREAM.CREATE.KV_YM_LEASES", "$KV.YM_LEASES.*"} {
		s, err := serve.New(serve.Config{URL: guarded(t, without(t, permission)), Options: as("service"), Guard: servetest.Guard(t)})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = s.Start(t.Context())
		if permission == "$KV.YM_LEASES.*" { // only needed once there is a cluster
			if err != nil {
				t.Errorf("%s: %v", permission, err)
			}
			s.Close()
			continue
		}
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), permission) || time.Since(began) > 5*time.Second {
			t.Errorf("%s: got %v after %v, want it named at once", permission, err, time.Since(began))
		}
	}
}

// A cluster that may not publish its state, or its chunks, learns it at once and
// does not try again and again.
func TestFault27DeniedCluster(t *testing.T) {
	url := guarded(t, without(t, "yardmaster.v1.state.c1"))
	served(t, url)
	c, err := client.Connect(t.Context(), client.Config{URL: url, Options: as("c1"), Cluster: "c1", Retry: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seq, err := c.PublishState(&servetest.State(t, 1, 1).State)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Wait(ctx, seq)
	if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "yardmaster.v1.state.c1") {
		t.Errorf("got %v, want a permissions violation that names the subject", err)
	}
}

// journal is a log that a test may read while it is written.
type journal struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.kept.Write(p)
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.kept.String()
}

// Whoever asks chooses where to be answered. Where the service may not answer, that
// is told, and does not make it not ready.
func TestRepliesThatAreDeniedHarmNobody(t *testing.T) {
	url := guarded(t, shipped)
	s := served(t, url)
	c1, _ := peer(t, url, "c1")
	for _, body := range [][]byte{servetest.Body(t, servetest.State(t, 1, 1)), []byte("hello")} {
		for _, subject := range []string{"yardmaster.v1.svc.decide", "yardmaster.v1.svc.validate"} {
			if err := c1.PublishRequest(subject, "_INBOX_nobody.x", body); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "denied", func() bool { return s.Stats().PermissionsDenied["(replies)"] == 4 })
	if check := failing(s); check != "" {
		t.Errorf("check %s fails", check)
	}
}

// What NATS denies the service makes it not ready, also if it is only an event.
func TestDeniedServiceIsNotReady(t *testing.T) {
	url := guarded(t, without(t, "yardmaster.v1.event.>"))
	s := served(t, url)
	check := func() error {
		for _, c := range s.Checks() {
			if c.Name == serve.CheckPermissions {
				return c.Err
			}
		}
		return nil
	}
	if err := check(); err != nil {
		t.Fatalf("before: %v", err)
	}
	c1, _ := peer(t, url, "c1")
	if err := c1.Publish("yardmaster.v1.state.c1", []byte("hello")); err != nil { // its refusal is an event
		t.Fatal(err)
	}
	eventually(t, "not ready", func() bool { return check() != nil })
	if err := check(); !strings.Contains(err.Error(), "yardmaster.v1.event.refused.c1") {
		t.Errorf("got %v, want the subject", err)
	}
}
