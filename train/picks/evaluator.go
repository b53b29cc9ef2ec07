package picks

import (
	"math"

	"github.com/yardmaster/yardmaster/models/nn"
)

// Terms are sums over the picks of a round.
type Terms struct {
	LogProb float64 // Σ log π(a | p)
	Entropy float64 // Σ −Σ_i π(i | p) log π(i | p)
	KL      float64 // Σ KL(π(· | p) ‖ reference(· | p)), 0 without a reference
}

// Evaluator computes the terms of a round and their derivatives. It holds
// scratch memory: one per goroutine. The zero value is ready to use.
type Evaluator struct {
	q       *Sequence
	scores  []float64 // [N], as they count: relative to the highest
	weights []float64 // [N], exp(scores)
	ref     []float64 // [N], score − reference score; empty without one
	likely  []float64 // [N], exp(reference score), as weights; empty without one
	// Per pick, shapes [P] and, for the sums over 1/Z before pick p, [P+1].
	z, meanScore, meanRef, y []float64
	inv, invScore, invRef    []float64
	suffix                   [4][]float64 // [P+1]
	member, before           []float64    // of SetLoss: [P], [P+1]
}

// Forward returns the terms of q under scores, shape [N], and keeps them for
// Backward. reference, shape [N] or empty, are scores of the policy that KL is
// measured from.
func (e *Evaluator) Forward(q *Sequence, scores, reference []float32) Terms {
	e.q = q
	e.prepare(scores, reference)
	e.sums()
	t := Terms{}
	for p, a := range q.Actions {
		logZ := math.Log(e.z[p])
		t.LogProb += e.scores[a] - logZ
		t.Entropy += logZ - e.meanScore[p]
		if len(e.ref) > 0 {
			t.KL += e.meanRef[p] - logZ + math.Log(e.y[p])
		}
	}
	return t
}

func (e *Evaluator) prepare(scores, reference []float32) {
	n := len(scores)
	e.scores, e.weights, e.ref = grow(e.scores, n), grow(e.weights, n), grow(e.ref, len(reference))
	e.likely = grow(e.likely, len(reference))
	top := nn.SoftmaxWeights(e.weights, scores)
	for i, s := range scores {
		e.scores[i] = nn.Relative(s, top)
	}
	if len(reference) == 0 {
		return
	}
	top = nn.SoftmaxWeights(e.likely, reference)
	for i, s := range reference {
		e.ref[i] = e.scores[i] - nn.Relative(s, top)
	}
}

// sums fills z, y and the means. A row legal from the first pick on adds to the
// picks before its Until: it goes into the bucket of its Until, and suffix sums
// over the buckets give every pick. Rows that become legal later, stop alone in
// JobStrategy-v0, are added pick by pick.
func (e *Evaluator) sums() {
	picks := len(e.q.Actions)
	e.z, e.meanScore = grow(e.z, picks), grow(e.meanScore, picks)
	e.meanRef, e.y = grow(e.meanRef, picks), grow(e.y, picks)
	for k := range e.suffix {
		e.suffix[k] = grow(e.suffix[k], picks+1)
		clear(e.suffix[k])
	}
	for i, until := range e.q.Until {
		if e.q.From[i] == 0 && until > 0 {
			e.bucket(i, int(until))
		}
	}
	total := [4]float64{}
	for p := picks - 1; p >= 0; p-- {
		for k := range total {
			total[k] += e.suffix[k][p+1]
		}
		e.z[p], e.meanScore[p], e.meanRef[p], e.y[p] = total[0], total[1], total[2], total[3]
	}
	for i, from := range e.q.From {
		for p := from; from > 0 && p < e.q.Until[i]; p++ {
			w, s, r, y := e.row(i)
			e.z[p] += w
			e.meanScore[p] += s
			e.meanRef[p] += r
			e.y[p] += y
		}
	}
	for p := range e.z {
		e.meanScore[p] /= e.z[p]
		e.meanRef[p] /= e.z[p]
	}
}

func (e *Evaluator) bucket(i, until int) {
	w, s, r, y := e.row(i)
	e.suffix[0][until] += w
	e.suffix[1][until] += s
	e.suffix[2][until] += r
	e.suffix[3][until] += y
}

// row returns what row i adds to Z, Z·mean score, Z·mean difference to the
// reference and the reference's own Z.
func (e *Evaluator) row(i int) (w, s, r, y float64) {
	w = e.weights[i]
	s = w * e.scores[i]
	if len(e.ref) > 0 {
		r = w * e.ref[i]
		y = e.likely[i]
	}
	return w, s, r, y
}

// Coefficients weigh the terms in a loss.
type Coefficients struct{ LogProb, Entropy, KL float64 }

// Backward adds the derivative of c.LogProb·LogProb + c.Entropy·Entropy +
// c.KL·KL of the last Forward with respect to the scores to dScores, shape [N]:
//
//	∂LogProb/∂s[i] = Σ_p [a(p) = i] − π(i | p)
//	∂Entropy/∂s[i] = Σ_p −π(i | p)·(s[i] − mean s(p))
//	∂KL/∂s[i]      = Σ_p  π(i | p)·(d[i] − mean d(p)),  d = s − reference
//
// with p over the picks at which i was legal: 0 for a row that never was.
func (e *Evaluator) Backward(dScores []float32, c Coefficients) {
	e.prefixes()
	for i, until := range e.q.Until {
		if until == 0 {
			continue
		}
		from, w := e.q.From[i], e.weights[i]
		inv := w * (e.inv[until] - e.inv[from])
		d := -c.LogProb * inv
		d -= c.Entropy * (e.scores[i]*inv - w*(e.invScore[until]-e.invScore[from]))
		if len(e.ref) > 0 {
			d += c.KL * (e.ref[i]*inv - w*(e.invRef[until]-e.invRef[from]))
		}
		dScores[i] += float32(d)
	}
	for _, a := range e.q.Actions {
		dScores[a] += float32(c.LogProb)
	}
}

// prefixes fills the sums of 1/Z and of the means over Z before each pick.
func (e *Evaluator) prefixes() {
	n := len(e.z) + 1
	e.inv, e.invScore, e.invRef = grow(e.inv, n), grow(e.invScore, n), grow(e.invRef, n)
	e.inv[0], e.invScore[0], e.invRef[0] = 0, 0, 0
	for p, z := range e.z {
		e.inv[p+1] = e.inv[p] + 1/z
		e.invScore[p+1] = e.invScore[p] + e.meanScore[p]/z
		e.invRef[p+1] = e.invRef[p] + e.meanRef[p]/z
	}
}
