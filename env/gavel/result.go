package gavel

import (
	"fmt"
	"math"
	"slices"
)

// Result is what happened up to some time. The caller owns it.
type Result struct {
	// JCT is the completion time of each job, s; NaN where it has not finished
	// or was given up. Shape [len(Config.Jobs)].
	JCT         []float64
	Left        []bool  // whether each job has left, finished or given up
	End         float64 // s
	Utilization float64 // GPU time used, of all there was until End
	Rounds      int64   // started
	JobRounds   int64   // jobs that ran, summed over rounds
}

// Summary describes the completion times of some jobs.
type Summary struct {
	Jobs, GivenUp  int     // finished, given up
	Mean, P50, P99 float64 // s, of the finished; percentiles by linear interpolation
}

// Result returns what happened so far.
func (s *Sim) Result() *Result {
	total := 0
	for _, t := range s.types {
		total += t.GPUs
	}
	r := &Result{JCT: slices.Clone(s.jct), Left: make([]bool, len(s.jobs)), End: s.now, Rounds: s.rounds, JobRounds: s.jobRounds}
	for j := range s.jobs {
		r.Left[j] = s.jobs[j].gone
	}
	if s.now > 0 {
		r.Utilization = s.busy / (s.now * float64(total))
	}
	return r
}

// Summarize describes the jobs of w. It is an error if one has not left.
func (r *Result) Summarize(w Window) (Summary, error) {
	if w.First < 0 || w.End <= w.First || w.End > len(r.JCT) {
		return Summary{}, fmt.Errorf("gavel: window is %d to %d, want a part of the %d jobs", w.First, w.End, len(r.JCT))
	}
	var s Summary
	sum := 0.0
	times := make([]float64, 0, w.End-w.First)
	for j := w.First; j < w.End; j++ {
		switch {
		case !r.Left[j]:
			return Summary{}, fmt.Errorf("gavel: job %d has not left", j)
		case math.IsNaN(r.JCT[j]):
			s.GivenUp++
		default:
			times = append(times, r.JCT[j])
			sum += r.JCT[j]
		}
	}
	s.Jobs = len(times)
	if s.Jobs == 0 {
		return s, nil
	}
	slices.Sort(times)
	s.Mean = sum / float64(s.Jobs)
	s.P50, s.P99 = percentile(times, 0.5), percentile(times, 0.99)
	return s, nil
}

// percentile returns the p-quantile of ascending values by linear
// interpolation between the closest ranks.
func percentile(ascending []float64, p float64) float64 {
	at := p * float64(len(ascending)-1)
	low := int(at)
	if low+1 == len(ascending) {
		return ascending[low]
	}
	return ascending[low] + float64((at-float64(low))*(ascending[low+1]-ascending[low]))
}
