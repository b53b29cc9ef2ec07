package lp

import (
	"context"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// Explanation says what a policy decided on one State and why, in the terms of
// its linear program. The caller owns it.
type Explanation struct {
	Solution

	// Goal says in words, with its unit, what Objective is; it is made large, or
	// small if Minimise.
	Goal     string
	Minimise bool
	// Least says that Objective is the least over jobs, which a single one of them may
	// hold down, and not a sum.
	Least bool

	// Rows are the constraints that couple the jobs: GPUs of each type, in the
	// order of Cluster.Types, then the quotas of tenants that have jobs.
	Rows []Row
	// Jobs says what each job gets, in the order of State.Jobs.
	Jobs []JobExplanation
}

// RowKind is what a Row limits.
type RowKind uint8

const (
	TypeRow  RowKind = iota // the GPUs of one type; Index is that of Cluster.Types
	QuotaRow                // a tenant's GPUs; Index is that of State.Quotas
)

// Row is a constraint Used <= Capacity of the fractional answer.
type Row struct {
	Kind           RowKind
	Index          int
	Used, Capacity float64 // GPUs
	// Price is by how much the objective would rise with one more GPU: 0 where
	// the row does not bind.
	Price float64
}

// Binds reports whether the row is what holds the objective down.
func (r *Row) Binds() bool { return r.Price > 0 && r.Used >= r.Capacity*(1-1e-6) }

// JobExplanation says what the program weighed up for one job.
type JobExplanation struct {
	// Gain is what the job adds to the objective beyond what its GPUs cost the
	// others, at the prices: the value of its row Σ x <= 1.
	Gain float64
	// Had is, of a policy that realises its shares over many rounds, what the job has
	// had so far over what it would have had at its shares since its submission:
	// those of whom it is least go first. 0 for jobs without a share, and for policies
	// that round to whole jobs.
	Had     float64
	Choices []Choice // the strategies that can run on the cluster, in their order
}

// Choice is one candidate of a job. All three are in units of the objective and
// for a job that runs the strategy all the time.
type Choice struct {
	Strategy int     // index into the job's Strategies
	Weight   float64 // share of its time in the fractional answer
	Value    float64 // what it adds to the objective, that of its throughput at the job's own price
	Cost     float64 // what its GPUs would be worth to the others: Σ price · GPUs
	// Regret is Gain - (Value - Cost) >= 0: by how much the candidate misses
	// being among the best; 0, but for rounding, for those with a share.
	Regret float64
}

// Explain solves s with the policy of this name, with its defaults, and says why
// the answer is what it is. It returns the errors of New and of Policy.Solve.
func Explain(ctx context.Context, s *env.State, name string) (*Explanation, error) {
	p, err := New(name, Config{})
	if err != nil {
		return nil, err
	}
	return p.Explain(ctx, s)
}

// Explain is Solve with the reasons.
func (p *Policy) Explain(ctx context.Context, s *env.State) (*Explanation, error) {
	a, err := p.answer(ctx, s)
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Solution: a.solution(), Rows: a.rows(), Jobs: make([]JobExplanation, len(s.Jobs)),
		Goal: a.program.goal, Minimise: a.program.problem.Objective == simplex.Total, Least: a.program.problem.Objective == simplex.MaxMin,
	}
	weights := make([]float64, len(a.program.strategy))
	for _, share := range a.result.Shares {
		weights[share.Candidate] = share.Weight
	}
	for j := range e.Jobs {
		e.Jobs[j] = a.explainJob(j, weights)
	}
	if a.overTime {
		a.program.eachShared(a.result.Shares, func(j int, shares []simplex.Share) {
			e.Jobs[j].Had = 1 / a.program.owed(j, shares)
		})
	}
	return e, nil
}

// rows returns the coupling constraints with their use.
func (a *answer) rows() []Row {
	q := &a.program.problem
	rows := make([]Row, len(q.Capacity))
	for k, c := range q.Capacity {
		rows[k] = Row{Kind: TypeRow, Index: k, Capacity: c, Price: a.result.Prices[k]}
		if types := len(a.program.capacity); k >= types {
			rows[k].Kind, rows[k].Index = QuotaRow, a.program.quotas[k-types]
		}
	}
	for _, share := range a.result.Shares {
		for _, t := range q.Usages[q.Usage[share.Candidate]] {
			rows[t.Resource].Used += float64(share.Weight * t.Amount)
		}
	}
	return rows
}

func (a *answer) explainJob(j int, weights []float64) JobExplanation {
	var e JobExplanation
	first, last := a.program.candidates(j)
	for i := first; i < last; i++ {
		c := Choice{
			Strategy: int(a.program.strategy[i]), Weight: weights[i],
			Value: a.valueOf(j, i), Cost: a.program.costOf(i, a.result.Prices),
		}
		e.Gain = max(e.Gain, c.Value-c.Cost)
		e.Choices = append(e.Choices, c)
	}
	for i := range e.Choices {
		c := &e.Choices[i]
		c.Regret = e.Gain - (c.Value - c.Cost)
	}
	return e
}

// valueOf returns what candidate i of job j adds to the objective: its value, and
// its rate at what the job's own rows say that is worth.
func (a *answer) valueOf(j, i int) float64 {
	q := &a.program.problem
	value := 0.0
	switch {
	case q.Objective != simplex.Sum:
	case q.Value != nil:
		value = q.Value[i]
	default:
		value = q.Rate[i]
	}
	if a.result.JobPrices != nil {
		value += float64(a.result.JobPrices[j] * q.Rate[i])
	}
	return value
}
