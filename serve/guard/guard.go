package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// errInvalid is wrapped by the error of an answer that cannot be applied.
var errInvalid = errors.New("guard: answer cannot be applied")

// errNoModel is the failure of a guard without a learned policy.
var errNoModel = errors.New("guard: no learned policy is loaded")

// Guard makes decisions. It is safe for concurrent use.
type Guard struct {
	cfg         Config
	calls       sync.WaitGroup // calls in flight, given up or not
	policy      runner
	lp          runner
	greedy      runner
	config      runner
	comparisons runner
	dumpers     runner
	dumps       atomic.Int64 // states dumped so far
	made        time.Time
	rested      atomic.Int64 // time since made, in nanoseconds, until which nothing is compared
}

// New returns a guard.
func New(cfg Config) (*Guard, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := &Guard{cfg: cfg, made: time.Now()}
	places := func(r *runner, n int) {
		*r = runner{places: make(chan struct{}, n), calls: &g.calls, logger: cfg.Logger}
	}
	for _, r := range []*runner{&g.policy, &g.lp, &g.greedy, &g.config} {
		places(r, cfg.MaxInFlight)
	}
	places(&g.comparisons, maxComparisons)
	places(&g.dumpers, 1)
	return g, nil
}

// Failure is one policy that did not answer, or not well.
type Failure struct {
	Source wire.Source
	Reason wire.Reason
	Err    error
}

// Decision is an allocation, ready to be sent, and what failed before it.
type Decision struct {
	Message  *wire.Allocation
	Failures []Failure // in the order of sources
	Program  Program   // how the linear program did, whether its answer was used or not
	Novelty  float64   // of the state, where the policy tells: above 1 is unlike training; else negative
}

// Program is how the linear program did in a decision.
type Program struct {
	Status string // "" where it was not asked, or the policy was quicker
	Took   time.Duration
	Gap    float64 // negative where none was proved
}

// Values of Program.Status.
const (
	ProgramOptimal    = "optimal"    // the gap is closed
	ProgramStopped    = "stopped"    // the best until its time was up
	ProgramInfeasible = "infeasible" // there is no answer
	ProgramLate       = "late"       // none in time
	ProgramFailed     = "failed"     // none, or one that cannot be applied
)

// ProgramStatuses returns all values of Program.Status but "".
func ProgramStatuses() []string {
	return []string{ProgramOptimal, ProgramStopped, ProgramInfeasible, ProgramLate, ProgramFailed}
}

// closed is the gap up to which an answer is called optimal.
const closed = 1e-6

// programOf says how the linear program did from its answer.
func programOf(a answer) Program {
	p := Program{Status: ProgramFailed, Gap: -1}
	switch {
	case a.err == nil:
		p.Status, p.Took = ProgramOptimal, a.value.took
		if gap := a.value.message.Gap; gap != nil {
			if p.Gap = *gap; *gap > closed {
				p.Status = ProgramStopped
			}
		}
	case errors.Is(a.err, ErrInfeasible):
		p.Status = ProgramInfeasible
	case errors.Is(a.err, context.DeadlineExceeded), errors.Is(a.err, context.Canceled):
		p.Status = ProgramLate
	}
	return p
}

// Deadline returns the time that Decide keeps to.
func (g *Guard) Deadline() time.Duration { return g.cfg.Deadline }

type requestedKey struct{}

// Requested marks the decisions made with ctx as requested by somebody who may not
// be the cluster: they are not told as events, and do not count for what is decided
// on the states that the cluster publishes.
func Requested(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestedKey{}, true)
}

type hypotheticalKey struct{}

// Hypothetical is Requested for decisions that nobody will apply: they are made as the
// first about their cluster, and nothing of them is remembered.
func Hypothetical(ctx context.Context) context.Context {
	return context.WithValue(Requested(ctx), hypotheticalKey{}, true)
}

// IsRequested reports whether ctx comes from Requested, or Hypothetical.
func IsRequested(ctx context.Context) bool { return ctx.Value(requestedKey{}) != nil }

// Decide answers s, which must be valid, within the deadline, or the parent's if that
// is sooner. It always answers. If parent ends early, what is ready by then is the
// answer.
func (g *Guard) Decide(parent context.Context, s *wire.State) Decision {
	allowed := g.cfg.Deadline
	if end, ok := parent.Deadline(); ok {
		allowed = min(allowed, time.Until(end))
	}
	ctx, cancel := context.WithTimeout(parent, allowed)
	defer cancel()
	r := race{g: g, ctx: ctx, allowed: allowed, state: s, track: g.track(parent, s.Cluster)}
	r.aid = r.track.helps(&g.cfg.Starvation, &s.State)
	m := r.learnedOrLP()
	if m == nil {
		m = r.greedyOrHold()
	}
	if m.Source != wire.SourcePolicy {
		m.Reason = r.failures[0].Reason // the learned policy is the first to fail
	}
	m.Model = g.cfg.ModelName
	m.DeadlineMS = float64(g.cfg.Deadline) / float64(time.Millisecond)
	r.track.settle(&g.cfg.Starvation, r.aid, m.Source)
	r.report(m)
	g.compareLater(parent, &r, m.Source)
	d := Decision{Message: m, Failures: r.failures, Program: r.solved, Novelty: -1}
	if r.policy != nil {
		d.Novelty = r.policy.novelty
	}
	return d
}

// track returns what is known of the cluster of a decision that is made with ctx.
func (g *Guard) track(ctx context.Context, cluster string) *track {
	requested := IsRequested(ctx)
	if ctx.Value(hypotheticalKey{}) != nil {
		return newTrack(trackKey{cluster, requested})
	}
	return g.cfg.Memory.track(cluster, requested)
}

// report tells observers of a fallback, and of a job that is helped.
func (r *race) report(m *wire.Allocation) {
	if r.track.key.requested || m.Source == wire.SourcePolicy {
		return
	}
	if a := r.aid; a != nil && a.fresh {
		j := &r.state.State.Jobs[a.pins[len(a.pins)-1].job]
		r.turn(wire.ReasonStarving, true, a.waited.Hours(), a.limit.Hours(),
			fmt.Sprintf("job %d runs: it waited for %.1f h", j.ID, a.waited.Hours()))
	}
	if r.g.cfg.Policy == nil { // without a model this is how it always is
		return
	}
	r.g.tell(r.state, wire.EventFallback, m.Reason, r.failures[0].Err.Error(), func(e *wire.Event) {
		e.Source, e.Active = string(m.Source), true
	})
}

// Wait returns once no call is in flight any more, or with ctx's error.
func (g *Guard) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		g.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("guard: policies still run: %w", ctx.Err())
	}
}

// stages are what the answers of a source are measured as.
var stages = map[wire.Source]stage.Stage{wire.SourcePolicy: stage.Policy, wire.SourceLP: stage.LP, wire.SourceGreedy: stage.Greedy}

// ask starts d on the state of the race and checks what it answers. Jobs that have
// to run do so with any answer but the learned policy's, which is judged by it.
func (r *race) ask(ctx context.Context, runner *runner, d Decider, source wire.Source) <-chan answer {
	g, s, a := r.g, r.state, r.aid
	about := &s.State
	if source == wire.SourcePolicy {
		a = nil
	}
	if a != nil {
		about = a.others() // built here: not in two goroutines at once
	}
	return run(ctx, runner, func(ctx context.Context) (*proposal, error) {
		if source == wire.SourcePolicy && g.cfg.PolicyDelay > 0 {
			if err := sleep(ctx, g.cfg.PolicyDelay); err != nil {
				return nil, err
			}
		}
		ctx, span := g.cfg.Stages.Start(ctx, stages[source])
		start := time.Now()
		p := &proposal{novelty: -1}
		gap := -1.0
		var err error
		if scoring, ok := d.(ScoringDecider); ok && source == wire.SourcePolicy {
			p.allocation, p.novelty, err = scoring.DecideScored(ctx, about)
		} else {
			p.allocation, gap, err = decide(ctx, d, about)
		}
		p.took = time.Since(start)
		span.End(err)
		if err == nil && a != nil {
			p.allocation, err = a.with(p.allocation)
		}
		if err != nil {
			return nil, err
		}
		p.message, err = compose(s, p.allocation, gap, source)
		if err != nil {
			return nil, err
		}
		return p, nil
	})
}

// decide returns a negative gap where d reports none.
func decide(ctx context.Context, d Decider, s *env.State) (env.Allocation, float64, error) {
	if gd, ok := d.(GapDecider); ok {
		return gd.DecideGap(ctx, s)
	}
	a, err := d.Decide(ctx, s)
	return a, -1, err
}

// compose builds the message for a and runs both checks: the contract's own on
// the allocation, the independent one on the message.
func compose(s *wire.State, a env.Allocation, gap float64, source wire.Source) (*wire.Allocation, error) {
	if err := a.Validate(&s.State); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	m := wire.NewAllocation(s, a)
	if err := m.Check(s.Key(), &s.State); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	m.Source = source
	if gap >= 0 && !math.IsInf(gap, 1) {
		m.Gap = &gap
	}
	return m, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
