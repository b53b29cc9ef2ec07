package serve_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// ask sends a message to an endpoint and returns the reply and its error code.
func (s service) ask(t *testing.T, endpoint string, header nats.Header, body []byte) (*nats.Msg, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := s.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: "yardmaster.v1.svc." + endpoint, Header: header, Data: body})
	if err != nil {
		t.Fatal(err)
	}
	return m, m.Header.Get(micro.ErrorCodeHeader)
}

func (s service) validate(t *testing.T, header nats.Header, body []byte) *wire.Validation {
	t.Helper()
	m, code := s.ask(t, "validate", header, body)
	v, err := wire.DecodeValidation(m.Data)
	if code != "" || err != nil || m.Header.Get(wire.HeaderSchema) != wire.ValidationSchema {
		t.Fatalf("got %s, %v: %s", code, err, m.Data)
	}
	return v
}

// The endpoint validate says of a state what decide would, and all of it, decides
// nothing, and does not count as a refusal.
func TestValidate(t *testing.T) {
	s := start(t, serve.Config{})
	good := string(servetest.Body(t, servetest.State(t, 1, 1)))
	if v := s.validate(t, nil, []byte(good)); !v.Valid || v.Cluster != "c1" || v.Epoch != 1 || v.StateSeq != 1 || v.Jobs == 0 || len(v.Faults) != 0 {
		t.Errorf("a good state: got %+v", v)
	}
	bad := strings.Replace(strings.Replace(good, `"epoch":1`, `"epoch":"1"`, 1), `"weight":1`, `"weigth":1`, 1)
	v := s.validate(t, nil, []byte(bad))
	var paths []string
	for _, f := range v.Faults {
		paths = append(paths, f.Path)
	}
	if want := []string{"epoch", "state.jobs[0]", "state.jobs[0].weight"}; v.Valid || !slices.Equal(paths, want) || !strings.HasPrefix(v.Faults[0].Want, "integer, 1 to 9007199254740991: ") {
		t.Errorf("got %+v, want faults at %q", v, want)
	}
	if v := s.validate(t, nil, []byte("hello")); v.Valid || v.Faults[0].Name != "malformed" {
		t.Errorf("no JSON: got %+v", v)
	}
	// A cluster whose decisions are switched off would be refused.
	if _, refusal := ask(t, s.nc, admin.Mode, admin.ModeRequest{Cluster: "c1", Mode: live.Off}); refusal != nil {
		t.Fatal(refusal)
	}
	if v := s.validate(t, nil, []byte(good)); v.Valid || v.Faults[0].Name != "unavailable" || v.Faults[0].Path != "cluster" {
		t.Errorf("switched off: got %+v", v)
	}
	if stats := s.Stats(); stats.Allocations != 0 || len(stats.Refused) != 0 || stats.Requests != 0 {
		t.Errorf("got stats %+v", stats)
	}
}

// Compressed and chunked states are validated and explained like plain ones; one that
// cannot be unpacked is refused.
func TestAsidesTakeParcels(t *testing.T) {
	s := start(t, serve.Config{})
	state := servetest.State(t, 1, 7)
	small := wire.Compress(servetest.Body(t, state))
	header := func() nats.Header {
		return nats.Header{wire.HeaderEncoding: {wire.EncodingZstd}, wire.HeaderCluster: {"c1"}, wire.HeaderEpoch: {"1"}, wire.HeaderStateSeq: {"7"}}
	}
	if v := s.validate(t, header(), small); !v.Valid || v.StateSeq != 7 {
		t.Errorf("compressed: got %+v", v)
	}
	another := header()
	another.Set(wire.HeaderStateSeq, "8")
	const says = "headers say state c1:1:8:state, the message c1:1:7:state"
	if v := s.validate(t, another, small); v.Valid || len(v.Faults) != 1 || v.Faults[0].Name != "conflict" || v.Faults[0].Message != says {
		t.Errorf("headers of another: got %+v", v)
	}
	if m, code := s.ask(t, "decide", another, small); code != "409" || !strings.Contains(string(m.Data), says) {
		t.Errorf("headers of another, decide: got %s: %s", code, m.Data)
	}
	bad := wire.Compress([]byte(strings.Replace(string(servetest.Body(t, state)), `"seq":7`, `"seq":"7"`, 1)))
	if v := s.validate(t, another, bad); len(v.Faults) != 1 || v.Faults[0].Path != "seq" {
		t.Errorf("headers of nobody knows which: got %+v", v)
	}
	for _, endpoint := range []string{"validate", "explain"} {
		if m, code := s.ask(t, endpoint, header(), small[:len(small)/2]); code != "400" {
			t.Errorf("%s: half of it: got %s: %s", endpoint, code, m.Data)
		}
		nobody := header()
		nobody.Set(wire.HeaderEpoch, "0")
		if m, code := s.ask(t, endpoint, nobody, small); code != "422" {
			t.Errorf("%s: without a name: got %s: %s", endpoint, code, m.Data)
		}
	}
	accept := header()
	accept.Set(wire.HeaderAccept, wire.EncodingZstd)
	if m, code := s.ask(t, "explain", accept, small); code != "" {
		t.Errorf("explain: got %s: %s", code, m.Data)
	}
}

func (s service) explain(t *testing.T, jobs string, state *wire.State) *wire.Explanation {
	t.Helper()
	header := nats.Header{}
	if jobs != "" {
		header.Set(wire.HeaderJobs, jobs)
	}
	m, code := s.ask(t, "explain", header, servetest.Body(t, state))
	x, err := wire.DecodeExplanation(m.Data)
	if code != "" || err != nil || m.Header.Get(wire.HeaderSchema) != wire.ExplanationSchema {
		t.Fatalf("got %s, %v: %s", code, err, m.Data)
	}
	return x
}

// An explanation is of what the service decides, or decided, and its figures add up:
// each reason follows from the candidates beside it.
func TestExplain(t *testing.T) {
	g := servetest.Guard(t)
	program, err := lp.New("lp:srpt", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g.Policy, g.ModelName, g.Fallback = nil, "", guard.LP{Policy: program}
	s := start(t, serve.Config{Guard: g})
	seen := make(map[string]bool)
	sim := servetest.Sim(t, 1, 12)
	for seq := uint64(1); !sim.Done() && seq <= 60; seq++ {
		state := &wire.State{Schema: wire.StateSchema, Cluster: "c1", Epoch: 1, Seq: seq, State: *sim.State()}
		x := s.explain(t, "", state)
		want, err := program.Explain(t.Context(), &state.State)
		if err != nil {
			t.Fatal(err)
		}
		if x.Published || x.Decision.Source != wire.SourceLP || len(x.Jobs) != len(state.State.Jobs) || x.Program.Objective != want.Objective || len(x.Program.Limits) != len(want.Rows) {
			t.Fatalf("got %+v", x)
		}
		if got := x.Decision.Allocation(&state.State); !equal(got, want.Allocation) {
			t.Fatalf("got %v, want %v", got, want.Allocation)
		}
		for i := range x.Jobs {
			checkReasons(t, &x.Jobs[i], want.Allocation[i])
			seen[x.Jobs[i].Why] = true
		}
		if _, err := sim.Advance(want.Allocation); err != nil {
			t.Fatal(err)
		}
	}
	if !seen[wire.WhyBest] || len(seen) < 3 {
		t.Errorf("got reasons %v, want %q and others", seen, wire.WhyBest)
	}
	if stats := s.Stats(); stats.Allocations != 0 {
		t.Errorf("explanations count as %d allocations", stats.Allocations)
	}
}

// checkReasons checks that a reason follows from the figures beside it.
func checkReasons(t *testing.T, r *wire.JobReasons, given int) {
	t.Helper()
	if r.Strategy != given || r.Program != given || !slices.Contains(wire.Whys(), r.Why) {
		t.Fatalf("got %+v, want strategy %d", r, given)
	}
	best := wire.Candidate{Value: math.Inf(-1)}
	if len(r.Candidates) > 0 {
		best = slices.MaxFunc(r.Candidates, func(a, b wire.Candidate) int { return cmp.Compare(a.Value-a.Cost, b.Value-b.Cost) })
	}
	tiny := 1e-8 * (math.Abs(best.Value) + math.Abs(best.Cost))
	regret := math.Inf(1) // of the candidate it got
	for _, c := range r.Candidates {
		if c.Strategy == given {
			regret = best.Value - best.Cost - (c.Value - c.Cost)
		}
	}
	right := map[string]bool{
		wire.WhyImpossible: len(r.Candidates) == 0,
		wire.WhyBest:       regret <= tiny && best.Value > best.Cost,
		wire.WhyTied:       regret <= tiny,
		wire.WhySecond:     regret > 0 && given != env.Idle,
		wire.WhyOutbid:     given == env.Idle && best.Value < best.Cost,
		wire.WhyNoRoom:     given == env.Idle && best.Value-best.Cost >= -tiny,
		wire.WhyEven:       given == env.Idle && math.Abs(best.Value-best.Cost) <= tiny,
	}
	if !right[r.Why] {
		t.Errorf("job %d: %q does not follow from strategy %d of %+v", r.Job, r.Why, given, r.Candidates)
	}
}

// What was published for a state is explained, whoever decides now; of another state
// of the same name, what the service would decide.
func TestExplainWhatWasPublished(t *testing.T) {
	s := start(t, serve.Config{})
	state := servetest.State(t, 1, 1)
	decisions := s.follow(t, "c1")
	s.publish(t, "c1", servetest.Body(t, state))
	a := nextAllocation(t, decisions)
	if a.Source != wire.SourcePolicy || len(a.Picks) < 2 {
		t.Fatalf("got %+v", a)
	}
	eventually(t, "stored", func() bool { return s.Stats().Stored == 1 })
	if _, refusal := ask(t, s.nc, admin.Mode, admin.ModeRequest{Mode: live.LP}); refusal != nil {
		t.Fatal(refusal)
	}
	srtf, err := heuristic.SRTF{}.Decide(t.Context(), &state.State)
	if err != nil {
		t.Fatal(err)
	}
	x := s.explain(t, "", state)
	if !x.Published || x.Decision.Source != wire.SourcePolicy || !equal(x.Decision.Allocation(&state.State), srtf) {
		t.Errorf("got %+v", x)
	}
	for i, j := range x.Jobs {
		if j.Strategy != srtf[i] || srtf[i] == env.Idle && j.Program != env.Idle && j.Why != wire.WhyPassedOver {
			t.Errorf("got %+v, want strategy %d", j, srtf[i])
		}
	}
	one := fmt.Sprint(state.State.Jobs[1].ID, ", ", state.State.Jobs[0].ID)
	if x := s.explain(t, one, state); len(x.Jobs) != 2 || x.Jobs[0].Job != state.State.Jobs[0].ID || len(x.Decision.Picks) != len(a.Picks) {
		t.Errorf("two jobs: got %+v", x)
	}
	state.State.Jobs = state.State.Jobs[:1]
	if x := s.explain(t, "", state); x.Published || x.Decision.Source != wire.SourceLP {
		t.Errorf("another state: got %+v", x)
	}
}

// Where the stream does not answer nobody knows what was published: that is no
// decision that was not.
func TestExplainWithoutStream(t *testing.T) {
	s := start(t, serve.Config{})
	state := servetest.State(t, 1, 1)
	s.publish(t, "c1", servetest.Body(t, state))
	eventually(t, "stored", func() bool { return s.Stats().Stored == 1 })
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), wire.DefaultStream); err != nil {
		t.Fatal(err)
	}
	m, code := s.ask(t, "explain", nil, servetest.Body(t, state))
	if code != "503" || !strings.Contains(string(m.Data), "the published decision cannot be read") {
		t.Errorf("got %s: %s", code, m.Data)
	}
	if refused := s.Stats().Refused; refused["unavailable"] != 1 {
		t.Errorf("got refused %v, want one", refused)
	}
}

// What is explained takes nobody out of charge.
func TestExplainLeavesNoTrace(t *testing.T) {
	g := servetest.Guard(t)
	g.Policy = servetest.Decider(func(context.Context, *env.State) (env.Allocation, error) { return nil, errors.New("boom") })
	g.Breaker = guard.Breaker{Failures: 2, Window: 4}
	s := start(t, serve.Config{Guard: g})
	state := servetest.State(t, 1, 1)
	for range 3 {
		if x := s.explain(t, "", state); x.Published || x.Decision.Reason != wire.ReasonError {
			t.Errorf("got %+v, want reason %q", x.Decision, wire.ReasonError)
		}
	}
	m, code := s.request(t, servetest.Body(t, state))
	if a, err := wire.DecodeAllocation(m.Data); code != "" || err != nil || a.Reason != wire.ReasonError {
		t.Errorf("asked afterwards: got %s, %v, %+v, want reason %q", code, err, a, wire.ReasonError)
	}
}

// What cannot be explained is refused with a reason.
func TestExplainRefusals(t *testing.T) {
	s := start(t, serve.Config{})
	state := servetest.State(t, 1, 1)
	large := *state
	large.State = *servetest.Large(wire.MaxExplained+1, 1)
	for name, test := range map[string]struct {
		jobs, code, says string
		state            *wire.State
	}{
		"no id":       {"1,x", "422", `"x" is no id`, state},
		"no such job": {"2,987654321", "422", "job 987654321 is not in the state", state},
		"twice":       {"2,2", "422", "job 2", state},
		"too many":    {"", "413", wire.HeaderJobs, &large},
		"all wrong":   {strings.Repeat("x,", wire.MaxExplained) + "x", "413", wire.HeaderJobs, state},
	} {
		m, code := s.ask(t, "explain", nats.Header{wire.HeaderJobs: {test.jobs}}, servetest.Body(t, test.state))
		if code != test.code || !strings.Contains(string(m.Data), strings.ReplaceAll(test.says, `"`, `\"`)) {
			t.Errorf("%s: got %s: %s", name, code, m.Data)
		}
	}
	if m, code := s.ask(t, "explain", nil, []byte("hello")); code != "400" {
		t.Errorf("no state: got %s: %s", code, m.Data)
	}
	if got, want := s.Stats().Refused, map[string]int64{"invalid": 3, "too_large": 2, "malformed": 1}; !maps.Equal(got, want) {
		t.Errorf("got refused %v, want %v", got, want)
	}

	for name, fallback := range map[string]guard.Decider{
		"panics":            panics{},
		"no linear program": servetest.Decider(heuristic.FIFO{}.Decide),
	} {
		g := servetest.Guard(t)
		g.Fallback = fallback
		s := start(t, serve.Config{Guard: g})
		if m, code := s.ask(t, "explain", nil, servetest.Body(t, state)); code != "500" {
			t.Errorf("%s: got %s: %s", name, code, m.Data)
		}
	}
}

// Only what came too late is worth another try; faults of the program are told as such.
func TestExplainFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err        error
		status     simplex.Status
		code, says string
	}{
		"late":       {fmt.Errorf("lp: solve: %w", context.DeadlineExceeded), 0, "429", "no explanation within 4s"},
		"no answer":  {nil, simplex.Unknown, "429", "found no answer"},
		"infeasible": {nil, simplex.Infeasible, "500", "ended infeasible"},
		"problem":    {fmt.Errorf("lp: %w: job 3", simplex.ErrProblem), 0, "500", "the linear program: lp: "},
		"check":      {fmt.Errorf("lp: %w: row 2", simplex.ErrCheck), 0, "500", "the linear program: lp: "},
	} {
		g := servetest.Guard(t)
		g.Fallback = failsToExplain{err: test.err, status: test.status}
		s := start(t, serve.Config{Guard: g})
		m, code := s.ask(t, "explain", nil, servetest.Body(t, servetest.State(t, 1, 1)))
		if code != test.code || !strings.Contains(string(m.Data), test.says) {
			t.Errorf("%s: got %s: %s", name, code, m.Data)
		}
	}
}

// failsToExplain is a linear program that comes to nothing.
type failsToExplain struct {
	heuristic.FIFO
	err    error
	status simplex.Status
}

func (f failsToExplain) Explain(context.Context, *env.State) (*lp.Explanation, error) {
	if f.err != nil {
		return nil, f.err
	}
	return &lp.Explanation{Solution: lp.Solution{Status: f.status}}, nil
}

// panics is a linear program with a fault.
type panics struct{ heuristic.FIFO }

func (panics) Explain(context.Context, *env.State) (*lp.Explanation, error) { panic("boom") }

// Requests of people are few at a time, and more are refused at once; decisions go on.
func TestAsidesAreShed(t *testing.T) {
	g := servetest.Guard(t)
	release, entered := make(chan struct{}), make(chan struct{}, 64)
	g.Fallback = waits{entered: entered, release: release}
	s := start(t, serve.Config{Guard: g})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // a service that waits does not close
	body := servetest.Body(t, servetest.State(t, 1, 1))
	replies := subscribe(t, s.nc, "replies")
	for range 2 {
		if err := s.nc.PublishRequest("yardmaster.v1.svc.explain", "replies", body); err != nil {
			t.Fatal(err)
		}
		called(t, entered)
	}
	for _, endpoint := range []string{"explain", "validate"} {
		if m, code := s.ask(t, endpoint, nil, body); code != "429" {
			t.Errorf("%s: got %s: %s", endpoint, code, m.Data)
		}
	}
	if m, code := s.request(t, body); code != "" {
		t.Errorf("decide: got %s: %s", code, m.Data)
	}
	free()
	for range 2 {
		if m := next(t, replies); m.Header.Get(micro.ErrorCodeHeader) != "429" {
			t.Errorf("got %v: %s", m.Header, m.Data)
		}
	}
}

// called waits for one of the calls that tell of themselves.
func called(t *testing.T, entered <-chan struct{}) {
	t.Helper()
	select {
	case <-entered:
	case <-time.After(patience):
		t.Fatal("nobody called")
	}
}

// compressed returns a state as a message that has to be unpacked.
func compressed(t *testing.T, s *wire.State) *nats.Msg {
	t.Helper()
	return &nats.Msg{
		Header: nats.Header{
			wire.HeaderEncoding: {wire.EncodingZstd}, wire.HeaderCluster: {s.Cluster},
			wire.HeaderEpoch: {fmt.Sprint(s.Epoch)}, wire.HeaderStateSeq: {fmt.Sprint(s.Seq)},
		},
		Data: wire.Compress(servetest.Body(t, s)),
	}
}

// large returns a state that keeps its place until it is decided.
func large(t *testing.T) *wire.State {
	t.Helper()
	s := &wire.State{Schema: wire.StateSchema, Cluster: "c1", Epoch: 1, Seq: 1, State: *servetest.Large(2000, 16)}
	if n := len(servetest.Body(t, s)); n <= 4<<20 {
		t.Fatalf("got %d bytes, want more than 4 MiB", n)
	}
	return s
}

// Large states that are being decided take no place of requests of people.
func TestLargeDecisionsLeaveAsidesTheirPlace(t *testing.T) {
	g := servetest.Guard(t)
	release, entered := make(chan struct{}), make(chan struct{}, 64)
	g.Deadline = time.Hour
	g.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		entered <- struct{}{}
		<-release
		return env.NewAllocation(len(s.Jobs)), nil
	})
	s := start(t, serve.Config{Guard: g})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // a service that waits does not close
	replies := subscribe(t, s.nc, "replies")
	m := compressed(t, large(t))
	m.Subject, m.Reply = "yardmaster.v1.svc.decide", "replies"
	for range 4 { // as many as are decided at once
		if err := s.nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		called(t, entered)
	}
	small := compressed(t, servetest.State(t, 1, 7))
	if v := s.validate(t, small.Header, small.Data); !v.Valid || v.StateSeq != 7 {
		t.Errorf("got %+v", v)
	}
	free()
	for range 4 {
		if m := next(t, replies); m.Header.Get(micro.ErrorCodeHeader) != "" {
			t.Errorf("got %v: %s", m.Header, m.Data)
		}
	}
}

// The time of an explanation holds for the wait for a place, too, and one that is
// large takes no place of decisions.
func TestLargeExplanationsWaitForEachOther(t *testing.T) {
	g := servetest.Guard(t)
	release, entered := make(chan struct{}), make(chan struct{}, 64)
	g.Fallback = waits{entered: entered, release: release}
	s := start(t, serve.Config{Guard: g})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // a service that waits does not close
	replies := subscribe(t, s.nc, "replies")
	state := large(t)
	m := compressed(t, state)
	m.Subject, m.Reply = "yardmaster.v1.svc.explain", "replies"
	m.Header.Set(wire.HeaderJobs, fmt.Sprint(state.State.Jobs[0].ID))
	if err := s.nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	called(t, entered)
	small := compressed(t, servetest.State(t, 1, 7))
	if m, code := s.ask(t, "explain", small.Header, small.Data); code != "429" || !strings.Contains(string(m.Data), "until the time was up") {
		t.Errorf("got %s: %s", code, m.Data)
	}
	free()
	next(t, replies)
}

// A decision that takes all the time it is given leaves enough to explain it.
func TestExplainHasTimeAfterTheDecision(t *testing.T) {
	g := servetest.Guard(t)
	program, err := lp.New("lp:srpt", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g.Deadline, g.Policy, g.ModelName, g.Fallback = time.Hour, nil, "", thorough{program}
	s := start(t, serve.Config{Guard: g})
	if x := s.explain(t, "", servetest.State(t, 1, 1)); x.Published || len(x.Jobs) == 0 {
		t.Errorf("got %+v", x)
	}
}

// thorough is a linear program that decides when its time is up.
type thorough struct{ *lp.Policy }

func (p thorough) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	<-ctx.Done()
	return p.Policy.Decide(context.WithoutCancel(ctx), s)
}

// waits is a linear program that explains nothing until it is released.
type waits struct {
	heuristic.FIFO
	entered chan<- struct{}
	release <-chan struct{}
}

func (w waits) Explain(context.Context, *env.State) (*lp.Explanation, error) {
	w.entered <- struct{}{}
	<-w.release
	return nil, context.DeadlineExceeded
}
