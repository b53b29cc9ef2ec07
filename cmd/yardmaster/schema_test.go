package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/serve/wire"
)

func schemaCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"schema"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestSchemaShow(t *testing.T) {
	code, list, _ := schemaCommand(t, "show")
	if code != 0 || strings.TrimSpace(list) != strings.Join(wire.Schemas(), "\n") {
		t.Errorf("show: got %d, %q", code, list)
	}
	for _, name := range wire.Schemas() {
		code, text, _ := schemaCommand(t, "show", name)
		if code != 0 || !json.Valid([]byte(text)) || !strings.Contains(text, name) {
			t.Errorf("show %s: got %d, %s", name, code, text)
		}
	}
	if code, text, _ := schemaCommand(t, "show", "ack"); code != 0 || !strings.Contains(text, wire.AckSchema) {
		t.Errorf("show ack: got %d, %s", code, text)
	}
	if code, _, stderr := schemaCommand(t, "show", "nothing"); code != exitFailure || !strings.Contains(stderr, wire.StateSchema) {
		t.Errorf("show nothing: got %d, %s", code, stderr)
	}
}

func TestSchemaValidate(t *testing.T) {
	const committed = "../../serve/wire/testdata/state.v1.json"
	if code, out, stderr := schemaCommand(t, "validate", committed); code != 0 || !strings.Contains(out, wire.StateSchema) {
		t.Fatalf("good state: got %d, %s %s", code, out, stderr)
	}
	good, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"wrong type", `"batch": 64, "gpus": 4`, `"batch": 64, "gpus": "four"`, []string{"state.jobs[0].gpus", `value: "four"`, "want:  integer, >= 1: GPUs it asks for"}},
		{"out of range", `"batch": 64, "gpus": 4`, `"batch": 64, "gpus": -1`, []string{"state.jobs[0]", "gpus is -1", "value: {"}},
		{"missing", `"restarts": 0, "current": -1`, `"current": -1`, []string{"state.jobs[1].restarts", "missing", "fix:   add the field"}},
		{"unknown", `"tenant": "vision"`, `"user": "vision"`, []string{"state.jobs[0]", `"user"`, "fields batch, ", "remove the field"}},
		{"schema", "state.v1", "state.v9", []string{"schema", `value: "yardmaster.state.v9"`, wire.AckSchema}},
		{"cut off", "\n}\n", "", []string{"malformed", "whole"}},
	}
	for _, test := range tests {
		bad := strings.Replace(string(good), test.old, test.new, 1)
		if bad == string(good) {
			t.Fatalf("%s: %q is not in the message", test.name, test.old)
		}
		file := filepath.Join(t.TempDir(), "bad.json")
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, stderr := schemaCommand(t, "validate", file)
		if code != exitFailure || out != "" {
			t.Errorf("%s: got exit %d and %q, want 1 and nothing", test.name, code, out)
		}
		for _, want := range append(test.want, file) {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q is not in\n%s", test.name, want, stderr)
			}
		}
	}
	if code, _, stderr := schemaCommand(t, "validate", filepath.Join(t.TempDir(), "none")); code != exitFailure || !strings.Contains(stderr, "none") {
		t.Errorf("no file: got %d, %s", code, stderr)
	}
}
