package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// Fault 32: the configuration is broken while the service runs. A real process
// gets a real SIGHUP: it keeps what it had, says which line and key are wrong, and
// serves on; a right file then takes effect.
func TestFault32BrokenConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "yardmaster.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log:\n  level: info\n")
	p, url, page := serveProcess(t, nil, "--config", file)
	alive := func(when string) {
		t.Helper()
		nc, err := nats.Connect(url)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		defer nc.Close()
		if _, err := nc.Request("yardmaster.v1.svc.status", nil, patience); err != nil {
			t.Fatalf("%s: %v:\n%s", when, err, p.log())
		}
		if r, err := http.Get(page + "/readyz"); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: not ready: %v, %v", when, r, err)
		} else {
			r.Body.Close()
		}
	}
	const kept = "reload: the configuration is wrong, the old one is kept"
	for i, broken := range []struct{ text, where, key, want string }{
		{"log:\n  level: debug\nguard:\n  deadlin: 1s\n", file + ":4", "guard.deadlin", "guard.deadline"},
		{"log:\n  level: loud\n", file + ":2", "log.level", "debug, info, warn or error"},
		{"log: [unclosed\n", file, "", "["},
		{"", "", "", "no such file"},
	} {
		if write(broken.text); broken.want == "no such file" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		p.signal(t, syscall.SIGHUP)
		r := p.await(t, kept, i)
		if r["where"] != broken.where || r["key"] != broken.key || !strings.Contains(fmt.Sprint(r["error"]), broken.want) || r["level"] != "ERROR" {
			t.Errorf("broken file %d: logged %v, want %q, %q and %q", i, r, broken.where, broken.key, broken.want)
		}
		alive(fmt.Sprintf("after broken file %d", i))
	}
	if r := p.find("reloaded", 0); r != nil {
		t.Errorf("a broken file was applied: %v", r)
	}

	write("log:\n  level: warn\nbroker:\n  port: 1\nprefix: other\n")
	p.signal(t, syscall.SIGHUP)
	const changed = "reload: a setting changed"
	if r := p.await(t, changed, 0); r["key"] != "log.level" || r["from"] != "info" || r["to"] != "warn" || r["where"] != file+":2" {
		t.Errorf("logged %v", r)
	}
	if r := p.await(t, "reload: a setting changed that needs a restart", 0); r["key"] != "prefix" {
		t.Errorf("logged %v, want the prefix; the port is a flag's", r)
	}
	alive("after a right file")
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit %d:\n%s", code, p.log())
	}
	if r := p.find("stopping", 0); r != nil {
		t.Errorf("the level is warn, but it logged %v", r)
	}
}
