package serve_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// headersOf are the headers of state epoch:seq with this payload.
func headersOf(epoch, seq uint64, encoding string) nats.Header {
	h := nats.Header{wire.HeaderEpoch: {strconv.FormatUint(epoch, 10)}, wire.HeaderStateSeq: {strconv.FormatUint(seq, 10)}}
	if encoding != "" {
		h.Set(wire.HeaderEncoding, encoding)
	}
	return h
}

// Fault 6, malformed and huge states, zip bombs among them: refused with a code,
// counted, and the cluster's next good state is decided.
func TestFault06MalformedAndHugeStates(t *testing.T) {
	s := start(t, serve.Config{})
	msgs := s.follow(t, "c1")
	replies := subscribe(t, s.nc, "replies")
	good := servetest.Body(t, servetest.State(t, 1, 9))
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	bomb := e.EncodeAll(make([]byte, 2*wire.MaxBytes), nil)
	zipped := wire.Compress(good)
	blanks := e.EncodeAll(append(bytes.Clone(good), bytes.Repeat([]byte(" "), wire.MaxBytes)...), nil)
	digest := wire.Digest(good)
	chunked := func(chunks, digest string) nats.Header {
		h := headersOf(1, 9, "")
		h.Set(wire.HeaderChunks, chunks)
		h.Set(wire.HeaderDigest, digest)
		return h
	}
	otherSeq := headersOf(1, 10, wire.EncodingZstd)
	for _, test := range []struct {
		name   string
		header nats.Header
		body   []byte
		code   wire.Code
	}{
		{"half a message", nil, good[:len(good)/2], wire.CodeMalformed},
		{"8 MiB of nothing", nil, make([]byte, wire.MaxPayload), wire.CodeMalformed},
		{"deep", nil, bytes.Repeat([]byte("["), 1<<20), wire.CodeMalformed},
		{"zip bomb", headersOf(1, 9, wire.EncodingZstd), bomb, wire.CodeTooLarge},
		{"zip bomb around a state", headersOf(1, 9, wire.EncodingZstd), blanks, wire.CodeTooLarge},
		{"no zip", headersOf(1, 9, wire.EncodingZstd), good, wire.CodeMalformed},
		{"half a zip", headersOf(1, 9, wire.EncodingZstd), zipped[:len(zipped)/2], wire.CodeMalformed},
		{"another encoding", headersOf(1, 9, "br"), good, wire.CodeSchema},
		{"zip without identity", nats.Header{wire.HeaderEncoding: {wire.EncodingZstd}}, wire.Compress(good), wire.CodeInvalid},
		{"zip of another state", otherSeq, wire.Compress(good), wire.CodeConflict},
		{"chunks that never came", chunked("3", digest), nil, wire.CodeIncomplete},
		{"impossible chunks", chunked("0", digest), nil, wire.CodeMalformed},
		{"no digest", chunked("1", "x"), nil, wire.CodeMalformed},
	} {
		if err := s.nc.PublishMsg(&nats.Msg{Subject: "yardmaster.v1.state.c1", Reply: "replies", Header: test.header, Data: test.body}); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if refusal, err := wire.DecodeError(next(t, replies).Data); err != nil || refusal.Code != test.code {
			t.Errorf("%s: got %v, %v, want %v", test.name, refusal, err, test.code)
		}
	}
	if refused := s.Stats().Refused; refused["too_large"] != 2 || refused["incomplete"] != 1 || refused["malformed"] < 6 {
		t.Errorf("counted %v", refused)
	}
	s.publish(t, "c1", good)
	if a := nextAllocation(t, msgs); a.StateSeq != 9 {
		t.Errorf("after all that: got %d, want 9", a.StateSeq)
	}
	if n := s.Stats().Allocations; n != 1 {
		t.Errorf("got %d decisions, want 1", n)
	}
}

// Fault 9, states are lost on the way: states are snapshots, so the next one is
// decided, and what is missing is counted.
func TestFault09GapInStates(t *testing.T) {
	s := start(t, serve.Config{})
	msgs := s.follow(t, "c1")
	events := subscribe(t, s.nc, "yardmaster.v1.event.gap.c1")
	r := rand.New(rand.NewPCG(9, 9))
	missing, state := int64(0), servetest.State(t, 1, 1)
	for seq := uint64(1); seq <= 100; seq++ {
		if seq > 1 && seq < 100 && r.IntN(10) < 3 {
			missing++
			continue
		}
		state.Seq = seq
		s.publish(t, "c1", servetest.Body(t, state))
		if a := nextAllocation(t, msgs); a.StateSeq != seq {
			t.Fatalf("got a decision for %d, want %d", a.StateSeq, seq)
		}
	}
	if got := s.Stats().Gaps; got != missing || missing < 15 {
		t.Errorf("counted %d missing states, want %d", got, missing)
	}
	if e, err := wire.DecodeEvent(next(t, events).Data); err != nil || e.Cluster != "c1" || e.StateSeq == 0 {
		t.Errorf("event: got %+v, %v", e, err)
	}
	if len(events) > 0 {
		t.Errorf("%d more events within a minute, want one", len(events))
	}
	// A new run of the scheduler begins anywhere, and is no gap.
	state.Epoch, state.Seq = 2, 50
	s.publish(t, "c1", servetest.Body(t, state))
	nextAllocation(t, msgs)
	if got := s.Stats().Gaps; got != missing {
		t.Errorf("new epoch: counted %d, want %d", got, missing)
	}
}

// Fault 10, a cluster's clock is wrong and jumps: it is told, and no decision
// depends on it.
func TestFault10ClockJumps(t *testing.T) {
	s := start(t, serve.Config{})
	events := subscribe(t, s.nc, "yardmaster.v1.event.skew.c1")
	var mu sync.Mutex
	var off time.Duration
	c, err := client.Connect(t.Context(), client.Config{URL: s.URL(), Cluster: "c1", Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(off)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := &servetest.State(t, 1, 1).State
	var first env.Allocation
	for i, jump := range []time.Duration{0, time.Hour, -48 * time.Hour, 300 * time.Millisecond, 30 * 365 * 24 * time.Hour, 0} {
		mu.Lock()
		off = jump
		mu.Unlock()
		d := decision(t, c, state)
		if i == 0 {
			first = d.Allocation
		}
		if !slices.Equal(d.Allocation, first) || d.Message.Source != wire.SourcePolicy {
			t.Errorf("clock off by %v: got %v by %s, want %v by the policy", jump, d.Allocation, d.Message.Source, first)
		}
	}
	if stats := s.Stats(); stats.Skewed != 3 || stats.Allocations != 6 || len(stats.StaleClusters) != 0 {
		t.Errorf("got %d skewed of %d decided, stale %v, want 3 of 6, none", stats.Skewed, stats.Allocations, stats.StaleClusters)
	}
	if e, err := wire.DecodeEvent(next(t, events).Data); err != nil || !strings.Contains(e.Message, "ahead") {
		t.Errorf("event: got %+v, %v", e, err)
	}
}

// decision publishes a state and returns its decision.
func decision(t *testing.T, c *client.Client, s *env.State) *client.Decision {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seq, err := c.PublishState(s)
	if errors.Is(err, client.ErrTooLarge) {
		t.Fatal(err)
	}
	d, err := c.Wait(ctx, seq) // which publishes it again if the broker is away
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Fault 11, a cluster goes silent: it is called stale, nothing is decided for it,
// what it was told holds. Its next state is decided as ever.
func TestFault11SilentCluster(t *testing.T) {
	s := start(t, serve.Config{StaleAfter: 200 * time.Millisecond})
	msgs := s.follow(t, "*")
	events := subscribe(t, s.nc, "yardmaster.v1.event.stale.*")
	s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, 1)))
	nextAllocation(t, msgs)
	if stale := s.Stats().StaleClusters; len(stale) != 0 {
		t.Errorf("at once: stale %v", stale)
	}
	e, err := wire.DecodeEvent(next(t, events).Data)
	if err != nil || e.Cluster != "c1" {
		t.Errorf("event: got %+v, %v", e, err)
	}
	if stats := s.Stats(); !slices.Equal(stats.StaleClusters, []string{"c1"}) || stats.Allocations != 1 {
		t.Errorf("got stale %v and %d decisions, want c1 and 1", stats.StaleClusters, stats.Allocations)
	}
	time.Sleep(1500 * time.Millisecond) // another look at the clusters
	if len(msgs) > 0 || len(events) > 0 {
		t.Errorf("while silent: %d decisions and %d events more, want none", len(msgs), len(events))
	}
	s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, 2)))
	if a := nextAllocation(t, msgs); a.StateSeq != 2 || len(s.Stats().StaleClusters) != 0 {
		t.Errorf("back: got %d, stale %v, want 2, none", a.StateSeq, s.Stats().StaleClusters)
	}
}

// Fault 31, a cluster applies a decision in part: the acknowledgement says so job
// by job, it is told and counted, and the next decision answers what the next
// state says runs, not what was decided.
func TestFault31PartialApply(t *testing.T) {
	policy := make(chan *env.State, 8)
	guard := servetest.Guard(t)
	guard.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		policy <- s
		return heuristic.SRTF{}.Decide(ctx, s)
	})
	s := start(t, serve.Config{Guard: guard})
	events := subscribe(t, s.nc, "yardmaster.v1.event.partial.c1")
	c, err := client.Connect(t.Context(), client.Config{URL: s.URL(), Cluster: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := servetest.State(t, 1, 1).State
	for i := range state.Jobs {
		state.Jobs[i].Current = env.Idle
	}
	d := decision(t, c, &state)
	<-policy
	if len(d.Message.Picks) < 3 {
		t.Fatalf("got %d picks, want at least 3", len(d.Message.Picks))
	}
	failed := d.Message.Picks[1].Job
	if err := c.AckJobs(d, map[int64]error{failed: errors.New("node fails to start the job")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "counted", func() bool {
		stats := s.Stats()
		return stats.Partial == 1 && stats.Rejected == 1 && stats.Applied == 0
	})
	if e, err := wire.DecodeEvent(next(t, events).Data); err != nil || !strings.Contains(e.Message, strconv.FormatInt(failed, 10)) {
		t.Errorf("event: got %+v, %v, want job %d", e, err, failed)
	}
	for i := range state.Jobs { // what runs: all but the one
		if state.Jobs[i].Current = d.Allocation[i]; state.Jobs[i].ID == failed {
			state.Jobs[i].Current = env.Idle
		}
	}
	again := decision(t, c, &state)
	if seen := <-policy; !slices.EqualFunc(seen.Jobs, state.Jobs, func(a, b env.JobState) bool { return a.Current == b.Current }) {
		t.Error("the second decision was not made on what the cluster said runs")
	}
	if !slices.ContainsFunc(again.Message.Picks, func(p wire.Pick) bool { return p.Job == failed }) {
		t.Errorf("job %d is not picked again: %v", failed, again.Message.Picks)
	}
	if err := c.AckJobs(again, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "applied", func() bool { return s.Stats().Applied == 1 })
}
