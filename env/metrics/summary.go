package metrics

import (
	"math"
	"slices"
	"time"
)

// Summary holds the figures of a schedule. Times are in seconds.
type Summary struct {
	Jobs        int     `json:"jobs"`             // that left
	MeanJCT     float64 `json:"mean_jct_s"`       // s
	MedianJCT   float64 `json:"median_jct_s"`     // s
	P99JCT      float64 `json:"p99_jct_s"`        // s
	WeightedJCT float64 `json:"weighted_jct_s"`   // s, Σ weight × JCT / Σ weight
	MeanDelay   float64 `json:"mean_delay_s"`     // s, mean of JCT − Ideal
	Makespan    float64 `json:"makespan_s"`       // s, latest finish − earliest submission
	MeanRho     float64 `json:"mean_rho"`         // finish-time fairness, mean; jobs withdrawn have none
	MaxRho      float64 `json:"max_rho"`          // finish-time fairness of the worst-off job
	Utilization float64 `json:"utilization"`      // 0 to 1
	Cost        float64 `json:"cost_usd"`         // US dollars
	Restarts    int     `json:"restarts"`         // sum
	Late        int     `json:"late"`             // jobs that missed their deadline
	Tardiness   float64 `json:"mean_tardiness_s"` // s, mean time after the deadline over the jobs that have one, 0 if none has

	WeightedTardiness float64 `json:"weighted_tardiness_s,omitempty"` // s, Σ weight × time after the deadline / Σ weight of those jobs
	MissedWeight      float64 `json:"missed_weight,omitempty"`        // Σ weight of the jobs that missed their deadline
	Failed            int     `json:"failed,omitempty"`               // jobs that failed for good
	Cancelled         int     `json:"cancelled,omitempty"`            // jobs that were withdrawn
	Interruptions     int     `json:"interruptions,omitempty"`        // times a node failed under a job
}

// Summarize computes the figures of s. It returns [ErrNoJobs] if no job
// finished, and the error of [Schedule.Validate].
func (s *Schedule) Summarize() (Summary, error) {
	if err := s.Validate(); err != nil {
		return Summary{}, err
	}
	sum := Summary{
		Jobs:        len(s.Jobs),
		Makespan:    s.makespan().Seconds(),
		Utilization: s.BusyGPUSeconds / (float64(s.GPUs) * (s.End - s.Start).Seconds()),
		Cost:        s.Cost,
	}
	n := float64(len(s.Jobs))
	jct := s.JCTs()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		sum.MeanJCT += jct[i] / n
		sum.MeanDelay += (j.JCT() - j.Ideal).Seconds() / n
		sum.Restarts += j.Restarts
		sum.Interruptions += j.Interruptions
	}
	s.addOutcomes(&sum)
	sum.WeightedJCT = s.weightedJCT()
	s.addLateness(&sum)
	slices.Sort(jct)
	sum.MedianJCT, sum.P99JCT = Quantile(jct, 0.5), Quantile(jct, 0.99)
	return sum, nil
}

// JCTs returns the job completion times in seconds, shape [len(s.Jobs)], in
// the order of s.Jobs. The caller owns the result.
func (s *Schedule) JCTs() []float64 {
	jct := make([]float64, len(s.Jobs))
	for i := range s.Jobs {
		jct[i] = s.Jobs[i].JCT().Seconds()
	}
	return jct
}

// Quantile returns the p-quantile, 0 <= p <= 1, of values in ascending order:
// with h = (n−1)·p it interpolates linearly between the values of rank ⌊h⌋ and
// ⌊h⌋+1, counted from 0 (definition 7 of Hyndman and Fan, The American
// Statistician 50(4), 1996; the default of NumPy and R). It is NaN for no
// values.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	h := float64(len(sorted)-1) * p
	low := int(h)
	if low >= len(sorted)-1 {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + float64((h-float64(low))*(sorted[low+1]-sorted[low]))
}

func (s *Schedule) makespan() time.Duration {
	first, last := s.Jobs[0].Submit, s.Jobs[0].Finish
	for i := range s.Jobs {
		first, last = min(first, s.Jobs[i].Submit), max(last, s.Jobs[i].Finish)
	}
	return last - first
}

func (s *Schedule) weightedJCT() float64 {
	var total, weights float64
	for i := range s.Jobs {
		j := &s.Jobs[i]
		total += float64(j.Weight * j.JCT().Seconds())
		weights += j.Weight
	}
	return total / weights
}

// addOutcomes counts how jobs left, and the fairness of those that have one.
func (s *Schedule) addOutcomes(sum *Summary) {
	for i := range s.Jobs {
		switch s.Jobs[i].Outcome {
		case Failed:
			sum.Failed++
		case Cancelled:
			sum.Cancelled++
		}
	}
	n := float64(len(s.Jobs) - sum.Cancelled)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Outcome != Cancelled {
			sum.MeanRho += j.Rho() / n
			sum.MaxRho = max(sum.MaxRho, j.Rho())
		}
	}
}

// addLateness counts the jobs that missed their deadline, and the tardiness of
// those that have one.
func (s *Schedule) addLateness(sum *Summary) {
	due, weights := 0, 0.0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Deadline == 0 {
			continue
		}
		due++
		weights += j.Weight
		sum.Tardiness += j.Tardiness().Seconds()
		sum.WeightedTardiness += float64(j.Weight * j.Tardiness().Seconds())
		if j.Tardiness() > 0 {
			sum.Late++
			sum.MissedWeight += j.Weight
		}
	}
	if due > 0 {
		sum.Tardiness /= float64(due)
		sum.WeightedTardiness /= weights
	}
}
