package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/serve/schematest"
)

// validator compiles a schema with an independent library.
func validator(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	text, ok := Schema(name)
	if !ok {
		t.Fatalf("no schema %s", name)
	}
	return schematest.Compile(t, text)
}

// Every schema names the fields of its Go type, requires and bounds what the
// decoder does, and describes each field.
func TestSchemasMatchTheTypes(t *testing.T) {
	nodes := map[string]*node{
		StateSchema: stateNode, AllocationSchema: allocationNode, ConfigurationSchema: configurationNode, AckSchema: ackNode, ErrorSchema: errorNode, EventSchema: eventNode, ValidationSchema: validationNode,
		ExplanationSchema: explanationNode,
	}
	for name, n := range nodes {
		text, ok := Schema(name)
		if !ok {
			t.Fatalf("no schema %s", name)
		}
		var root rule
		strict := json.NewDecoder(bytes.NewReader(text))
		if err := strict.Decode(&root); err != nil {
			t.Fatal(err)
		}
		for _, problem := range compare(&root, &root, n, name) {
			t.Error(problem)
		}
	}
}

// compare returns where r says something else than n.
func compare(root, r *rule, n *node, path string) (problems []string) {
	r = r.resolve(root)
	bad := func(format string, args ...any) {
		problems = append(problems, path+": "+fmt.Sprintf(format, args...))
	}
	kind := map[reflect.Kind]string{
		reflect.Struct: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean",
		reflect.Int64: "integer", reflect.Uint64: "integer", reflect.Float64: "number",
	}
	for n.kind == reflect.Pointer {
		n = n.elem
	}
	got := fmt.Sprint(r.Type)
	if r.Const == nil && r.Enum == nil && got != kind[n.kind] && got != "["+kind[n.kind]+" null]" {
		bad("type is %v, want %s", r.Type, kind[n.kind])
	}
	switch n.kind {
	case reflect.Slice:
		if r.MaxItems != n.max {
			bad("maxItems is %d, want %d", r.MaxItems, n.max)
		}
		return append(problems, compare(root, r.Items, n.elem, path+"[]")...)
	case reflect.Struct:
		var names, required []string
		for i, f := range n.fields {
			names = append(names, f.name)
			if n.needed&(1<<i) != 0 {
				required = append(required, f.name)
			}
			p := r.Properties[f.name]
			if p == nil {
				continue // reported with the names
			}
			if p.Description == "" {
				bad("%s has no description", f.name)
			}
			problems = append(problems, compare(root, p, f.node, path+"."+f.name)...)
		}
		slices.Sort(names)
		if diff := cmp.Diff(names, slices.Sorted(maps.Keys(r.Properties))); diff != "" {
			bad("properties (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(required, r.Required); diff != "" {
			bad("required (-want +got):\n%s", diff)
		}
		if r.Additional != false {
			bad("additionalProperties is %v, want false", r.Additional)
		}
	}
	return problems
}

func TestSchemasListTheValues(t *testing.T) {
	var sources, reasons, codes, codeNameList, kinds, whys []any
	for _, w := range Whys() {
		whys = append(whys, w)
	}
	for _, s := range Sources() {
		sources = append(sources, string(s))
	}
	for _, r := range Reasons() {
		reasons = append(reasons, string(r))
	}
	for _, c := range slices.Sorted(maps.Keys(codeNames)) {
		codes, codeNameList = append(codes, float64(c)), append(codeNameList, codeNames[c])
	}
	for _, kind := range EventKinds() {
		kinds = append(kinds, kind)
	}
	for _, test := range []struct {
		schema, field string
		want          []any
	}{
		{AllocationSchema, "source", sources},
		{AllocationSchema, "reason", reasons},
		{ErrorSchema, "code", codes},
		{ErrorSchema, "name", codeNameList},
		{EventSchema, "event", kinds},
		{ValidationSchema, "faults.code", codes},
		{ValidationSchema, "faults.name", codeNameList},
		{ExplanationSchema, "decision.source", sources},
		{ExplanationSchema, "decision.reason", reasons},
		{ExplanationSchema, "jobs.why", whys},
	} {
		text, _ := Schema(test.schema)
		var root rule
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatal(err)
		}
		part := root.resolve(&root)
		for _, step := range splitPath(test.field) {
			if part = part.Properties[step].resolve(&root); part.Items != nil {
				part = part.Items.resolve(&root)
			}
		}
		if diff := cmp.Diff(test.want, part.Examples); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.schema, test.field, diff)
		}
	}
}

func TestSchemaAcceptsEveryState(t *testing.T) {
	s := validator(t, StateSchema)
	rapid.Check(t, func(rt *rapid.T) {
		data, err := Encode(drawState(rt))
		if err != nil {
			rt.Fatal(err)
		}
		if err := schematest.Refusal(t, s, data); err != nil {
			rt.Fatalf("%v\n%s", err, data)
		}
	})
}

// beyond lists what no schema can say: faults that only the decoder finds in
// the messages of TestSchemaAgreesWithDecoder.
var beyond = []string{
	"want 0 to 1", // indexes of GPU types
	"want a name used once", "occurs twice", "out of order", "ascending",
	"to now_ns", "remaining is -1", "where knowledge is none", "want -1 to", "want 1 to gpus",
	"integer in range", // 1e3 is an integer for a schema
}

// replacements of one value in a good message.
var replacements = []string{`null`, `true`, `-1`, `0`, `1`, `3`, `1.5`, `1e400`, `9007199254740992`, `""`, `"x"`, `"a.b"`, `[]`, `{}`, `[null]`, `{"unknown":1}`}

// Each message differs from a good one in one value, missing or replaced.
// Schema and decoder agree on all of them, but for what no schema can say.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	limits := `"down": [1], "quotas": [{"tenant": "vision", "type": -1, "gpus": 4}], "jobs":`
	good := strings.Replace(committedState(t), `"jobs":`, limits, 1)
	good = strings.Replace(good, `"checkpoint": true`, `"checkpoint": true, "offload": true`, 1)
	good = strings.Replace(good, `"restart_ns": 0}`, `"restart_ns": 0, "share": 2}`, 1)
	first, second := strings.Index(good, `{"id": 1,`), strings.Index(good, `{"id": 2,`)
	good = good[:first] + good[second:] // one job is enough, and twice as fast
	good = strings.Replace(good, `"model": "lstm"`, `"model": "lstm", "tenant": "vision"`, 1)
	s := validator(t, StateSchema)
	if _, err := DecodeState([]byte(good)); err != nil {
		t.Fatal(err)
	}
	both, neither := 0, 0
	for _, message := range mutants(t, good) {
		_, err := DecodeState(message)
		said := schematest.Refusal(t, s, message)
		switch {
		case err == nil && said == nil:
			both++
		case err != nil && said != nil:
			neither++
		case err == nil:
			t.Errorf("decoder accepts, schema refuses: %v\n%s", said, message)
		case !slices.ContainsFunc(beyond, func(text string) bool { return strings.Contains(err.Error(), text) }):
			t.Errorf("schema accepts, decoder refuses: %v\n%s", err, message)
		}
	}
	if both < 100 || neither < 500 {
		t.Errorf("got %d good and %d bad messages, want at least 100 and 500", both, neither)
	}
}

// mutants returns message with one value left out or replaced, for every value.
func mutants(t *testing.T, message string) (all [][]byte) {
	t.Helper()
	var root any
	d := json.NewDecoder(strings.NewReader(message))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	emit := func() {
		data, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				old := v[name]
				delete(v, name)
				emit()
				for _, r := range replacements {
					v[name] = json.RawMessage(r)
					emit()
				}
				v[name] = old
				walk(old)
			}
			v["another"] = 1
			emit()
			delete(v, "another")
		case []any:
			for i, old := range v {
				v[i] = json.RawMessage(`null`)
				emit()
				v[i] = old
				walk(old)
			}
		}
	}
	walk(root)
	return all
}

func TestValidateAndDescribe(t *testing.T) {
	good := committedState(t)
	if schema, err := Validate([]byte(good)); schema != StateSchema || err != nil {
		t.Errorf("good state: got %s, %v", schema, err)
	}
	_, err := Validate([]byte(`{"schema": "yardmaster.nothing.v1"}`))
	if refusal, ok := errors.AsType[*Error](err); !ok || refusal.Code != CodeSchema || refusal.Path != "schema" {
		t.Errorf("unknown schema: got %v", err)
	}
	if _, err := Validate([]byte(good[:100])); err == nil {
		t.Error("half a message is valid")
	}
	for path, want := range map[string]Part{
		"state.jobs[3].strategies[0].share": {Want: "one of 0, 1, 2, 4, 8", Description: "takes 1/share of each of its GPUs; 0 and 1 are the whole GPU"},
		"state.cluster.nodes[0].gpus":       {Want: "integer, 1 to 1024", Description: "GPUs of the node"},
		"state.quotas[0]":                   {Want: "object", Fields: []string{"gpus", "tenant", "type"}},
		"state.jobs[0].weight":              {Want: "number, > 0", Description: "importance"},
		"state.down":                        {Want: "array, 0 to 100000 elements", Description: "indexes of the nodes out of service now, ascending"},
	} {
		got, ok := Describe(StateSchema, path)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", path, ok, diff)
		}
	}
	if _, ok := Describe(StateSchema, "state.nothing"); ok {
		t.Error("state.nothing is described")
	}
	if v, ok := At([]byte(good), "state.jobs[1].strategies[1].throughput"); !ok || string(v) != "7.5" {
		t.Errorf("At: got %s, %v, want 7.5", v, ok)
	}
	if _, ok := At([]byte(good), "state.jobs[2]"); ok {
		t.Error("At found a third job")
	}
}

// FuzzValidate checks that whatever a file holds, the fault is an *Error whose
// place the schema describes.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(committedState(f)))
	f.Add([]byte(`{"schema": "yardmaster.ack.v1", "cluster": "c", "epoch": 1, "state_seq": 0, "id": "x", "applied": true}`))
	f.Add([]byte(`{"schema": "yardmaster.configuration.v1", "configuration": {"knobs": [{"name": "", "values": [1e999]}]}}`))
	f.Add([]byte(`{"schema": "yardmaster.state.v1", "state": {"jobs": [{"strategies": [{"plan": {"zero": "x"}}]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		schema, err := Validate(data)
		if err == nil {
			if hugeExponent.Match(data) {
				return
			}
			if err := schematest.Refusal(t, validators(t)[schema], data); err != nil {
				t.Fatalf("the receiver accepts what its schema refuses: %v", err)
			}
			return
		}
		fault, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("error %v is no *Error", err)
		}
		_, known := Schema(schema)
		if _, ok := Describe(schema, fault.Path); known && !ok {
			t.Fatalf("schema %s says nothing about %q", schema, fault.Path)
		}
		if value, ok := At(data, fault.Path); ok && !json.Valid(value) {
			t.Fatalf("At %q: got %q", fault.Path, value)
		}
	})
}

// hugeExponent matches numbers that cost the validator, which computes with
// fractions, minutes; the decoder reads them at once.
var hugeExponent = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4,}`)

var compiled = map[string]*jsonschema.Schema{}

func validators(t testing.TB) map[string]*jsonschema.Schema {
	for _, name := range Schemas() {
		if compiled[name] == nil {
			compiled[name] = validator(t, name)
		}
	}
	return compiled
}
