package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/serve/relay"
)

// A relay against a service, which it finds by the context that $NATS_CONTEXT
// names, as the nats tool does.
func TestRelay(t *testing.T) {
	url := serveInBackground(t, t.TempDir())
	config := t.TempDir()
	contexts := filepath.Join(config, "nats", "context")
	if err := os.MkdirAll(contexts, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(contexts, "lab.json"), []byte(`{"url": "`+url+`", "description": "a test"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("NATS_CONTEXT", "lab")
	plan, state := filepath.Join(config, "plan"), filepath.Join(config, "state.json")
	text, err := os.ReadFile("testdata/state.json")
	if err != nil {
		t.Fatal(err)
	}
	var message struct{ State json.RawMessage }
	if err := json.Unmarshal(text, &message); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, message.State, 0o600); err != nil {
		t.Fatal(err)
	}
	printed := mustRun(t, "relay", "--cluster-id", "lab", "--state", "cat "+state, "--apply", "cat $YARDMASTER_PLAN > "+plan,
		"--rounds", "2", "--interval", "1ms", "--timeout", "20s", "--wait", "20s", "--json")
	var report relay.Report
	if err := json.Unmarshal([]byte(printed), &report); err != nil || report != (relay.Report{Rounds: 2, Applied: 2}) {
		t.Errorf("printed %s, %v, want 2 rounds, applied", printed, err)
	}
	lines, err := os.ReadFile(plan)
	if err != nil || !strings.Contains(string(lines), "start\t") {
		t.Errorf("plan: got %q, %v", lines, err)
	}
	if code, _, stderr := command(t, "relay", "--cluster-id", "lab", "--state", "true"); code != exitUsage || !strings.Contains(stderr, "apply") {
		t.Errorf("without --apply: exit code %d, %s", code, stderr)
	}
	t.Setenv("NATS_CONTEXT", "none")
	if code, _, stderr := command(t, "relay", "--cluster-id", "lab", "--state", "true", "--apply", "true"); code != exitFailure || !strings.Contains(stderr, "none.json") {
		t.Errorf("unknown context: exit code %d, %s", code, stderr)
	}
}
