package main

import (
	"math"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
)

// solvedJSON is a decision in JSON.
type solvedJSON struct {
	Policy   string        `json:"policy"`
	TookUS   int64         `json:"took_us"`
	Jobs     []solvedJob   `json:"jobs"`
	GPUTypes []solvedType  `json:"gpu_types"`
	Program  *solvedResult `json:"program,omitempty"`
}

type solvedJob struct {
	ID       int64         `json:"id"`
	Strategy int           `json:"strategy"` // index into the job's strategies, -1 is none
	Gets     *env.Strategy `json:"gets,omitempty"`
	Change   string        `json:"change"`
	// Had is, of programs that divide time over many rounds, what the job has had
	// so far over what it is due.
	Had    *float64 `json:"had,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Candidates are those of jobs that are explained.
	Candidates []solvedCandidate `json:"candidates,omitempty"`
}

// solvedCandidate is what a strategy was to a policy: value, price and share of a
// linear program, the score of a greedy one.
type solvedCandidate struct {
	Strategy     int      `json:"strategy"`
	Share        *float64 `json:"share,omitempty"`
	Value        *float64 `json:"value,omitempty"`
	Price        *float64 `json:"price,omitempty"`
	ReducedValue *float64 `json:"reduced_value,omitempty"`
	Score        *float64 `json:"score,omitempty"`
}

type solvedType struct {
	Name  string  `json:"name"`
	InUse float64 `json:"in_use"`
	GPUs  int     `json:"gpus"`
}

type solvedResult struct {
	Goal        string      `json:"goal"` // what the objective is
	Minimise    bool        `json:"minimise"`
	Objective   *float64    `json:"objective"` // null where it is beyond all numbers
	Bound       *float64    `json:"bound"`
	Gap         float64     `json:"gap"`
	Status      string      `json:"status"`
	Pivots      int         `json:"pivots"`
	Constraints []solvedRow `json:"constraints"`
}

type solvedRow struct {
	Name  string  `json:"name"`
	Used  float64 `json:"used"`
	Of    float64 `json:"of"`
	Price float64 `json:"price"`
	Binds bool    `json:"binds"`
}

func (d *decision) export() *solvedJSON {
	out := &solvedJSON{Policy: d.policy, TookUS: d.took.Microseconds(), Jobs: []solvedJob{}}
	explained := make(map[int64]bool)
	for _, id := range d.jobs {
		explained[id] = true
	}
	for i, k := range d.allocation {
		j := &d.state.Jobs[i]
		job := solvedJob{ID: j.ID, Strategy: k, Change: changeOf(j, k)}
		if k != env.Idle {
			job.Gets = &j.Strategies[k]
		}
		if explained[j.ID] {
			job.Reason = d.reason(i)
			if d.program != nil && d.program.Jobs[i].Had > 0 {
				job.Had = finite(d.program.Jobs[i].Had)
			}
			for k := range j.Strategies {
				job.Candidates = append(job.Candidates, d.exportCandidate(i, k))
			}
		}
		out.Jobs = append(out.Jobs, job)
	}
	used := d.inUse()
	for t, n := range d.state.Capacity() {
		out.GPUTypes = append(out.GPUTypes, solvedType{d.state.Cluster.Types[t].Name, used[t], n})
	}
	if d.program != nil {
		out.Program = d.exportProgram(d.program)
	}
	return out
}

func (d *decision) exportCandidate(i, k int) solvedCandidate {
	c := solvedCandidate{Strategy: k}
	if d.scores != nil {
		c.Score = finite(d.scores[i][k])
	}
	if d.program != nil {
		if x := d.choiceOf(i, k); x != nil {
			c.Share, c.Value, c.Price, c.ReducedValue = finite(x.Weight), finite(x.Value), finite(x.Cost), finite(x.Value-x.Cost)
		}
	}
	return c
}

func (d *decision) exportProgram(e *lp.Explanation) *solvedResult {
	out := &solvedResult{
		Goal: e.Goal, Minimise: e.Minimise, Objective: finite(e.Objective), Bound: finite(e.Bound), Gap: max(0, e.Gap),
		Status: e.Status.String(), Pivots: e.Pivots,
	}
	for i := range e.Rows {
		r := &e.Rows[i]
		out.Constraints = append(out.Constraints, solvedRow{d.rowName(r), r.Used, r.Capacity, r.Price, r.Binds()})
	}
	return out
}

// finite returns x as JSON can hold it, nil where it cannot.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
