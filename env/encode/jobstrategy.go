package encode

import (
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/radix"
)

// Candidate says which job and which of its strategies a row stands for.
type Candidate struct {
	Job, Strategy int32 // indices into State.Jobs and its Strategies; -1, -1 for stop
}

// JobStrategy encodes a state as the observation of JobStrategy-v0: row 0 is
// stop, the rows after it are the candidates ordered by (job, strategy). The
// zero value is ready to use.
//
// What rows of one job, of one type of GPU or of one number of GPUs share is
// computed once: logarithms are most of the work, and 10,000 jobs have 160,000
// rows.
type JobStrategy struct {
	candidates []Candidate
	jobs       []jobSummary
	rows       []rowSummary // of the candidates, without stop
	types      []typeSummary
	sizes      []sizeSummary // by parts of GPUs; those with held 0 are not known yet
	byRank     []radix.Item
	sorter     radix.Sorter
	budget     env.Budget
	gpus       float64 // in service
	demand     float64 // log(GPUs requested / GPUs of the cluster), −2 to 2
	logMean    float64 // mean of log R
	logStd     float64
}

// Candidates returns which candidate each row of the last observation stands
// for, shape [N]; borrowed until the next Encode.
func (e *JobStrategy) Candidates() []Candidate { return e.candidates }

// Encode writes the observation of s to dst, reusing its memory. s must be
// valid. The mask allows every candidate that fits an idle cluster, and stop
// only where there is no such candidate; Epoch is s.Round.
func (e *JobStrategy) Encode(dst *env.Observation, s *env.State) {
	n := 1
	for i := range s.Jobs {
		n += len(s.Jobs[i].Strategies)
	}
	e.rows = grow(e.rows, n-1)
	e.summarize(s)
	dst.Epoch = s.Round
	dst.Global = grow(dst.Global, jobStrategyGlobals)
	dst.Candidates = grow(dst.Candidates, n*jobStrategyColumns)
	dst.Mask = grow(dst.Mask, n)
	e.candidates = grow(e.candidates, n)
	e.encodeGlobal(dst.Global, s)

	stop := dst.Candidates[:jobStrategyColumns]
	clear(stop)
	stop[colIsStop] = 1
	e.candidates[0] = Candidate{-1, -1}
	row, legal := 1, false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		e.encodeJob(dst.Candidates[row*jobStrategyColumns:], s, i, e.rows[row-1:])
		for k := range j.Strategies {
			e.candidates[row] = Candidate{int32(i), int32(k)}
			dst.Mask[row] = e.budget.Possible(j, &j.Strategies[k])
			legal = legal || dst.Mask[row]
			row++
		}
	}
	dst.Mask[0] = !legal
}
