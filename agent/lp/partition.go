package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// Limits of the parts of a partition: each has so many jobs, and so many GPUs of
// each type that there are, or there are fewer parts.
const (
	partJobs = 64
	partGPUs = 32
)

// solvePartitioned is POP (Narayanan et al., SOSP 2021) on the job-strategy program
// of throughput: the jobs are dealt out over k parts, each with 1/k of the cluster,
// the parts are solved on their own, and their answers together are one. Its bound
// is that of the mean of the parts' prices over all jobs, so that the gap says
// what the partition cost. Config.Partitions is k.
func solvePartitioned(r *run) (*program, *simplex.Result, error) {
	p := throughputProgram(r.state, r.config)
	k := r.config.Partitions
	if k == 0 {
		k = p.partitions()
	}
	if k <= 1 {
		result, err := r.solve(p, nil)
		return p, result, err
	}
	whole := &simplex.Result{Prices: make([]float64, len(p.problem.Capacity))}
	weights := make([]float64, len(p.strategy))
	for part := range k {
		q, index := p.part(part, k)
		result, err := r.solve(q, nil)
		if err != nil {
			return nil, nil, err
		}
		if result == nil {
			break // the budget is spent: these jobs get what is left over
		}
		for _, s := range result.Shares {
			weights[index[s.Candidate]] = s.Weight
		}
		for n, price := range result.Prices {
			whole.Prices[n] += price / float64(k)
		}
	}
	for i, w := range weights {
		if w > 0 {
			whole.Shares = append(whole.Shares, simplex.Share{Candidate: int32(i), Weight: w})
		}
	}
	if err := simplex.Certify(&p.problem, whole, 0); err != nil {
		return nil, nil, err
	}
	r.stages = append(r.stages, Stage{Problem: &p.problem, Result: whole, Parts: true})
	return p, whole, nil
}

// partitions returns how many parts suit the program.
func (p *program) partitions() int {
	k := len(p.state.Jobs) / partJobs
	for _, gpus := range p.capacity {
		if gpus > 0 {
			k = min(k, gpus/partGPUs)
		}
	}
	return max(1, k)
}

// part returns the program of every k-th job with 1/k of all capacity, and the
// candidates of p that its own are. Jobs are dealt out in the order of their
// arrival, which has nothing to do with what they gain.
func (p *program) part(part, k int) (*program, []int32) {
	q := &program{state: p.state, capacity: p.capacity, quotas: p.quotas, problem: p.problem}
	s := &q.problem
	s.Capacity = nil
	for _, c := range p.problem.Capacity {
		s.Capacity = append(s.Capacity, c/float64(k))
	}
	s.Offsets, s.Rate, s.Usage = []int32{0}, nil, nil
	var index []int32
	for j := part; j < len(p.state.Jobs); j += k {
		first, last := p.candidates(j)
		for i := first; i < last; i++ {
			index = append(index, int32(i))
			s.Rate = append(s.Rate, p.problem.Rate[i])
			s.Usage = append(s.Usage, p.problem.Usage[i])
		}
		s.Offsets = append(s.Offsets, int32(len(index)))
	}
	return q, index
}
