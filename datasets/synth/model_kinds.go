package synth

import (
	"cmp"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/datasets"
)

// kindKey is what makes two jobs of one kind.
type kindKey struct {
	tenant       string
	gpus         int32
	model        string
	batch        int32
	referenceGPU string
	hasDuration  bool
	hasSteps     bool
}

func kindOf(r *datasets.Row) kindKey {
	return kindKey{r.Tenant, r.GPUs, r.Model, r.Batch, r.ReferenceGPU, r.Duration > 0, r.Steps > 0}
}

// fitKinds fits the kinds of jobs and, by class of gap, how often a job is one
// more of the same.
func (f *fitter) fitKinds(s *Stream, rows []*datasets.Row, gaps []interval) {
	byKind := make(map[kindKey]int)
	var keys []kindKey
	var weights []float64
	total := 0.0
	weight := func(r *datasets.Row) float64 { return fading(f.cfg.To-r.Submit, f.cfg.JobsHalfLife) }
	for _, r := range rows {
		k, known := byKind[kindOf(r)]
		if !known {
			k = len(keys)
			byKind[kindOf(r)] = k
			keys = append(keys, kindOf(r))
			weights = append(weights, 0)
		}
		weights[k] += weight(r)
		total += weight(r)
	}
	keep, home := keepKinds(keys, weights)
	durations, steps := make([][]weighted, len(keep)), make([][]weighted, len(keep))
	shares := make([]float64, len(keep))
	for _, r := range rows {
		own := byKind[kindOf(r)]
		k := home[own]
		shares[k] += weight(r)
		if keep[k] != own {
			continue // its length is of another kind
		}
		if r.Duration > 0 {
			durations[k] = append(durations[k], weighted{r.Duration.Seconds(), weight(r)})
		}
		if r.Steps > 0 {
			steps[k] = append(steps[k], weighted{r.Steps, weight(r)})
		}
	}
	for k, own := range keep {
		key := keys[own]
		kind := Kind{Share: round(shares[k]/total, 5), Tenant: key.tenant, GPUs: key.gpus, Model: key.model, Batch: key.batch, ReferenceGPU: key.referenceGPU}
		if key.hasDuration {
			kind.Seconds = sketch(durations[k], finest)
		}
		if key.hasSteps {
			kind.Steps = sketch(steps[k], finest)
		}
		s.Kinds = append(s.Kinds, kind)
	}
	f.fitRepeats(s, rows, gaps)
}

// keepKinds chooses the kinds of a model: the heaviest of each number of GPUs,
// then the heaviest, at most maxKinds. It returns which, by GPUs and weight, and
// for every kind the one it is counted as: itself, or the heaviest kept one with
// the nearest number of GPUs on a logarithmic scale.
func keepKinds(keys []kindKey, weights []float64) (keep, home []int) {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) })
	seen := make(map[int32]bool)
	for _, k := range order {
		if !seen[keys[k].gpus] && len(keep) < maxKinds {
			seen[keys[k].gpus] = true
			keep = append(keep, k)
		}
	}
	for _, k := range order {
		if len(keep) < maxKinds && !slices.Contains(keep, k) {
			keep = append(keep, k)
		}
	}
	slices.SortFunc(keep, func(a, b int) int {
		return cmp.Or(cmp.Compare(keys[a].gpus, keys[b].gpus), cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
	})
	home = make([]int, len(keys))
	for i := range keys {
		if home[i] = slices.Index(keep, i); home[i] >= 0 {
			continue
		}
		distance := func(k int) float64 { return math.Abs(math.Log(float64(keys[keep[k]].gpus) / float64(keys[i].gpus))) }
		home[i] = 0
		for k := range keep {
			if distance(k) < distance(home[i]) {
				home[i] = k
			}
		}
	}
	return keep, home
}

// fitRepeats sets how often a job is one more of the same, by class of gap: from
// the correlation r of the normal scores of the lengths of successive jobs, since
// jobs that are alike with probability q, and then with correlation alike, and
// else independent have r = q × alike.
func (f *fitter) fitRepeats(s *Stream, rows []*datasets.Row, gaps []interval) {
	z := normalScores(rows)
	product, square := make([]float64, len(s.Gaps)), make([]float64, len(s.Gaps))
	for _, g := range gaps {
		if g.job == 0 || g.job == len(rows) {
			continue
		}
		a, b := z[g.job-1], z[g.job]
		product[g.class] += g.weight * a * b
		square[g.class] += g.weight * (a*a + b*b) / 2
	}
	for c := range s.Gaps {
		if square[c] > 0 {
			s.Gaps[c].Repeat = max(0, round(min(1, product[c]/square[c]/alike), 3))
		}
	}
}

// normalScores returns the normal score of the length of each job among all.
func normalScores(rows []*datasets.Row) []float64 {
	lengths := make([]float64, len(rows))
	for i, r := range rows {
		lengths[i] = length(r)
	}
	return scores(lengths)
}
