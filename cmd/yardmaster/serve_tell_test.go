package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// systemd hears from a real process when it is ready, reads its settings again,
// and stops, and all the time that it is alive.
func TestServeTellsSystemd(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	await := func(want string) {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		for b := make([]byte, 4096); ; {
			n, err := c.Read(b)
			if err != nil {
				t.Fatalf("no %s: %v", want, err)
			}
			if strings.HasPrefix(string(b[:n]), want) {
				return
			}
		}
	}
	p, _, _ := serveProcess(t, []string{"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=20000"})
	await("READY=1\nSTATUS=serving on nats://127.0.0.1:")
	await("WATCHDOG=1")
	await("WATCHDOG=1")
	p.signal(t, syscall.SIGHUP)
	await("RELOADING=1\nMONOTONIC_USEC=")
	await("READY=1")
	p.signal(t, syscall.SIGTERM)
	await("STOPPING=1")
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d:\n%s", code, p.log())
	}
}

// Spans of a real process come to a collector before it ends.
func TestServeSendsSpans(t *testing.T) {
	var mu sync.Mutex
	var spans strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		spans.Write(data) // protocol buffers keep text as it is
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer collector.Close()
	p, url, _ := serveProcess(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_SERVICE_NAME=yard-7", "OTEL_EXPORTER_OTLP_COMPRESSION=none"})
	ask(t, url, 1)
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d:\n%s", code, p.log())
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"yardmaster.decide", "yardmaster.lp", "yardmaster.publish", "yard-7"} {
		if !strings.Contains(spans.String(), want) {
			t.Errorf("the collector got no %s", want)
		}
	}
}
