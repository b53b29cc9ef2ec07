package replay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/schematest"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// schemas compiles all schemas with an independent validator.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	compiled := make(map[string]*jsonschema.Schema)
	for _, name := range wire.Schemas() {
		text, ok := wire.Schema(name)
		if !ok {
			t.Fatalf("no schema %s", name)
		}
		compiled[name] = schematest.Compile(t, text)
	}
	return compiled
}

// failing returns a cluster whose nodes fail, whose tenants have quotas and
// whose GPUs are shared.
func failing(t *testing.T) *sim.Sim {
	t.Helper()
	catalogue := perf.Default()
	cluster, err := catalogue.ParseCluster("V100=8,P100=8,K80=8", 4)
	if err != nil {
		t.Fatal(err)
	}
	performance, err := perf.New(perf.Config{Catalogue: catalogue, Shares: []int{2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(sim.Config{
		Cluster: cluster, Candidates: performance, Workload: servetest.Workload(40),
		Failures: sim.Failures{MTBF: 2 * time.Hour, MTTR: time.Hour},
		Quotas:   []sim.QuotaChange{{At: time.Hour, Quota: env.Quota{Tenant: "t", Type: env.AnyType, GPUs: 20}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(1); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every message of a replay over NATS is valid by its published schema: states
// with all optional parts, both kinds of decisions, acks, refusals and status.
func TestReplayedMessagesFitTheirSchemas(t *testing.T) {
	g := servetest.Guard(t)
	g.Configurer = tuner
	s := start(t, g)
	nc, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	heard, err := nc.SubscribeSync("yardmaster.v1.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := heard.SetPendingLimits(-1, -1); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Run(t.Context(), replay.Config{Client: client.Config{URL: s.URL(), Cluster: "c1"}, Cluster: replay.Of(failing(t)), Timeout: patience}); err != nil {
		t.Fatal(err)
	}
	partial := `{"schema": "yardmaster.ack.v1", "cluster": "c1", "epoch": 1, "state_seq": 1, "id": "x", "applied": false, "jobs": [{"job": 1, "applied": false}]}`
	if err := nc.Publish("yardmaster.v1.ack.c1", []byte(partial)); err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish("yardmaster.v1.state.c2", []byte(`{"schema": "yardmaster.state.v1", "cluster": "c2"}`)); err != nil {
		t.Fatal(err)
	}
	compiled, seen := schemas(t), map[string]int{}
	check := func(name string, data []byte) {
		if err := schematest.Refusal(t, compiled[name], data); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		seen[name]++
		for _, field := range []string{`"down":[`, `"quotas":[`, `"share":`} {
			if strings.Contains(string(data), field) {
				seen[field]++
			}
		}
	}
	ask := func(subject string, body []byte) []byte {
		m, err := nc.Request("yardmaster.v1."+subject, body, patience)
		if err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	check(wire.StatusSchema, ask("svc.status", nil))
	state := servetest.Body(t, servetest.State(t, 1, 1))
	check(wire.ValidationSchema, ask("svc.validate", state))
	check(wire.ValidationSchema, ask("svc.validate", state[:len(state)/2]))
	check(wire.ExplanationSchema, ask("svc.explain", state))
	for endpoint, request := range map[string]string{
		admin.Models: `{}`, admin.Mode: `{"cluster": "c3", "mode": "lp"}`, admin.Load: `{"name": "demo"}`, admin.Promote: `{"kind": "configuration"}`,
	} {
		check(admin.Schemas()[endpoint], []byte(request))
		reply := ask("admin."+endpoint, []byte(request))
		if endpoint == admin.Models || endpoint == admin.Mode { // the others are refused: the models are fixed
			check(wire.AdminSchema, reply)
		}
	}
	for seen[wire.ErrorSchema] == 0 || seen[wire.EventSchema] == 0 { // the last that anybody says
		m, err := heard.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		switch token := strings.Split(m.Subject, ".")[2]; {
		case token == "svc" || token == "admin": // asked above
		case token == "state" && strings.HasSuffix(m.Subject, ".c1"):
			check(wire.StateSchema, m.Data)
		case strings.HasSuffix(m.Subject, ".allocation"):
			check(wire.AllocationSchema, m.Data)
		case strings.HasSuffix(m.Subject, ".configuration"):
			check(wire.ConfigurationSchema, m.Data)
		case token == "ack":
			check(wire.AckSchema, m.Data)
		case strings.Contains(m.Subject, ".event.refused."):
			check(wire.ErrorSchema, m.Data)
		case token == "event":
			check(wire.EventSchema, m.Data)
		}
	}
	for _, want := range append(wire.Schemas(), `"down":[`, `"quotas":[`, `"share":`) {
		if seen[want] == 0 {
			t.Errorf("no message with %s: got %v", want, seen)
		}
	}
	t.Logf("%v", seen)
}
