package serve

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// asideTime bounds a request of people, from waiting for a place to the answer. It is
// less than the five seconds that tools wait for a reply.
const asideTime = 4 * time.Second

// validate answers whether the service would decide on a state, and all that is wrong
// with it. A state that it would refuse counts as refused only where it could not be
// unpacked.
func (e *endpoints) validate(out *nats.Msg, q *question) error {
	ctx, cancel := context.WithTimeout(q.ctx, asideTime)
	defer cancel()
	var v *wire.Validation
	done, err := e.unpack(ctx, q.parcel, func(body []byte) error {
		v = wire.Inspect(body)
		return nil
	})
	defer done()
	if err != nil {
		return err
	}
	if v.Valid {
		if refusal := e.guard.refuses(v.Cluster); refusal != nil {
			v.Add(refusal)
		}
	}
	if k := (wire.Key{Cluster: v.Cluster, Epoch: v.Epoch, Seq: v.StateSeq}); wire.CheckKey(k) == nil {
		if conflict := q.parcel.conflict(k); conflict != nil {
			v.Add(conflict)
		}
	}
	data, err := wire.Encode(v)
	if err != nil {
		return err
	}
	return e.fill(out, q, wire.ValidationSchema, data)
}

// explainer is a linear program that can say why it answers what it does.
type explainer interface {
	Explain(ctx context.Context, s *env.State) (*lp.Explanation, error)
}

// explain answers why the jobs of a state got what they got.
func (e *endpoints) explain(out *nats.Msg, q *question) error {
	ctx, cancel := context.WithTimeout(q.ctx, asideTime)
	defer cancel()
	s, done, err := e.open(ctx, q.parcel)
	defer done()
	if err != nil {
		return err
	}
	m, err := e.reasons(ctx, s, q.jobs)
	if err != nil {
		e.stats.refuse(asRefusal(err).Code)
		return err
	}
	data, err := wire.Encode(m)
	if err != nil {
		return err
	}
	return e.fill(out, q, wire.ExplanationSchema, data)
}

// reasons explains to the jobs that a header names the decision that was published for
// this state, or the one that the service makes of it now, in half of the time: the
// program needs the rest to explain it.
func (e *endpoints) reasons(ctx context.Context, s *wire.State, header string) (*wire.Explanation, error) {
	jobs, err := chosen(header, &s.State)
	if err != nil {
		return nil, err
	}
	published, err := e.decided(ctx, s)
	if err != nil {
		return nil, err
	}
	m := &wire.Explanation{Schema: wire.ExplanationSchema}
	if published != nil {
		m.Published, m.Decision = true, *published
	} else {
		half, cancel := context.WithTimeout(guard.Hypothetical(ctx), asideTime/2)
		defer cancel()
		m.Decision = *e.guard.Decide(half, s).Message
	}
	program, err := e.program(ctx, &s.State)
	if err != nil {
		return nil, err
	}
	m.Program = programOf(program, &s.State)
	allocation := m.Decision.Allocation(&s.State)
	for _, i := range jobs {
		m.Jobs = append(m.Jobs, reasonsOf(program, i, s.State.Jobs[i].ID, allocation[i]))
	}
	return m, nil
}

// chosen returns the indexes of the jobs that a header names, all for "".
func chosen(header string, s *env.State) ([]int, error) {
	tooMany := wire.Errorf(wire.CodeTooLarge, "", "more than %d jobs to explain: name some in the header %s", wire.MaxExplained, wire.HeaderJobs)
	if strings.Count(header, ",") >= wire.MaxExplained { // before they are read
		return nil, tooMany
	}
	var ids []int64
	for text := range strings.SplitSeq(header, ",") {
		if header == "" {
			break
		}
		id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, wire.Errorf(wire.CodeInvalid, "", "header %s: %.32q is no id of a job, want ids separated by commas", wire.HeaderJobs, text)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var jobs []int
	for i := range s.Jobs {
		at, named := slices.BinarySearch(ids, s.Jobs[i].ID)
		if header != "" && !named {
			continue
		}
		if named {
			ids = slices.Delete(ids, at, at+1)
		}
		if jobs = append(jobs, i); len(jobs) > wire.MaxExplained {
			return nil, tooMany
		}
	}
	if len(ids) > 0 {
		return nil, wire.Errorf(wire.CodeInvalid, "", "header %s: job %d is not in the state, or named twice", wire.HeaderJobs, ids[0])
	}
	return jobs, nil
}

// decided returns the decision that was published for this state, nil where there is
// none that can be read, or it was made of another state of the same name. Its error
// says that the stream does not answer.
func (e *endpoints) decided(ctx context.Context, s *wire.State) (*wire.Allocation, error) {
	ctx, cancel := context.WithTimeout(ctx, resumeTimeout)
	defer cancel()
	m, err := e.publisher.lastOf(ctx, s.Cluster, wire.KindAllocation)
	if err != nil {
		return nil, wire.Errorf(wire.CodeUnavailable, "", "the published decision cannot be read: %v", err)
	}
	if m == nil {
		return nil, nil
	}
	a, err := decodeAllocation(m)
	if err != nil || a.Check(s.Key(), &s.State) != nil {
		return nil, nil
	}
	return a, nil
}

// program asks the linear program for its reasons.
func (e *endpoints) program(ctx context.Context, s *env.State) (x *lp.Explanation, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.logger.Error("the linear program panicked in an explanation", "panic", p, "stack", string(debug.Stack()))
			x, err = nil, wire.Errorf(wire.CodeInternal, "", "the linear program panicked: %v", p)
		}
	}()
	program, ok := e.guard.guards.Load().Fallback.(explainer)
	if !ok {
		return nil, wire.Errorf(wire.CodeInternal, "", "the fallback of this service is no linear program, so there are no prices to explain by")
	}
	x, err = program.Explain(ctx, s)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil, wire.Errorf(wire.CodeOverloaded, "", "no explanation within %v: %v", asideTime, err)
	case err != nil:
		return nil, wire.Errorf(wire.CodeInternal, "", "the linear program: %v", err)
	case x.Status == simplex.Unknown:
		return nil, wire.Errorf(wire.CodeOverloaded, "", "no explanation within %v: the linear program found no answer", asideTime)
	case !x.Status.Feasible():
		return nil, wire.Errorf(wire.CodeInternal, "", "the linear program ended %v: there are no prices to explain by", x.Status)
	}
	return x, nil
}

// programOf describes what the linear program makes of s.
func programOf(x *lp.Explanation, s *env.State) wire.Program {
	p := wire.Program{
		Goal: x.Goal, Minimise: x.Minimise, Status: x.Status.String(), Objective: x.Objective, Bound: finite(x.Bound), Gap: finite(x.Gap),
		Limits: make([]wire.Limit, len(x.Rows)),
	}
	for i := range x.Rows {
		r := &x.Rows[i]
		l := wire.Limit{Kind: wire.LimitGPUs, Used: r.Used, Capacity: r.Capacity, Price: r.Price, Binds: r.Binds()}
		gpus := r.Index
		if r.Kind == lp.QuotaRow {
			l.Kind, l.Tenant, gpus = wire.LimitQuota, s.Quotas[r.Index].Tenant, s.Quotas[r.Index].Type
		}
		if gpus != env.AnyType {
			l.Type = s.Cluster.Types[gpus].Name
		}
		p.Limits[i] = l
	}
	return p
}

// finite returns x, nil if it is not finite.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// reasonsOf describes what the program weighed up for job i, which was given a strategy.
func reasonsOf(x *lp.Explanation, i int, id int64, given int) wire.JobReasons {
	j := &x.Jobs[i]
	r := wire.JobReasons{
		Job: id, Strategy: given, Program: x.Allocation[i], Why: why(j, given, x.Allocation[i]), Had: j.Had,
		Candidates: make([]wire.Candidate, len(j.Choices)),
	}
	for k, c := range j.Choices {
		r.Candidates[k] = wire.Candidate{Strategy: c.Strategy, Share: c.Weight, Value: c.Value, Cost: c.Cost, Regret: c.Regret}
	}
	return r
}

// why says in a word why a job got what it got, at the program's prices. own is what
// the program's own answer in whole jobs gives it.
func why(j *lp.JobExplanation, given, own int) string {
	if len(j.Choices) == 0 {
		return wire.WhyImpossible
	}
	most, share, equals := math.Inf(-1), 0.0, 0
	for k := range j.Choices {
		c := &j.Choices[k]
		share += c.Weight
		switch d := c.Value - c.Cost - most; {
		case d > rounding(c):
			most, equals = c.Value-c.Cost, 1
		case d >= -rounding(c):
			equals++
		}
	}
	if given == env.Idle {
		switch {
		case own != env.Idle:
			return wire.WhyPassedOver
		case !slices.ContainsFunc(j.Choices, func(c lp.Choice) bool { return c.Value-c.Cost >= -rounding(&c) }):
			return wire.WhyOutbid
		case share > 0:
			return wire.WhyNoRoom
		}
		return wire.WhyEven
	}
	for k := range j.Choices {
		switch c := &j.Choices[k]; {
		case c.Strategy != given || c.Value-c.Cost < most-rounding(c):
		case equals > 1 || most <= rounding(c):
			return wire.WhyTied
		default:
			return wire.WhyBest
		}
	}
	return wire.WhySecond
}

// rounding returns the difference of figures of c that means nothing.
func rounding(c *lp.Choice) float64 { return 1e-9 * (math.Abs(c.Value) + math.Abs(c.Cost)) }
