package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/serve/settings"
)

// The file that config print writes is one that config validate likes, and says
// what the flags said.
func TestConfigPrintIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "yardmaster.yaml")
	if err := os.WriteFile(file, []byte(mustRun(t, "config", "print", "--run", "a run", "--deadline", "2s", "--verbose")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "config", "validate", file); !strings.Contains(out, ": good, ") {
		t.Errorf("got %s", out)
	}
	r, err := settings.Load(settings.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Config; c.Run != "a run" || c.Serve.Guard.Deadline.String() != "2s" || c.Log.Level != "debug" {
		t.Errorf("got run %q, deadline %v, level %s", c.Run, c.Serve.Guard.Deadline, c.Log.Level)
	}
}

func TestConfigPrintResolved(t *testing.T) {
	t.Setenv("YM_PREFIX", "cluster")
	out := mustRun(t, "config", "print", "--resolved", "--port", "1")
	for _, want := range []string{"KEY ", "env (YM_PREFIX)", "flag (--port)", "default"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	var list []serveSetting
	if err := json.Unmarshal([]byte(mustRun(t, "config", "print", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != len(settings.All()) {
		t.Errorf("got %d settings, want %d", len(list), len(settings.All()))
	}
	for _, s := range list {
		if s.Key == "prefix" && (s.Value != "cluster" || s.Source != "env" || s.Where != "YM_PREFIX" || s.Flag != "--prefix") {
			t.Errorf("got %+v", s)
		}
	}
	if table := mustRun(t, "config", "print", "--table"); strings.Count(table, "\n") != len(list)+2 {
		t.Errorf("got %d lines of %d settings", strings.Count(table, "\n"), len(list))
	}
	if !json.Valid([]byte(mustRun(t, "config", "schema"))) {
		t.Error("the schema is no JSON")
	}
}

func TestConfigMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "y.yaml")
	if err := os.WriteFile(file, []byte("guard:\n  deadlin: 1s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := file + ":2: guard.deadlin: unknown key, the nearest known one is guard.deadline"
	for _, test := range []struct {
		args []string
		code int
	}{
		{[]string{"config", "validate", file}, exitFailure},
		{[]string{"config", "print", "--config", file}, exitUsage},
		{[]string{"serve", "--config", file}, exitUsage},
		{[]string{"healthcheck", "--config", file}, exitUsage},
	} {
		code, _, stderr := command(t, test.args...)
		if code != test.code || !strings.Contains(stderr, want) {
			t.Errorf("%v: got %d %s, want %d with %s", test.args, code, stderr, test.code, want)
		}
	}
	if code, _, stderr := command(t, "serve"); code != exitUsage || !strings.Contains(stderr, "YM_RUN") {
		t.Errorf("serve without a run: got %d %s", code, stderr)
	}
}

// To wait for no time is no way to hear an answer.
func TestTimeoutsArePositive(t *testing.T) {
	for _, args := range [][]string{{"healthcheck", "--timeout", "0s"}, {"replay", "--run", "run", "--timeout", "-1s"}} {
		if code, _, stderr := command(t, args...); code != exitUsage || !strings.Contains(stderr, "--timeout is "+args[len(args)-1]) {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}
