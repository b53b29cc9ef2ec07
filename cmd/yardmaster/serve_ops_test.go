package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is a buffer that is read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// find returns the log record with this message, or nil.
func (l *lines) find(t *testing.T, msg string) map[string]any {
	t.Helper()
	l.mu.Lock()
	text := l.buf.String()
	l.mu.Unlock()
	for line := range strings.Lines(text) {
		var record map[string]any
		if !strings.HasSuffix(line, "\n") {
			continue // half written
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("log line is not JSON: %q", line)
		}
		if record["msg"] == msg {
			return record
		}
	}
	return nil
}

// The flags of serve: probes and metrics while it runs without a model, logs as
// JSON, exit 0 when told to stop.
func TestServeOperations(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log lines
	done := make(chan int, 1)
	dir := t.TempDir()
	go func() {
		done <- run(ctx, []string{"serve", "--run", dir, "--store", filepath.Join(dir, "store"), "--port", "0", "--http", "127.0.0.1:0", "--log-format", "json"}, io.Discard, &log)
	}()
	end := time.Now().Add(30 * time.Second)
	for ; log.find(t, "serving") == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not serving")
		}
	}
	url := log.find(t, "operations")["url"].(string)
	for path, want := range map[string]string{"/readyz?verbose": "[+]nats ok", "/metrics": "\nyardmaster_ready 1\n", "/healthz": "ok"} {
		r, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: got %d %s, %v, want %q", path, r.StatusCode, body, err, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if code := <-done; code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}

func TestServeRefusesFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--pprof"}, exitUsage, "--http"},
		{[]string{"--log-format", "xml"}, exitUsage, "text or json"},
		{[]string{"--pprof", "--http", "0.0.0.0:0"}, exitUsage, "loopback"},
		{[]string{"--http", "8088"}, exitUsage, "host:port"},
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), append([]string{"serve", "--run", t.TempDir(), "--port", "0"}, test.args...), io.Discard, &stderr)
		if code != test.code || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%v: got %d %s, want %d with %q", test.args, code, stderr.String(), test.code, test.want)
		}
	}
}
