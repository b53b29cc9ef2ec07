package wire

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/schematest"
)

// faultsOf returns what Inspect says as "code path: message".
func faultsOf(v *Validation) (list []string) {
	for _, f := range v.Faults {
		list = append(list, fmt.Sprintf("%d %s: %s", f.Code, f.Path, f.Message))
	}
	return list
}

// numbered matches the offset of a fault of syntax.
var numbered = regexp.MustCompile(`byte \d+ is`)

// All that is wrong is told at once, each with its place.
func TestInspectTellsAll(t *testing.T) {
	good := committedState(t)
	if v := Inspect([]byte(good)); !v.Valid || len(v.Faults) != 0 || v.Cluster != "demo" || v.Epoch != 7 || v.StateSeq != 42 || v.Jobs != 2 || v.Bytes != len(good) {
		t.Errorf("a good state: got %+v", v)
	}
	tests := []struct {
		name    string
		replace []string
		want    []string
	}{
		{"types and fields", []string{
			`"epoch": 7`, `"epoch": "7"`,
			`"batch": 64, "gpus": 4`, `"batch": [64, {"a": 1}], "gpu": 4`,
			`1234.5`, `1e999`,
			`"waiting_ns": 320000000000,`, `"waiting_ns": 1, "waiting_ns": 2,`,
			`"oracle"`, `"all"`,
		}, []string{
			"422 epoch: want a number",
			"422 state.knowledge: env: knowledge is \"all\", want oracle, estimate or none",
			"422 state.jobs[0].batch: want a number",
			"422 state.jobs[0]: unknown field \"gpu\"",
			"422 state.jobs[0].done: 1e999 is out of range",
			"422 state.jobs[0].gpus: missing",
			"422 state.jobs[1].waiting_ns: given twice",
		}},
		{"meanings", []string{
			`"epoch": 7`, `"epoch": 0`, `state.v1`, `state.v9`, `"demo"`, `"a.b"`,
			`"batch": 64, "gpus": 4`, `"batch": 64, "gpus": -1`,
			`"id": 2`, `"id": 1`, `"throughput": 7.5`, `"throughput": 0`,
		}, []string{
			`415 schema: schema is "yardmaster.state.v9", want "yardmaster.state.v1"`,
			`422 cluster: wire: invalid cluster id: "a.b", want 1 to 32 of A-Z a-z 0-9 _ -`,
			"422 epoch: epoch is 0, want 1 to 2^53-1",
			"422 state.jobs[0]: gpus is -1, want >= 1",
			"422 state.jobs[1].strategies[1]: throughput is 0, want finite and > 0 steps/s",
			"422 state.jobs[1]: id 1 occurs twice",
		}},
		{"two lists", []string{
			`"jobs": [`, `"quotas": [{"tenant": "a", "type": 7, "gpus": 1}, {"tenant": "b", "type": 0, "gpus": -1}], "jobs": [`,
			`"id": 2`, `"id": 1`,
		}, []string{
			"422 state.quotas[0].type: is 7, want -1 to 1",
			"422 state.quotas[1].gpus: is -1, want 0 to 102400000",
			"422 state.jobs[1]: id 1 occurs twice",
		}},
		{"a fault and a broken message", []string{`"epoch": 7`, `"epoch": "7"`, `1234.5`, `NaN`}, []string{
			"422 epoch: want a number",
			"400 state.jobs[0].done: byte 0 is 'N', want a number",
		}},
	}
	for _, test := range tests {
		message := good
		for i := 0; i < len(test.replace); i += 2 {
			changed := strings.Replace(message, test.replace[i], test.replace[i+1], 1)
			if changed == message {
				t.Fatalf("%s: %q is not in the message", test.name, test.replace[i])
			}
			message = changed
		}
		got := faultsOf(Inspect([]byte(message)))
		for i := range got {
			got[i] = numbered.ReplaceAllString(got[i], "byte 0 is")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// For every message Inspect and DecodeState agree: on whether it is good, and on
// what is wrong first.
func TestInspectAgreesWithDecoder(t *testing.T) {
	invalid := 0
	for _, message := range mutants(t, committedState(t)) {
		if !agree(t, message) {
			invalid++
		}
	}
	if invalid < 500 {
		t.Errorf("got %d bad messages, want at least 500", invalid)
	}
}

// agree reports whether a message is good.
func agree(t *testing.T, message []byte) bool {
	t.Helper()
	s, err := DecodeState(message)
	v := Inspect(message)
	if v.Valid != (err == nil) || v.Valid != (len(v.Faults) == 0) {
		t.Fatalf("Inspect says %+v, the decoder %v\n%s", v, err, message)
	}
	if err == nil {
		if v.Cluster != s.Cluster || v.Epoch != s.Epoch || v.StateSeq != s.Seq || v.Jobs != len(s.State.Jobs) {
			t.Fatalf("Inspect says %+v of a state of %s:%d:%d", v, s.Cluster, s.Epoch, s.Seq)
		}
		return true
	}
	refusal, ok := errors.AsType[*Error](err)
	if !ok || refusal.Code != v.Faults[0].Code || refusal.Path != v.Faults[0].Path {
		t.Fatalf("Inspect says first %+v, the decoder %v\n%s", v.Faults[0], err, message)
	}
	for _, f := range v.Faults {
		if _, ok := Describe(StateSchema, f.Path); !ok {
			t.Fatalf("the schema says nothing about %q (%s)\n%s", f.Path, f.Message, message)
		}
	}
	return false
}

// The validators of env name the place of each fault in the way that placeOf reads:
// each row breaks one thing in a state, and its path must be found.
func TestPlaces(t *testing.T) {
	for want, ruin := range map[string]func(*env.State){
		"state.cluster":                    func(s *env.State) { s.Cluster.Types = nil },
		"state.cluster.types[1].name":      func(s *env.State) { s.Cluster.Types[1].Name = s.Cluster.Types[0].Name },
		"state.cluster.types[1]":           func(s *env.State) { s.Cluster.Types[1].MemoryGiB = -1 },
		"state.cluster.nodes[1].type":      func(s *env.State) { s.Cluster.Nodes[1].Type = 7 },
		"state.cluster.nodes[0].gpus":      func(s *env.State) { s.Cluster.Nodes[0].GPUs = 0 },
		"state":                            func(s *env.State) { s.RoundLen = 0 },
		"state.down[1]":                    func(s *env.State) { s.Down = []int{0, 0} },
		"state.quotas[0].type":             func(s *env.State) { s.Quotas = []env.Quota{{Type: 7}} },
		"state.quotas[0].gpus":             func(s *env.State) { s.Quotas = []env.Quota{{GPUs: -1}} },
		"state.quotas[1]":                  func(s *env.State) { s.Quotas = []env.Quota{{Tenant: "b"}, {Tenant: "a"}} },
		"state.jobs[1]":                    func(s *env.State) { s.Jobs[1].Weight = 0 },
		"state.jobs[1].strategies[1]":      func(s *env.State) { s.Jobs[1].Strategies[1].GPUs = 0 },
		"state.jobs[1] (again)":            func(s *env.State) { s.Jobs[1].ID = s.Jobs[0].ID },
		"state.jobs[1] (out of order)":     func(s *env.State) { s.Jobs[0].Submit = s.Jobs[1].Submit + time.Nanosecond },
		"state.jobs[0] (a negative index)": func(s *env.State) { s.Jobs[0].ID, s.Jobs[0].GPUs = -5, 0 },
	} {
		s, err := DecodeState([]byte(committedState(t)))
		if err != nil {
			t.Fatal(err)
		}
		// Decoded states share their arrays.
		s.State.Cluster.Types, s.State.Cluster.Nodes = slices.Clone(s.State.Cluster.Types), slices.Clone(s.State.Cluster.Nodes)
		s.State.Jobs[1].Strategies = slices.Clone(s.State.Jobs[1].Strategies)
		ruin(&s.State)
		err = s.State.Validate()
		if err == nil {
			t.Errorf("%s: the state is valid", want)
			continue
		}
		path, rest := placeOf(partsOf(err)[0])
		if want, _, _ = strings.Cut(want, " ("); path != want || strings.Contains(rest, "env:") || rest == "" {
			t.Errorf("%v: got path %q and %q, want %q", err, path, rest, want)
		}
	}
}

// What a small or large message can make Inspect say is bounded, and so is its time:
// it does not grow faster than the message.
func TestInspectIsBounded(t *testing.T) {
	good := committedState(t)
	job := good[strings.Index(good, `{"id": 1,`):strings.Index(good, `{"id": 2,`)]
	bad := strings.Replace(job, `"gpus": 4`, `"gpus": "4", "x": [[[]]]`, 1)
	message := strings.Replace(good, job, strings.Repeat(bad, 5000), 1)
	v := Inspect([]byte(message))
	if len(v.Faults) != MaxFaults || !v.More || v.Valid {
		t.Errorf("got %d faults, more %v, want %d and more", len(v.Faults), v.More, MaxFaults)
	}
	data, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeValidation(data)
	if diff := cmp.Diff(v, back); err != nil || diff != "" {
		t.Errorf("%v (-sent +read):\n%s", err, diff)
	}
	if err := schematest.Refusal(t, validator(t, ValidationSchema), data); err != nil {
		t.Error(err)
	}
}

// Where env stopped looking there may be more, and only there.
func TestInspectTellsThatThereMayBeMore(t *testing.T) {
	for bad := 1; bad < 2*env.MaxReported; bad++ {
		s, err := DecodeState([]byte(committedState(t)))
		if err != nil {
			t.Fatal(err)
		}
		job := s.State.Jobs[0]
		s.State.Jobs = nil
		for i := range bad {
			job.ID, job.Weight = int64(i), -1
			s.State.Jobs = append(s.State.Jobs, job)
		}
		data, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		v := Inspect(data)
		if more := bad >= env.MaxReported; v.Valid || len(v.Faults) != min(bad, env.MaxReported) || v.More != more {
			t.Errorf("%d bad jobs: got %d faults, more %v, want more %v", bad, len(v.Faults), v.More, more)
		}
	}
}

// A valid state is valid for both, whatever is in it, and its validation is one that
// the schema takes.
func TestInspectAcceptsEveryState(t *testing.T) {
	schema := validator(t, ValidationSchema)
	rapid.Check(t, func(rt *rapid.T) {
		data, err := Encode(drawState(rt))
		if err != nil {
			rt.Fatal(err)
		}
		v := Inspect(data)
		said, err := Encode(v)
		if err != nil || !v.Valid {
			rt.Fatalf("got %+v, %v", v, err)
		}
		if err := schematest.Refusal(t, schema, said); err != nil {
			rt.Fatal(err)
		}
	})
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte(committedState(f)))
	f.Add([]byte(`{"schema": 1, "schema": 2, "x": {"y": [1e999]}, "state": {"jobs": [{"id": "a"}, 7]}}`))
	f.Add([]byte(`{"state": {"cluster": {"nodes": [{"gpus": null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, data)
		if again, err := Encode(Inspect(data)); err != nil {
			t.Fatal(err)
		} else if _, err := DecodeValidation(again); err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
	})
}
