package systemd

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// listen is a systemd that hears what a service says.
func listen(t *testing.T, path string) func() string {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func() string {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	hear := listen(t, path)
	t.Setenv(socketEnv, path)
	for _, test := range []struct {
		say  func() error
		want string
	}{
		{func() error { return Ready("serving\non nats://x\nREADY=0") }, "READY=1\nSTATUS=serving on nats://x READY=0"},
		{Stopping, "STOPPING=1\nSTATUS=draining"},
		{Reloading, "RELOADING=1\nMONOTONIC_USEC="},
	} {
		if err := test.say(); err != nil {
			t.Fatal(err)
		}
		if got := hear(); !strings.HasPrefix(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestAbstractSocket(t *testing.T) {
	name := "yardmaster-test-" + strconv.FormatInt(time.Now().UnixNano(), 10)
	hear := listen(t, "\x00"+name)
	t.Setenv(socketEnv, "@"+name)
	if err := Stopping(); err != nil {
		t.Fatal(err)
	}
	if got := hear(); !strings.HasPrefix(got, "STOPPING=1") {
		t.Errorf("got %q", got)
	}
}

// Without systemd nothing is said and nothing is wrong.
func TestNoSystemd(t *testing.T) {
	t.Setenv(socketEnv, "")
	t.Setenv(watchdogEnv, "")
	alive := func() error { t.Error("asked without a watchdog"); return nil }
	if err := errors.Join(Ready("x"), Reloading(), Stopping(), Watchdog(t.Context(), alive)); err != nil {
		t.Error(err)
	}
	t.Setenv(socketEnv, "/nowhere/notify")
	if err := Stopping(); err == nil || !strings.Contains(err.Error(), "/nowhere/notify") {
		t.Errorf("got %v, want an error with the path", err)
	}
}

// The watchdog is fed while the service is alive, and no longer.
func TestWatchdog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	hear := listen(t, path)
	t.Setenv(socketEnv, path)
	t.Setenv(watchdogEnv, "2000") // 2 ms
	errStuck := errors.New("stuck")
	calls := 0
	err := Watchdog(t.Context(), func() error {
		if calls++; calls > 3 {
			return errStuck
		}
		return nil
	})
	if !errors.Is(err, errStuck) {
		t.Errorf("got %v, want %v", err, errStuck)
	}
	for range 3 {
		if got := hear(); got != "WATCHDOG=1" {
			t.Errorf("got %q", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Watchdog(ctx, func() error { return nil }); err != nil {
		t.Errorf("after the end: %v", err)
	}
	t.Setenv(watchdogPID, "1")
	if d := watchdogPeriod(); d != 0 {
		t.Errorf("another process's watchdog: got %v, want none", d)
	}
}
