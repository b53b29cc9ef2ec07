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

	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// ask asks a service what it decides.
func ask(t *testing.T, url string, seq uint64) (*nats.Msg, *wire.Allocation) {
	t.Helper()
	nc := connect(t, url)
	defer nc.Close()
	answer, err := nc.Request("yardmaster.v1.svc.decide", servetest.Body(t, servetest.State(t, 1, seq)), patience)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.DecodeAllocation(answer.Data)
	if err != nil {
		t.Fatalf("%v: %s", err, answer.Data)
	}
	return answer, m
}

// With a token, the endpoint of a real process is closed to those without it, and
// the container's health check still works.
func TestServeToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, page := serveProcess(t, []string{"YM_HTTP_TOKEN_FILE=" + token})
	for authorization, want := range map[string]int{"": http.StatusUnauthorized, "Bearer t0ken": http.StatusOK} {
		r, err := http.NewRequest(http.MethodGet, page+"/status", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%q: got %d, want %d", authorization, answer.StatusCode, want)
		}
	}
	if code, _, stderr := command(t, "healthcheck", "--http", strings.TrimPrefix(page, "http://")); code != 0 {
		t.Errorf("healthcheck: exit %d: %s", code, stderr)
	}
	if code, _, stderr := command(t, "healthcheck", "--http", "127.0.0.1:1"); code != exitFailure || !strings.Contains(stderr, "refused") {
		t.Errorf("healthcheck of nobody: exit %d: %s", code, stderr)
	}
}

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

	// A new deadline, mode and model take effect with the next decision.
	if _, before := ask(t, url, 1); before.DeadlineMS != 500 || before.Source != wire.SourceLP || before.Reason != wire.ReasonNoModel {
		t.Errorf("before: got %v ms by %s, %q", before.DeadlineMS, before.Source, before.Reason)
	}
	saveModel(t, p.run)
	write("guard:\n  deadline: 20s\n")
	p.signal(t, syscall.SIGHUP)
	p.await(t, "reloaded", 0)
	if _, after := ask(t, url, 2); after.DeadlineMS != 20_000 || after.Source != wire.SourcePolicy {
		t.Errorf("after: got %v ms by %s, %q", after.DeadlineMS, after.Source, after.Reason)
	}
	write("guard:\n  deadline: 20s\nmodels:\n  mode: lp\n")
	p.signal(t, syscall.SIGHUP)
	p.await(t, "reloaded", 1)
	if _, after := ask(t, url, 3); after.Source != wire.SourceLP {
		t.Errorf("mode lp: got %s, %q", after.Source, after.Reason)
	}
	// A damaged model is no reason to lose the one in charge, nor the deadline.
	if err := os.WriteFile(filepath.Join(p.run, "model", "weights.safetensors"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("guard:\n  deadline: 10s\n")
	p.signal(t, syscall.SIGHUP)
	if r := p.await(t, "reload: the configuration cannot be applied, the old one is kept", 0); !strings.Contains(fmt.Sprint(r["error"]), "SHA-256") {
		t.Errorf("logged %v", r)
	}
	if _, after := ask(t, url, 4); after.DeadlineMS != 20_000 || after.Source != wire.SourceLP {
		t.Errorf("with a damaged model: got %v ms by %s", after.DeadlineMS, after.Source)
	}
	saveModel(t, p.run)

	write("log:\n  level: warn\nbroker:\n  port: 1\nprefix: other\n")
	p.signal(t, syscall.SIGHUP)
	const changed = "reload: a setting changed"
	if r := p.await(t, changed, 2); r["key"] != "log.level" || r["from"] != "info" || r["to"] != "warn" || r["where"] != file+":2" {
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
