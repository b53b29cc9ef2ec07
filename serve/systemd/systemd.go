// Package systemd tells systemd how the service is: started, reloading,
// stopping, alive. It speaks the protocol of sd_notify(3), which is datagrams to
// the socket in NOTIFY_SOCKET; without that variable it does nothing.
package systemd

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// The environment of a service (systemd.service(5), sd_watchdog_enabled(3)).
const (
	socketEnv   = "NOTIFY_SOCKET"
	watchdogEnv = "WATCHDOG_USEC"
	watchdogPID = "WATCHDOG_PID"
)

// Ready says that the service is started, or has reloaded; status is for people.
func Ready(status string) error { return notify("READY=1", "STATUS="+oneLine(status)) }

// Reloading says that the configuration is being read again; Ready ends it. now
// is the time of CLOCK_MONOTONIC, which systemd compares with its own.
func Reloading() error {
	now, err := monotonic()
	if err != nil {
		return err
	}
	return notify("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(now.Microseconds(), 10))
}

// Stopping says that the service drains.
func Stopping() error { return notify("STOPPING=1", "STATUS=draining") }

// Watchdog tells systemd that the service is alive, twice per period that
// systemd allows, as long as alive returns nil, until ctx ends. It returns at
// once where no watchdog is asked for. A service that says nothing for a period
// is killed and restarted.
func Watchdog(ctx context.Context, alive func() error) error {
	period := watchdogPeriod()
	if period <= 0 {
		return nil
	}
	tick := time.NewTicker(period / 2)
	defer tick.Stop()
	for {
		if err := alive(); err != nil {
			return fmt.Errorf("systemd: watchdog: %w", err)
		}
		if err := notify("WATCHDOG=1"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// watchdogPeriod returns the period of the watchdog, 0 without one.
func watchdogPeriod() time.Duration {
	usec, err := strconv.ParseInt(os.Getenv(watchdogEnv), 10, 64)
	if err != nil || usec <= 0 || usec > int64(24*time.Hour/time.Microsecond) {
		return 0
	}
	if pid := os.Getenv(watchdogPID); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0 // meant for another process
	}
	return time.Duration(usec) * time.Microsecond
}

// notify sends assignments to systemd in one datagram.
func notify(assignments ...string) error {
	path := os.Getenv(socketEnv)
	if path == "" {
		return nil
	}
	if path[0] == '@' { // an abstract socket: its name begins with a zero byte
		path = "\x00" + path[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(strings.Join(assignments, "\n"))); err != nil {
		return fmt.Errorf("systemd: notify: %w", err)
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
