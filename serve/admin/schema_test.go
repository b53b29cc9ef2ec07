package admin

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/schematest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// validator compiles a schema with an independent library.
func validator(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, ok := wire.Schema(name)
	if !ok {
		t.Fatalf("no schema %s", name)
	}
	return schematest.Compile(t, text)
}

// object is the part of a schema that is compared with a struct.
type object struct {
	Required   []string
	Properties map[string]struct {
		Description string
		Items       json.RawMessage
		object
	}
	Defs map[string]object `json:"$defs"`
}

func parse[T any](t *testing.T, text []byte) (o T) {
	t.Helper()
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// Every schema has the fields of its Go type, requires those that are always there,
// and describes each.
func TestSchemasMatchTheTypes(t *testing.T) {
	of := func(name string) object {
		text, ok := wire.Schema(name)
		if !ok {
			t.Fatalf("no schema %s", name)
		}
		return parse[object](t, text)
	}
	reply := of(wire.AdminSchema)
	for name, test := range map[string]struct {
		o object
		v any
	}{
		"reply":     {reply, Reply{}},
		"slot":      {reply.Defs["slot"], Slot{}},
		"setting":   {reply.Defs["setting"], live.Setting{}},
		"modes":     {reply.Properties["modes"].object, live.Assignment{}},
		"available": {parse[object](t, reply.Properties["available"].Items), repository.Entry{}},
		"models":    {of(wire.AdminModelsSchema), ModelsRequest{}},
		"load":      {of(wire.AdminLoadSchema), LoadRequest{}},
		"kind":      {of(wire.AdminKindSchema), KindRequest{}},
		"mode":      {of(wire.AdminModeSchema), ModeRequest{}},
	} {
		var all, required []string
		for f := range reflect.TypeOf(test.v).Fields() {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			all = append(all, field)
			if options != "omitempty" {
				required = append(required, field)
			}
		}
		slices.Sort(all)
		if got := slices.Sorted(maps.Keys(test.o.Properties)); !slices.Equal(got, all) || !slices.Equal(test.o.Required, required) {
			t.Errorf("%s: got %q, required %q, want %q, required %q", name, got, test.o.Required, all, required)
		}
		for field, p := range test.o.Properties {
			if p.Description == "" {
				t.Errorf("%s: %s has no description", name, field)
			}
		}
	}
	for _, endpoint := range Endpoints() {
		if _, ok := wire.Schema(Schemas()[endpoint]); !ok {
			t.Errorf("requests of %s have no schema", endpoint)
		}
	}
}

// beyond lists what the schemas cannot say: what one field asks of another.
var beyond = []string{"takes a cluster's own mode away", `mode is ""`, "share of canary", "which is for canary only"}

// Each message differs from a good one in one value, missing or replaced. Schema and
// reader agree on all of them, but for what one field asks of another.
func TestSchemasAgreeWithReaders(t *testing.T) {
	values := []string{
		`null`, `true`, `false`, `-1`, `0`, `0.5`, `1`, `2`, `1e400`, `""`, `"x"`, `"a.b"`, `"latest"`, `"1.2.3"`, `"01.2.3"`, `"1.2"`, `"1.2.9999999999"`,
		`"job-strategy"`, `"configuration"`, `"canary"`, `"lp"`, `"off"`, `[]`, `{}`, `"` + strings.Repeat("n", 65) + `"`, `"` + strings.Repeat("n", 33) + `"`,
	}
	for _, test := range []struct {
		schema, good string
		read         func([]byte) error
	}{
		{wire.AdminModelsSchema, `{}`, func(b []byte) error { _, err := DecodeModels(b); return err }},
		{wire.AdminLoadSchema, `{"name": "demo", "version": "1.2.3", "promote": true}`, func(b []byte) error { _, err := DecodeLoad(b); return err }},
		{wire.AdminKindSchema, `{"kind": "configuration"}`, func(b []byte) error { _, err := DecodeKind(b); return err }},
		{wire.AdminModeSchema, `{"cluster": "c1", "mode": "canary", "share": 0.5, "unset": false}`, func(b []byte) error { _, err := DecodeMode(b); return err }},
	} {
		s := validator(t, test.schema)
		good := parse[map[string]json.RawMessage](t, []byte(test.good))
		messages := []map[string]json.RawMessage{good}
		for _, name := range append(slices.Sorted(maps.Keys(good)), "another") {
			without := maps.Clone(good)
			delete(without, name)
			messages = append(messages, without)
			for _, value := range values {
				m := maps.Clone(good)
				m[name] = json.RawMessage(value)
				messages = append(messages, m)
			}
		}
		fine, bad := 0, 0
		for _, m := range messages {
			body, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			err, said := test.read(body), schematest.Refusal(t, s, body)
			switch {
			case err == nil && said == nil:
				fine++
			case err != nil && said != nil:
				bad++
			case err == nil:
				t.Errorf("%s: the reader accepts, the schema refuses: %v\n%s", test.schema, said, body)
			case !slices.ContainsFunc(beyond, func(text string) bool { return strings.Contains(err.Error(), text) }):
				t.Errorf("%s: the schema accepts, the reader refuses: %v\n%s", test.schema, err, body)
			}
			if _, ok := err.(*wire.Error); err != nil && !ok {
				t.Errorf("%s: error %v is no *wire.Error", test.schema, err)
			}
		}
		if fine == 0 || bad == 0 {
			t.Errorf("%s: %d good and %d bad messages, want some of both", test.schema, fine, bad)
		}
	}
}

// What the reader is stricter about than encoding/json, and what it takes without a
// body.
func TestRequestsAreReadStrictly(t *testing.T) {
	for _, body := range []string{
		`{"NAME": "demo"}`, `{"name": "demo", "name": "other"}`, `{"name": "demo"} {}`, `[]`, `null`, `{"name": "demo"`, strings.Repeat(" ", maxRequest+1),
	} {
		if r, err := DecodeLoad([]byte(body)); err == nil {
			t.Errorf("%.40s: got %+v", body, r)
		}
	}
	if r, err := DecodeKind(nil); err != nil || r.Kind != models.JobStrategy {
		t.Errorf("no body: got %+v, %v", r, err)
	}
	if _, err := DecodeModels([]byte(" \n")); err != nil {
		t.Error(err)
	}
}

// A reply as services make it is one that the schema takes.
func TestReplySchema(t *testing.T) {
	s := validator(t, Schema)
	full := Reply{
		Schema: Schema, Server: "a", Done: "listed", Warning: "w", Source: "folder", JobStrategy: Slot{Active: "demo@1"}, LastError: "e",
		Modes: &live.Assignment{Format: 1, Default: live.Setting{Mode: live.Canary, Share: 0.5}, Clusters: map[string]live.Setting{"c1": {Mode: live.Off}}},
		Loads: map[string]int64{"ok": 1}, Available: []repository.Entry{{
			ID: repository.ID{Name: "demo", Version: repository.Version{Major: 1}}, Kind: models.JobStrategy, Added: time.Unix(1, 0).UTC(), Metrics: map[string]float64{"jct": 1},
		}},
	}
	least := Reply{Schema: Schema, Modes: &live.Assignment{Format: 1, Default: live.Setting{Mode: live.LP}}}
	wrong := full
	wrong.Schema = "another"
	for _, test := range []struct {
		r    Reply
		good bool
	}{{full, true}, {least, true}, {wrong, false}} {
		body, err := json.Marshal(test.r)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Refusal(t, s, body); (err == nil) != test.good {
			t.Errorf("%s: got %v", body, err)
		}
	}
}
