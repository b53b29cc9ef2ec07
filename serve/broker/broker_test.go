package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg broker.Config) *broker.Broker {
	t.Helper()
	b, err := broker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() }) // a second close does nothing
	return b
}

// What was acknowledged before a restart is there after it, and a client on a
// socket and one in the process see the same.
func TestRestartKeepsMessages(t *testing.T) {
	dir := t.TempDir()
	b := start(t, broker.Config{StoreDir: dir})
	nc, err := nats.Connect("", b.InProcess())
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	b = start(t, broker.Config{StoreDir: dir})
	if !strings.HasPrefix(b.URL(), "nats://127.0.0.1:") {
		t.Errorf("URL: got %s, want one on 127.0.0.1", b.URL())
	}
	nc, err = nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), "s")
	if err != nil || string(m.Data) != "kept" {
		t.Errorf("after the restart: got %v, %v", m, err)
	}
	if nc.MaxPayload() < wire.MaxPayload {
		t.Errorf("max payload: got %d, want at least that of the wire, %d", nc.MaxPayload(), wire.MaxPayload)
	}
}

func TestFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	first := start(t, broker.Config{StoreDir: dir})
	if _, err := broker.Start(broker.Config{StoreDir: dir}); !errors.Is(err, broker.ErrLocked) {
		t.Errorf("second broker: got %v, want ErrLocked", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, broker.Config{StoreDir: dir})
}

// A folder that cannot be written to is an error at once, not after a timeout,
// and leaves no lock behind.
func TestUnusableFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err := broker.Start(broker.Config{StoreDir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want an error that names the folder", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v, want an error at once", took)
	}
	if err := os.Remove(filepath.Join(dir, "jetstream")); err != nil {
		t.Fatal(err)
	}
	start(t, broker.Config{StoreDir: dir})
}

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := broker.Start(broker.Config{Host: "192.0.2.1", Port: 70_000})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"StoreDir", "Host", "Port"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
}
