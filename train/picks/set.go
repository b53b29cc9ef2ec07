package picks

import "math"

// SetLoss is the loss of cloning a round in which a teacher chose a set: the
// first set actions of the sequence of the last Forward, in whatever order; the
// actions after them, stop, are ordered. Any member that is left is right at a
// pick, so the loss is the negative log-likelihood of picking one of them,
//
//	−Σ_p log Σ_{a ∈ R(p)} π(a | p),  R(p) = the members from pick p on
//
// and leaves the order among the members to whatever the scores prefer. It adds
// weight times the derivative to dScores, shape [N]:
//
//	∂/∂s[i] = Σ_p π(i | p) − [i ∈ R(p)]·exp(s[i]) / Σ_{a ∈ R(p)} exp(s[a])
func (e *Evaluator) SetLoss(set int, weight float64, dScores []float32) (loss float64) {
	members := e.members(set)
	e.prefixes()
	e.before = grow(e.before, len(members)+1) // Σ 1/members before each pick
	e.before[0] = 0
	for p, m := range members {
		loss += math.Log(e.z[p]) - math.Log(m)
		e.before[p+1] = e.before[p] + 1/m
	}
	for i, until := range e.q.Until {
		if until > 0 {
			dScores[i] += float32(weight * e.weights[i] * (e.inv[until] - e.inv[e.q.From[i]]))
		}
	}
	for k, a := range e.q.Actions {
		from := int(e.q.From[a])
		if k >= set {
			from = k
		}
		dScores[a] -= float32(weight * e.weights[a] * (e.before[k+1] - e.before[from]))
	}
	return loss
}

// members returns, per pick, the sum of exp(s) over R(p): a suffix sum over the
// members that were legal from the first pick on.
func (e *Evaluator) members(set int) []float64 {
	e.member = grow(e.member, len(e.q.Actions))
	m := e.member
	total := 0.0
	for p := len(m) - 1; p >= 0; p-- {
		a := e.q.Actions[p]
		if p >= set {
			m[p] = e.weights[a]
			continue
		}
		if e.q.From[a] == 0 {
			total += e.weights[a]
		}
		m[p] = total
	}
	for k, a := range e.q.Actions[:set] {
		for p := int(e.q.From[a]); p > 0 && p <= k; p++ {
			m[p] += e.weights[a]
		}
	}
	return m
}
