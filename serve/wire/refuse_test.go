package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func committedState(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/state.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each row changes one thing in a good message.
func TestDecodeStateRefuses(t *testing.T) {
	good := committedState(t)
	tests := []struct {
		name     string
		old, new string // replaced once; old "" replaces all
		code     Code
		path     string
	}{
		{"empty", "", "", CodeMalformed, ""},
		{"text", "", "hello", CodeMalformed, ""},
		{"not an object", "", "[]", CodeInvalid, ""},
		{"null", "", "null", CodeInvalid, ""},
		{"missing field", `"waiting_ns": 320000000000,`, "", CodeInvalid, "state.jobs[1].waiting_ns"},
		{"trailing text", "\n}\n", "\n} {", CodeMalformed, ""},
		{"other schema", "state.v1", "state.v2", CodeSchema, "schema"},
		{"bad cluster id", `"demo"`, `"a.b"`, CodeInvalid, "cluster"},
		{"wildcard cluster id", `"demo"`, `"*"`, CodeInvalid, "cluster"},
		{"long cluster id", `"demo"`, `"` + strings.Repeat("x", 33) + `"`, CodeInvalid, "cluster"},
		{"epoch 0", `"epoch": 7`, `"epoch": 0`, CodeInvalid, "epoch"},
		{"epoch beyond float64", `"epoch": 7`, `"epoch": 9007199254740992`, CodeInvalid, "epoch"},
		{"seq 0", `"seq": 42`, `"seq": 0`, CodeInvalid, "seq"},
		{"negative seq", `"seq": 42`, `"seq": -1`, CodeInvalid, "seq"},
		{"fractional seq", `"seq": 42`, `"seq": 42.0`, CodeInvalid, "seq"},
		{"string seq", `"seq": 42`, `"seq": "42"`, CodeInvalid, "seq"},
		{"missing seq", `"seq": 42,`, ``, CodeInvalid, "seq"},
		{"seq twice", `"seq": 42`, `"seq": 42, "seq": 42`, CodeInvalid, "seq"},
		{"unknown field", `"gpus": 4, "tenant"`, `"gpu": 4, "tenant"`, CodeInvalid, "state.jobs[0]"},
		{"other case", `"batch": 64`, `"Batch": 64`, CodeInvalid, "state.jobs[0]"},
		{"negative gpus", `"batch": 64, "gpus": 4`, `"batch": 64, "gpus": -1`, CodeInvalid, "state.jobs[0]"},
		{"string gpus", `"batch": 64, "gpus": 4`, `"batch": 64, "gpus": "4"`, CodeInvalid, "state.jobs[0].gpus"},
		{"NaN", `1234.5`, `NaN`, CodeMalformed, "state.jobs[0].done"},
		{"infinite", `1234.5`, `1e999`, CodeInvalid, "state.jobs[0].done"},
		{"hex", `1234.5`, `0x10`, CodeMalformed, "state.jobs[0].done"},
		{"leading zero", `1234.5`, `01`, CodeMalformed, "state.jobs[0].done"},
		{"leading plus", `1234.5`, `+1`, CodeMalformed, "state.jobs[0].done"},
		{"no digit after the point", `1234.5`, `1.`, CodeMalformed, "state.jobs[0].done"},
		{"no digit after the exponent", `1234.5`, `1e`, CodeMalformed, "state.jobs[0].done"},
		{"negative", `1234.5`, `-1`, CodeInvalid, "state.jobs[0]"},
		{"bad strategy", `"throughput": 7.5`, `"throughput": 0`, CodeInvalid, "state.jobs[1].strategies[1]"},
		{"unknown type", `{"type": 1, "gpus": 1`, `{"type": 2, "gpus": 1`, CodeInvalid, "state.jobs[1].strategies[1]"},
		{"impossible current", `"current": 0`, `"current": 5`, CodeInvalid, "state.jobs[0]"},
		{"no strategies", `"strategies": [{"type": 0, "gpus": 4, "nodes": 1, "plan": {"data": 4, "tensor": 1, "pipeline": 1, "micro_batch": 64}, "throughput": 20, "restart_ns": 30000000000}]`, `"strategies": []`, CodeInvalid, "state.jobs[0]"},
		{"impossible node", `{"type": 1, "gpus": 4}`, `{"type": 9, "gpus": 4}`, CodeInvalid, "state.cluster.nodes[1].type"},
		{"no nodes", `[{"type": 0, "gpus": 4}, {"type": 1, "gpus": 4}]`, `null`, CodeInvalid, "state.cluster"},
		{"types twice", `"K80"`, `"V100"`, CodeInvalid, "state.cluster.types[1].name"},
		{"ids twice", `"id": 2`, `"id": 1`, CodeInvalid, "state.jobs[1]"},
		{"out of order", `"submit_ns": 0`, `"submit_ns": 500000000000`, CodeInvalid, "state.jobs[1]"},
		{"from the future", `"submit_ns": 400000000000`, `"submit_ns": 800000000000`, CodeInvalid, "state.jobs[1]"},
		{"knowledge", `"oracle"`, `"all"`, CodeInvalid, "state.knowledge"},
		{"control character", `"lstm"`, "\"ls\ntm\"", CodeMalformed, "state.jobs[1].model"},
		{"not UTF-8", `"lstm"`, "\"ls\xfftm\"", CodeMalformed, "state.jobs[1].model"},
		{"broken escape", `"lstm"`, `"\q"`, CodeMalformed, "state.jobs[1].model"},
		{"long string", `"lstm"`, `"` + strings.Repeat("x", MaxStringBytes+1) + `"`, CodeTooLarge, "state.jobs[1].model"},
		{"deep", `"lstm"`, strings.Repeat("[", 100), CodeInvalid, "state.jobs[1].model"},
		{"number beyond int64", `"now_ns": 720000000000`, `"now_ns": 9223372036854775808`, CodeInvalid, "state.now_ns"},
		{"number of a thousand digits", `1234.5`, strings.Repeat("9", 1000), CodeInvalid, "state.jobs[0].done"},
	}
	for _, test := range tests {
		message := test.new
		if test.old != "" {
			if message = strings.Replace(good, test.old, test.new, 1); message == good {
				t.Fatalf("%s: %q is not in the message", test.name, test.old)
			}
		}
		_, err := DecodeState([]byte(message))
		refusal, ok := errors.AsType[*Error](err)
		if !ok || refusal.Code != test.code || refusal.Path != test.path {
			t.Errorf("%s: got %v, want %v at %q", test.name, err, test.code, test.path)
		}
	}
}

// A message cut anywhere is refused as malformed, and never panics.
func TestDecodeStateRefusesEveryPrefix(t *testing.T) {
	good := strings.TrimSpace(committedState(t))
	for n := range len(good) {
		_, err := DecodeState([]byte(good[:n]))
		if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != CodeMalformed {
			t.Fatalf("first %d bytes: got %v, want malformed", n, err)
		}
		_, _ = PeekState([]byte(good[:n])) // must not panic
	}
}

func TestLimits(t *testing.T) {
	good := committedState(t)
	node := `{"type": 1, "gpus": 4}`
	many := strings.Replace(good, node, node+strings.Repeat(`,{"type":1,"gpus":4}`, 100_000), 1)
	strategies := strings.Replace(good, `"throughput": 20, "restart_ns": 30000000000}`,
		`"throughput": 20, "restart_ns": 0}`+strings.Repeat(`,{"type":0,"gpus":1,"nodes":1,"plan":{"data":1,"tensor":1,"pipeline":1,"micro_batch":1},"throughput":1,"restart_ns":0}`, 256), 1)
	huge := good + strings.Repeat(" ", MaxBytes)
	for name, message := range map[string]string{"nodes": many, "strategies": strategies, "bytes": huge} {
		_, err := DecodeState([]byte(message))
		if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != CodeTooLarge {
			t.Errorf("too many %s: got %v, want too_large", name, err)
		}
	}
	if _, err := PeekState([]byte(huge)); err == nil {
		t.Error("PeekState took more than MaxBytes")
	}
}

// No message of a few bytes may make the reader allocate much: what an array
// costs in memory it costs in bytes of the message, within a small factor.
func TestElementsAreBounded(t *testing.T) {
	v := reflect.New(reflect.TypeFor[State]()).Elem()
	d := decoder{scanner: scanner{data: []byte("1")}}
	n := &node{kind: reflect.Slice, elem: compile(reflect.TypeFor[float64]()), max: 10}
	d.path[0], d.deep, d.elements = step{n, 0}, 1, MaxElements
	err := d.grow(n, v.FieldByName("State").FieldByName("Jobs"), 0)
	if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != CodeTooLarge {
		t.Errorf("one element more than MaxElements: got %v, want too_large", err)
	}
}

// Numbers and names of codes are part of the protocol.
func TestCodesAreStable(t *testing.T) {
	want := map[Code]string{400: "malformed", 409: "conflict", 413: "too_large", 415: "schema", 422: "invalid", 424: "incomplete", 429: "overloaded", 500: "internal", 503: "unavailable"}
	if diff := cmp.Diff(want, codeNames); diff != "" {
		t.Errorf("codes changed (-want +got):\n%s", diff)
	}
}

// FuzzDecodeState checks that no bytes make the decoder panic, that what it
// accepts encoding/json reads alike, and that it survives a round trip.
func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(committedState(f)))
	f.Add([]byte(strings.Join(strings.Fields(committedState(f)), "")))
	f.Add([]byte(`{"schema":"yardmaster.state.v1","cluster":"\u0061","epoch":1,"seq":1,"state":{}}`))
	f.Add([]byte(`{"a":[[[{"b":"\\\""}]]],"epoch":1e5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, peekErr := PeekState(data)
		got, err := DecodeState(data)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("error %v is no *Error", err)
			}
			return
		}
		if peekErr != nil || key != got.Key() {
			t.Fatalf("PeekState: got %v, %v, want %v", key, peekErr, got.Key())
		}
		var want State
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses what was accepted: %v", err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatalf("unlike encoding/json (-want +got):\n%s", diff)
		}
		again, err := Encode(got)
		if err != nil {
			t.Fatalf("encode what was decoded: %v", err)
		}
		if _, err := DecodeState(again); err != nil {
			t.Fatalf("decode again: %v", err)
		}
	})
}

// FuzzDecodeDecision does the same for what clients read.
func FuzzDecodeDecision(f *testing.F) {
	for _, name := range []string{"allocation.v1.json", "configuration.v1.json"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	s, err := DecodeState([]byte(committedState(f)))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := DecodeAllocation(data); err == nil && a.Check(s.Key(), &s.State) == nil {
			if err := a.Allocation(&s.State).Validate(&s.State); err != nil {
				t.Fatalf("Check accepted what Validate refuses: %v", err)
			}
		}
		_, _ = DecodeConfiguration(data)
		_, _ = DecodeAck(data)
		_, _ = DecodeError(data)
	})
}

func TestSubjects(t *testing.T) {
	s, err := NewSubjects("")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.State("c1"), s.Decisions("*"), s.Decision("c1", KindAllocation), s.Ack("c1"), s.Endpoint("decide"), s.Event("refused", "c1"), LastToken(s.State("c1"))}
	want := []string{"yardmaster.v1.state.c1", "yardmaster.v1.decision.*.*", "yardmaster.v1.decision.c1.allocation", "yardmaster.v1.ack.c1", "yardmaster.v1.svc.decide", "yardmaster.v1.event.refused.c1", "c1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"a..b", "*", "a.>", " ", "$SYS", "a.b.c.d.e.f.g.h.i"} {
		if _, err := NewSubjects(bad); err == nil {
			t.Errorf("prefix %q: got no error", bad)
		}
	}
}

func TestClusterIDs(t *testing.T) {
	for _, bad := range []string{"", "a.b", "*", ">", "a b", "é", "a\n", strings.Repeat("x", 33)} {
		if err := CheckCluster(bad); !errors.Is(err, ErrCluster) {
			t.Errorf("%q: got %v, want ErrCluster", bad, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[A-Za-z0-9_-]{1,32}`).Draw(t, "id")
		if err := CheckCluster(id); err != nil {
			t.Error(err)
		}
	})
}
