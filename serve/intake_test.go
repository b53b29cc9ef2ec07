package serve_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// A published state is decided, sent to subscribers and stored.
func TestPublishedState(t *testing.T) {
	s := start(t, serve.Config{})
	msgs := s.follow(t, "c1")
	state := servetest.State(t, 7, 42)
	s.publish(t, "c1", servetest.Body(t, state))
	m := next(t, msgs)
	a, err := wire.DecodeAllocation(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(state.Key(), &state.State); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		"Nats-Msg-Id": "c1:7:42:allocation", wire.HeaderSchema: "yardmaster.allocation.v1", wire.HeaderEpoch: "7", wire.HeaderStateSeq: "42",
		wire.HeaderSource: "policy", wire.HeaderModel: "srtf@1", wire.HeaderDeadline: "10000",
	}
	for k, v := range want {
		if got := m.Header.Get(k); got != v {
			t.Errorf("header %s: got %q, want %q", k, got, v)
		}
	}
	eventually(t, "stored", func() bool { return s.Stats().Stored == 1 })
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "YM_DECISIONS")
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	if cfg.MaxMsgsPerSubject != 64 || cfg.MaxAge != 7*24*time.Hour || cfg.Duplicates != 2*time.Minute || !cfg.AllowDirect {
		t.Errorf("stream: got %+v", cfg)
	}
	stored, err := stream.GetLastMsgForSubject(t.Context(), "yardmaster.v1.decision.c1.allocation")
	if err != nil || !bytes.Equal(stored.Data, m.Data) {
		t.Errorf("stored: got %v, %v", stored, err)
	}
}

// Fault 7, a state comes twice: the same decision again, not decided and not
// stored twice. An older one: refused. A new epoch: a new sequence.
func TestFault07DuplicateState(t *testing.T) {
	s := start(t, serve.Config{})
	msgs := s.follow(t, "c1")
	refused := subscribe(t, s.nc, "yardmaster.v1.event.refused.c1")
	send := func(epoch, seq uint64) { s.publish(t, "c1", servetest.Body(t, servetest.State(t, epoch, seq))) }

	send(1, 5)
	first := next(t, msgs)
	send(1, 5)
	again := next(t, msgs)
	if !bytes.Equal(first.Data, again.Data) || again.Header.Get("Nats-Msg-Id") != "c1:1:5:allocation" {
		t.Errorf("duplicate: got %s, want %s", again.Data, first.Data)
	}
	send(1, 4)
	refusal, err := wire.DecodeError(next(t, refused).Data)
	if err != nil || refusal.Code != wire.CodeConflict || refusal.StateSeq != 4 || refusal.Epoch != 1 {
		t.Errorf("older state: got %v, %v, want a conflict", refusal, err)
	}
	send(1, 9) // a gap is fine: states are snapshots
	if a := nextAllocation(t, msgs); a.StateSeq != 9 {
		t.Errorf("after a gap: got %d, want 9", a.StateSeq)
	}
	send(2, 1)
	if a := nextAllocation(t, msgs); a.Epoch != 2 || a.StateSeq != 1 {
		t.Errorf("new epoch: got %d:%d, want 2:1", a.Epoch, a.StateSeq)
	}
	send(1, 10) // a straggler of the old epoch
	if refusal, err := wire.DecodeError(next(t, refused).Data); err != nil || refusal.Code != wire.CodeConflict {
		t.Errorf("old epoch: got %v, %v, want a conflict", refusal, err)
	}
	eventually(t, "three stored", func() bool { return s.Stats().Stored == 4 }) // acks, that of the duplicate included
	stats := s.Stats()
	if stats.Allocations != 3 || stats.Duplicates != 1 || stats.Stale != 2 || stats.States != 6 {
		t.Errorf("got %+v", stats)
	}
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "YM_DECISIONS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 3 {
		t.Errorf("stream holds %d messages, want 3", n)
	}
}

// While one state is in work the newest of those that come in is next; the
// others are dropped, in whatever order they came.
func TestNewestStateWins(t *testing.T) {
	guard := servetest.Guard(t)
	entered, release := make(chan struct{}, 16), make(chan struct{})
	guard.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		entered <- struct{}{}
		<-release
		return heuristic.SRTF{}.Decide(ctx, s)
	})
	s := start(t, serve.Config{Guard: guard})
	msgs := s.follow(t, "c1")
	send := func(seq uint64) { s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, seq))) }
	send(1)
	<-entered
	for _, seq := range []uint64{3, 2, 7, 5, 7, 1, 6} {
		send(seq)
	}
	eventually(t, "all came in", func() bool { return s.Stats().States == 8 })
	close(release)
	if a, b := nextAllocation(t, msgs).StateSeq, nextAllocation(t, msgs).StateSeq; a != 1 || b != 7 {
		t.Errorf("decided %d and %d, want 1 and 7", a, b)
	}
	if stats := s.Stats(); stats.Allocations != 2 || stats.Superseded != 1 || stats.Stale != 3 || stats.Duplicates != 2 {
		t.Errorf("got %+v, want 2 decided, 1 superseded (3), 3 stale (2, 5, 6), 2 duplicates (7, 1)", stats)
	}
}

// Fault 8, states come in another order, twice or not at all, of many clusters:
// each cluster hears a rising sequence of decisions that ends with its newest
// state.
func TestFault08ReorderedStates(t *testing.T) {
	s := start(t, serve.Config{})
	msgs := s.follow(t, "*")
	r := rand.New(rand.NewPCG(1, 2))
	clusters := []string{"a", "b", "c", "d"}
	const newest = 40
	type sent struct {
		cluster string
		seq     uint64
	}
	var plan []sent
	for _, c := range clusters {
		for seq := uint64(1); seq < newest; seq++ {
			for range r.IntN(3) { // dropped, once or twice
				plan = append(plan, sent{c, seq})
			}
		}
		plan = append(plan, sent{c, newest})
	}
	r.Shuffle(len(plan), func(i, k int) { plan[i], plan[k] = plan[k], plan[i] })
	state := servetest.State(t, 1, 1)
	for _, p := range plan {
		state.Cluster, state.Seq = p.cluster, p.seq
		s.publish(t, p.cluster, servetest.Body(t, state))
	}
	last := map[string]uint64{}
	for done := 0; done < len(clusters); {
		a := nextAllocation(t, msgs)
		if a.StateSeq < last[a.Cluster] {
			t.Fatalf("cluster %s: decision for %d after %d", a.Cluster, a.StateSeq, last[a.Cluster])
		}
		if a.StateSeq == newest && last[a.Cluster] != newest {
			done++
		}
		last[a.Cluster] = a.StateSeq
	}
}

// What cannot be decided is refused, to the sender and to observers, and the
// cluster's next good state is decided.
func TestPublishedRefusals(t *testing.T) {
	s := start(t, serve.Config{})
	msgs := s.follow(t, "c1")
	replies := subscribe(t, s.nc, "replies")
	events := subscribe(t, s.nc, "yardmaster.v1.event.refused.*")
	good := string(servetest.Body(t, servetest.State(t, 1, 9)))
	tests := []struct {
		name, cluster, body string
		code                wire.Code
	}{
		{"text", "c1", "hello", wire.CodeMalformed},
		{"nothing", "c1", "", wire.CodeMalformed},
		{"cut", "c1", good[:len(good)/2], wire.CodeMalformed},
		{"another cluster's subject", "c2", good, wire.CodeConflict},
		{"impossible", "c1", strings.Replace(good, `"weight":1`, `"weight":0`, 1), wire.CodeInvalid},
		{"seq 0", "c1", strings.Replace(good, `"seq":9`, `"seq":0`, 1), wire.CodeInvalid},
		{"huge seq in a bad state", "c1", strings.Replace(strings.Replace(good, `"seq":9`, `"seq":9007199254740991`, 1), `"weight":1`, `"weight":0`, 1), wire.CodeInvalid},
	}
	for _, test := range tests {
		err := s.nc.PublishRequest("yardmaster.v1.state."+test.cluster, "replies", []byte(test.body))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		m := next(t, replies)
		refusal, err := wire.DecodeError(m.Data)
		if err != nil || refusal.Code != test.code || m.Header.Get("Nats-Service-Error-Code") == "" {
			t.Errorf("%s: got %s, %v, want %v", test.name, m.Data, err, test.code)
		}
		if event := next(t, events); event.Subject != "yardmaster.v1.event.refused."+test.cluster || !bytes.Equal(event.Data, m.Data) {
			t.Errorf("%s: event on %s: %s", test.name, event.Subject, event.Data)
		}
	}
	// A cluster id that is no id never becomes part of a subject again.
	if err := s.nc.PublishRequest("yardmaster.v1.state.c\x01é", "replies", []byte("x")); err != nil {
		t.Fatal(err)
	}
	next(t, replies)
	s.publish(t, "c1", []byte(good))
	if a := nextAllocation(t, msgs); a.StateSeq != 9 {
		t.Errorf("after refusals: got %d, want 9", a.StateSeq)
	}
	if n := len(events); n != 0 {
		t.Errorf("%d more events, want none", n)
	}
}

// The table of clusters is bounded; forgotten ones come back with their next
// state, and their last decision is read from the stream.
func TestManyClusters(t *testing.T) {
	s := start(t, serve.Config{MaxClusters: 3})
	msgs := s.follow(t, "*")
	state := servetest.State(t, 1, 1)
	for _, c := range []string{"a", "b", "c", "d", "e"} {
		state.Cluster = c
		s.publish(t, c, servetest.Body(t, state))
		nextAllocation(t, msgs)
	}
	eventually(t, "all stored", func() bool { return s.Stats().Stored == 5 })
	if n := s.Stats().Clusters; n != 3 {
		t.Errorf("got %d clusters, want 3", n)
	}
	state.Cluster = "a" // forgotten, and the same state again
	s.publish(t, "a", servetest.Body(t, state))
	nextAllocation(t, msgs)
	if stats := s.Stats(); stats.Allocations != 5 || stats.Resumed != 1 || stats.Duplicates != 1 {
		t.Errorf("got %+v, want 5 allocations and the sixth from the stream", stats)
	}
}

// Configurations come once per window of the cluster's clock, before the
// allocation for the same state.
func TestConfigurationWindows(t *testing.T) {
	guard := servetest.Guard(t)
	guard.ConfigurerName = "tuner@1"
	calls := 0
	guard.Configurer = servetest.Configurer(func(_ context.Context, s *env.State) (env.Configuration, error) {
		if calls++; calls == 2 {
			return env.Configuration{}, errors.New("boom")
		}
		return env.Configuration{Scheduler: "tiresias", Knobs: []env.Knob{{Name: "thresholds", Values: []float64{s.Now.Seconds()}}}}, nil
	})
	s := start(t, serve.Config{Guard: guard, Window: time.Hour})
	msgs := s.follow(t, "c1")
	state := servetest.State(t, 1, 0)
	first := state.State.Now
	send := func(epoch uint64, after time.Duration) []*nats.Msg {
		state.Epoch, state.Seq, state.State.Now = epoch, state.Seq+1, first+after
		s.publish(t, "c1", servetest.Body(t, state))
		var got []*nats.Msg
		for {
			m := next(t, msgs)
			got = append(got, m)
			if strings.HasSuffix(m.Subject, ".allocation") {
				return got
			}
		}
	}
	for i, step := range []struct {
		epoch uint64
		after time.Duration
		want  int
	}{
		{1, 0, 2},
		{1, 30 * time.Minute, 1},
		{1, time.Hour - 1, 1},
		{1, time.Hour, 1}, // due, but the configurer fails: its window passes
		{1, 90 * time.Minute, 1},
		{1, 2 * time.Hour, 2},
		{1, 5 * time.Hour, 2},
		{1, 5*time.Hour + time.Minute, 1},
		{2, 5*time.Hour + 2*time.Minute, 2},
	} {
		got := send(step.epoch, step.after)
		if len(got) != step.want {
			t.Errorf("step %d: got %d messages, want %d", i, len(got), step.want)
		}
		if len(got) < 2 {
			continue
		}
		c, err := wire.DecodeConfiguration(got[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		if c.Now != first+step.after || c.Window != time.Hour || c.Model != "tuner@1" || c.Configuration.Knobs[0].Values[0] != c.Now.Seconds() || got[0].Header.Get("Nats-Msg-Id") != wire.DecisionID(state.Key(), "configuration") {
			t.Errorf("step %d: got %s", i, got[0].Data)
		}
	}
	if stats := s.Stats(); stats.Configurations != 4 || stats.ConfigurerFailures["error"] != 1 {
		t.Errorf("got %+v", stats)
	}
}

// Every way in which the policy can fail, through the service.
func TestFaultyPolicy(t *testing.T) {
	errScores := errors.New("scores are not finite")
	tests := []struct {
		reason string
		policy func(context.Context, *env.State) (env.Allocation, error)
	}{
		{"panic", func(context.Context, *env.State) (env.Allocation, error) { panic("boom") }},
		{"nonfinite", func(context.Context, *env.State) (env.Allocation, error) { return nil, errScores }},
		{"invalid", func(_ context.Context, s *env.State) (env.Allocation, error) {
			return make(env.Allocation, len(s.Jobs)), nil // all on their first strategy
		}},
		{"error", func(context.Context, *env.State) (env.Allocation, error) { return nil, errors.New("boom") }},
		{"late", func(ctx context.Context, _ *env.State) (env.Allocation, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		{"no_model", nil},
	}
	for _, test := range tests {
		guard := servetest.Guard(t)
		guard.NonFinite, guard.Policy = errScores, nil
		if test.policy != nil {
			guard.Policy = servetest.Decider(test.policy)
		}
		if test.reason == "late" {
			guard.Deadline = 500 * time.Millisecond
		}
		s := start(t, serve.Config{Guard: guard})
		msgs := s.follow(t, "c1")
		s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, 1)))
		a := nextAllocation(t, msgs)
		if a.Source != wire.SourceLP || string(a.Reason) != test.reason || a.Gap == nil {
			t.Errorf("%s: got source %s, reason %q, gap %v", test.reason, a.Source, a.Reason, a.Gap)
		}
		if stats := s.Stats(); stats.BySource["lp"] != 1 || stats.Fallbacks[test.reason] != 1 || stats.Failures["policy/"+test.reason] != 1 {
			t.Errorf("%s: got %+v", test.reason, stats)
		}
	}
}

func TestAcksAreCounted(t *testing.T) {
	s := start(t, serve.Config{})
	for _, ack := range []wire.Ack{{Applied: true}, {Applied: true}, {Reason: "no such job"}, {Cluster: "other"}} {
		if ack.Cluster == "" {
			ack.Cluster = "c1"
		}
		ack.Schema, ack.Epoch, ack.StateSeq, ack.ID = wire.AckSchema, 1, 1, "c1:1:1:allocation"
		data, err := wire.Encode(&ack)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.nc.Publish("yardmaster.v1.ack.c1", data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.nc.Publish("yardmaster.v1.ack.c1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all counted", func() bool {
		stats := s.Stats()
		return stats.Applied == 2 && stats.Rejected == 1 && stats.Refused["conflict"] == 1 && stats.Refused["malformed"] == 1
	})
}
