package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// A request gets what the policy decides in-process.
func TestRequest(t *testing.T) {
	s := start(t, serve.Config{})
	state := servetest.State(t, 1, 1)
	reply, code := s.request(t, servetest.Body(t, state))
	if code != "" {
		t.Fatalf("got error %s: %s", code, reply.Data)
	}
	a, err := wire.DecodeAllocation(reply.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(state.Key(), &state.State); err != nil {
		t.Error(err)
	}
	want, err := heuristic.SRTF{}.Decide(t.Context(), &state.State)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Allocation(&state.State); !equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if a.Source != wire.SourcePolicy || a.Model != "srtf@1" || reply.Header.Get(wire.HeaderSource) != "policy" {
		t.Errorf("got source %s, model %s, header %s", a.Source, a.Model, reply.Header.Get(wire.HeaderSource))
	}
}

func equal(a, b env.Allocation) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Whatever is sent, there is a reply with a code, and the service goes on.
func TestRequestRefusals(t *testing.T) {
	s := start(t, serve.Config{})
	good := servetest.Body(t, servetest.State(t, 1, 1))
	change := func(old, new string) []byte {
		changed := bytes.Replace(good, []byte(old), []byte(new), 1)
		if bytes.Equal(changed, good) {
			t.Fatalf("%q is not in the message", old)
		}
		return changed
	}
	tests := []struct {
		name string
		body []byte
		code string
		path string
	}{
		{"nothing", nil, "400", ""},
		{"text", []byte("hello"), "400", ""},
		{"binary", []byte{0xff, 0, 1}, "400", ""},
		{"half a message", good[:len(good)/2], "400", "*"},
		{"deep", []byte(strings.Repeat("[", 1<<20)), "422", ""},
		{"deep inside", change(`"jobs":[`, `"jobs":[`+strings.Repeat("[", 1<<16)), "422", "state.jobs[0]"},
		{"other schema", change("yardmaster.state.v1", "yardmaster.state.v9"), "415", "schema"},
		{"unknown field", change(`"epoch":1`, `"epoch":1,"x":2`), "422", ""},
		{"missing field", change(`"epoch":1,`, ``), "422", "epoch"},
		{"cluster of no nodes", change(`"nodes":[`, `"nodes":[],"x":[`), "422", "state.cluster"},
		{"node of -1 GPUs", change(`{"type":0,"gpus":4}`, `{"type":0,"gpus":-1}`), "422", "state.cluster.nodes[0].gpus"},
		{"node of a type that is not there", change(`{"type":0,"gpus":4}`, `{"type":7,"gpus":4}`), "422", "state.cluster.nodes[0].type"},
		{"NaN", change(`"weight":1`, `"weight":NaN`), "400", "state.jobs[0].weight"},
		{"weight 0", change(`"weight":1`, `"weight":0`), "422", "state.jobs[0]"},
		{"bad cluster id", change(`"cluster":"c1"`, `"cluster":"c.1"`), "422", "cluster"},
	}
	for _, test := range tests {
		reply, code := s.request(t, test.body)
		var refusal wire.Error
		if err := json.Unmarshal(reply.Data, &refusal); err != nil {
			t.Errorf("%s: reply %q: %v", test.name, reply.Data, err)
			continue
		}
		if code != test.code || test.path != "*" && refusal.Path != test.path || reply.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%s: got code %s at %q (%s), want %s at %q", test.name, code, refusal.Path, refusal.Message, test.code, test.path)
		}
	}
	if _, code := s.request(t, good); code != "" {
		t.Errorf("a good request after the bad ones: got code %s", code)
	}
	stats, total := s.Stats(), int64(0)
	for _, n := range stats.Refused {
		total += n
	}
	if total != int64(len(tests)) || stats.Requests != int64(len(tests))+1 || stats.Allocations != 1 {
		t.Errorf("got stats %+v, want %d refused of %d", stats, len(tests), len(tests)+1)
	}
}

// The client library refuses what the broker would cut the connection for.
func TestRequestBeyondTheBrokersPayload(t *testing.T) {
	s := start(t, serve.Config{})
	_, err := s.nc.Request("yardmaster.v1.svc.decide", make([]byte, 9<<20), patience)
	if !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("got %v, want ErrMaxPayload", err)
	}
}

// Requests beyond the limit are refused at once, not queued.
func TestRequestsAreShed(t *testing.T) {
	guard := servetest.Guard(t)
	release := make(chan struct{})
	guard.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		<-release
		return heuristic.FIFO{}.Decide(ctx, s)
	})
	s := start(t, serve.Config{Guard: guard, Concurrency: 2})
	body := servetest.Body(t, servetest.State(t, 1, 1))
	var wg sync.WaitGroup
	codes := make([]string, 2)
	for i := range codes {
		wg.Go(func() {
			if m, err := s.nc.Request("yardmaster.v1.svc.decide", body, patience); err == nil {
				codes[i] = "code " + m.Header.Get(micro.ErrorCodeHeader)
			}
		})
	}
	eventually(t, "two requests in work", func() bool { return s.Stats().Requests == 2 })
	if _, code := s.request(t, body); code != "429" {
		t.Errorf("third request: got code %q, want 429", code)
	}
	close(release)
	wg.Wait()
	if codes[0] != "code " || codes[1] != "code " {
		t.Errorf("first two requests: got %q, want no error", codes)
	}
}

// `nats micro list|info|stats|ping` work against the service.
func TestMicro(t *testing.T) {
	s := start(t, serve.Config{Version: "1.2.3"})
	s.request(t, servetest.Body(t, servetest.State(t, 1, 1)))
	s.request(t, []byte("bad"))
	ask := func(verb string, into any) {
		t.Helper()
		m, err := s.nc.Request("$SRV."+verb+".yardmaster", nil, patience)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(m.Data, into); err != nil {
			t.Fatal(err)
		}
	}
	var info micro.Info
	ask("INFO", &info)
	if info.Name != "yardmaster" || info.Version != "1.2.3" || len(info.Endpoints) != 4+len(admin.Endpoints()) || info.Metadata["model"] != "srtf@1" {
		t.Errorf("INFO: got %+v", info)
	}
	var ping micro.Ping
	ask("PING", &ping)
	var stats micro.Stats
	ask("STATS", &stats)
	decide := stats.Endpoints[0]
	if decide.Subject != "yardmaster.v1.svc.decide" || decide.NumRequests != 2 || decide.NumErrors != 1 || !strings.Contains(decide.LastError, "malformed") {
		t.Errorf("STATS: got %+v", decide)
	}
	var data serve.Stats
	if err := json.Unmarshal(decide.Data, &data); err != nil {
		t.Fatal(err)
	}
	if data.Version != "1.2.3" || data.Model != "srtf@1" || data.BySource["policy"] != 1 || data.Refused["malformed"] != 1 || data.LatencyP50 <= 0 {
		t.Errorf("STATS data: got %+v", data)
	}
	m, err := s.nc.Request("yardmaster.v1.svc.status", nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var status serve.Stats
	if err := json.Unmarshal(m.Data, &status); err != nil || status.Requests != 2 {
		t.Errorf("status: got %s, %v", m.Data, err)
	}
}

// The handler needs no NATS, no folder and no port.
func TestHandler(t *testing.T) {
	h, err := serve.NewHandler(serve.Config{Guard: servetest.Guard(t)})
	if err != nil {
		t.Fatal(err)
	}
	state := servetest.State(t, 1, 1)
	data, err := h.Decide(t.Context(), servetest.Body(t, state))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := wire.DecodeAllocation(data); err != nil || a.Check(state.Key(), &state.State) != nil {
		t.Errorf("got %s, %v", data, err)
	}
	if _, err := h.Decide(t.Context(), nil); !isCode(err, wire.CodeMalformed) {
		t.Errorf("empty body: got %v, want malformed", err)
	}
}

func isCode(err error, code wire.Code) bool {
	refusal, ok := errors.AsType[*wire.Error](err)
	return ok && refusal.Code == code
}

const smallState = `{"schema":"yardmaster.state.v1","cluster":"c","epoch":1,"seq":1,"state":{"cluster":{"types":[{"name":"A","memory_gib":1}],"nodes":[{"type":0,"gpus":1}]},"now_ns":0,"round":0,"round_length_ns":1,"knowledge":"none","recent":{"length_ns":0,"arrivals":0,"arrived_gpus":0,"completed":0,"completed_service":0,"completed_square":0,"queue":0,"running":0,"busy_gpus":0},"jobs":[{"id":1,"model":"m","batch":1,"gpus":1,"weight":1,"submit_ns":0,"done":0,"remaining":-1,"service":0,"ran_ns":0,"restarts":0,"current":-1,"waiting_ns":0,"strategies":[{"type":0,"gpus":1,"nodes":1,"plan":{"data":1,"tensor":1,"pipeline":1,"micro_batch":1},"throughput":1,"restart_ns":0}]}]}}`

// FuzzHandler sends any bytes to the edge: a decision that passes the check, or
// a refusal with a code.
func FuzzHandler(f *testing.F) {
	h, err := serve.NewHandler(serve.Config{Guard: servetest.Guard(f)})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := h.Decide(f.Context(), []byte(smallState)); err != nil {
		f.Fatal(err) // the seed must reach the policy
	}
	f.Add([]byte(smallState)) // small, because the fuzzer spends its time on shortening what it finds
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		data, err := h.Decide(t.Context(), body)
		if err != nil {
			if _, ok := errors.AsType[*wire.Error](err); !ok {
				t.Fatalf("error without a code: %v", err)
			}
			return
		}
		s, err := wire.DecodeState(body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := wire.DecodeAllocation(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Check(s.Key(), &s.State); err != nil {
			t.Fatal(err)
		}
	})
}

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := serve.New(serve.Config{Prefix: "a b", Stream: "a.b", Window: -time.Second, Version: "one", MaxClusters: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"StoreDir", "Prefix", "Stream", "Window", "Version", "MaxClusters"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
}
