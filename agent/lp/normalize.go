package lp

import "github.com/yardmaster/yardmaster/env"

// typical returns, for each GPU type, the strategy that a rigid scheduler would
// run j with: that with the number of GPUs nearest to the requested one (by
// ratio, the smaller of two), the fastest of these; -1 where j has none that
// the cluster and the quotas of its tenant have GPUs for. dst has shape [T] and is
// returned.
func typical(dst []int, j *env.JobState, budget *env.Budget) []int {
	for t := range dst {
		dst[t] = -1
	}
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if !budget.Possible(j, st) {
			continue
		}
		best := dst[st.Type]
		if best < 0 || nearer(st, &j.Strategies[best], j.GPUs) {
			dst[st.Type] = k
		}
	}
	return dst
}

// nearer reports whether a is to be preferred to b for a job that asked for gpus.
func nearer(a, b *env.Strategy, gpus int) bool {
	if a.GPUs == b.GPUs {
		return a.Throughput > b.Throughput
	}
	x, y := ratio(a.GPUs, gpus), ratio(b.GPUs, gpus)
	return x < y || x == y && a.GPUs < b.GPUs
}

func ratio(a, b int) float64 { return float64(max(a, b)) / float64(min(a, b)) }

// isolated returns the throughput of j, steps/s, with an exclusive 1/n share of
// the cluster: Gavel's X[iso], for job m with g[m] GPUs
//
//	X[m,t] = C[t] / (n·g[m]), scaled down such that Σ_t X[m,t] <= 1,
//
// over the strategies that typical returns. 0 if there are none.
func isolated(j *env.JobState, strategies, capacity []int, n int) float64 {
	rate, total := 0.0, 0.0
	for t, k := range strategies {
		if k < 0 {
			continue
		}
		st := &j.Strategies[k]
		x := float64(capacity[t]) / (float64(n) * st.Held())
		rate += float64(x * st.Throughput)
		total += x
	}
	return rate / max(1, total)
}

// proportional returns the throughput of j, steps/s, if it spent its time on the
// types in proportion to their GPUs: Gavel's X[prop], X[m,t] = C[t] / Σ C, over
// the strategies that typical returns. 0 if there are none.
func proportional(j *env.JobState, strategies, capacity []int) float64 {
	rate, all := 0.0, 0
	for t, k := range strategies {
		all += capacity[t]
		if k >= 0 {
			rate += float64(float64(capacity[t]) * j.Strategies[k].Throughput)
		}
	}
	return rate / float64(max(1, all))
}
