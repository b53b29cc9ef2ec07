package novelty

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
)

// maxRows bounds the candidates that a score looks at.
const maxRows = 256

// minRows is the number of legal candidates below which a state has no score: those
// of two or three jobs, among which there is little to choose and little to tell by.
const minRows = 16

// ErrStatistics is wrapped by the error of statistics that no score can be
// computed from.
var ErrStatistics = errors.New("novelty: unusable statistics")

// Scorer computes scores. It is safe for concurrent use.
type Scorer struct {
	global, candidate []models.Range
	classes           []models.SizeClass
	whiten            []float64 // lower triangle by rows of the inverse of the covariance's Cholesky factor
	pool              sync.Pool // of *scratch
}

// scratch is the memory of one score.
type scratch struct {
	sum []float32 // [F]
	x   []float64 // [D]
	y   []float64 // [D], x whitened
}

func newScratch(g, f int) *scratch {
	return &scratch{make([]float32, f), make([]float64, g+f), make([]float64, g+f)}
}

// New returns the scorer of n, which must not change any more. Its error wraps
// ErrStatistics.
func New(n *models.Novelty) (*Scorer, error) {
	d := len(n.Global) + len(n.Candidate)
	if d == 0 || len(n.Covariance) != d*(d+1)/2 || len(n.Classes) == 0 {
		return nil, fmt.Errorf("%w: %d features, %d covariances, %d classes", ErrStatistics, d, len(n.Covariance), len(n.Classes))
	}
	for i, c := range n.Classes {
		if len(c.Mean) != d || len(c.Features) != d {
			return nil, fmt.Errorf("%w: class %d has %d means and %d units for %d features", ErrStatistics, i, len(c.Mean), len(c.Features), d)
		}
	}
	s := &Scorer{global: n.Global, candidate: n.Candidate, classes: n.Classes}
	var err error
	if s.whiten, err = whitening(n.Covariance, d); err != nil {
		return nil, err
	}
	s.pool.New = func() any { return newScratch(len(s.global), len(s.candidate)) }
	return s, nil
}

// whitening returns L⁻¹ of the covariance L·Lᵀ, lower triangle by rows. Number i
// of L⁻¹·x is how many standard deviations x[i] is from what x[0] to x[i-1]
// predict.
func whitening(covariance []float64, d int) ([]float64, error) {
	full := mat.NewSymDense(d, nil)
	k := 0
	for i := range d {
		for j := range i + 1 {
			full.SetSym(i, j, covariance[k])
			k++
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(full) {
		return nil, fmt.Errorf("%w: the covariance is not positive definite", ErrStatistics)
	}
	var l, inverse mat.TriDense
	factor.LTo(&l)
	if err := inverse.InverseTri(&l); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStatistics, err)
	}
	out := make([]float64, 0, len(covariance))
	for i := range d {
		for j := range i + 1 {
			out = append(out, inverse.At(i, j))
		}
	}
	return out, nil
}

// Score returns how far o is from the training states: above 1 is farther than 99
// in 100 of them. It is 0 where there is little to choose. o must have the
// features that the statistics are of.
func (s *Scorer) Score(o *env.Observation) float64 {
	if legal(o) < minRows {
		return 0
	}
	w := s.pool.Get().(*scratch)
	defer s.pool.Put(w)
	class := &s.classes[classOf(s.classes, legal(o))]
	p := s.parts(w, o, class.Mean)
	score := max(p.outside/class.Outside, p.distance/class.Distance)
	for i, y := range p.features {
		score = max(score, y/class.Features[i])
	}
	return score
}

// parts are what a score is the largest of, before their units.
type parts struct {
	outside  float64   // share of the values outside of their ranges
	distance float64   // Mahalanobis distance from the mean of the class
	features []float64 // [D] absolute values of the whitened numbers; borrowed
}

// parts computes the parts of o in the memory of w.
func (s *Scorer) parts(w *scratch, o *env.Observation, mean []float64) parts {
	outside, rows := s.reduce(w, o)
	for i, r := range s.global {
		if x := o.Global[i]; !(x >= r.Low && x <= r.High) {
			outside++
		}
	}
	for i := range w.x {
		w.x[i] -= mean[i]
	}
	sum, k := 0.0, 0
	for i := range w.x {
		y := 0.0
		for j, l := range s.whiten[k : k+i+1] {
			y += l * w.x[j]
		}
		k += i + 1
		sum += y * y
		w.y[i] = math.Abs(y)
	}
	return parts{float64(outside) / float64(rows*len(s.candidate)+len(s.global)), math.Sqrt(sum), w.y}
}

// legal returns the number of legal candidates of o.
func legal(o *env.Observation) int {
	n := 0
	for _, ok := range o.Mask {
		if ok {
			n++
		}
	}
	return n
}

// classOf returns the last class that begins at or below this number of
// candidates, the first for fewer.
func classOf(classes []models.SizeClass, candidates int) int {
	i := len(classes) - 1
	for i > 0 && candidates < classes[i].Candidates {
		i--
	}
	return i
}

// reduce writes the D numbers of o to w.x and returns how many candidates it
// looked at and how many of their values are outside of their range.
func (s *Scorer) reduce(w *scratch, o *env.Observation) (outside, rows int) {
	f := len(s.candidate)
	clear(w.sum)
	for row := range spread(o.N()) {
		if !o.Mask[row] {
			continue
		}
		rows++
		x, sum := o.Candidates[row*f:][:f], w.sum[:f]
		for i, r := range s.candidate[:f] {
			sum[i] += x[i]
			if x[i] < r.Low || x[i] > r.High {
				outside++
			}
		}
	}
	for i, x := range o.Global {
		w.x[i] = float64(x)
	}
	for i, sum := range w.sum {
		w.x[len(o.Global)+i] = float64(sum) / float64(max(1, rows))
	}
	return outside, rows
}

// spread yields row numbers below n: all of them, or maxRows that are spread
// evenly and without a period. Rows follow one another job by job and strategy by
// strategy, so that a fixed stride would see one strategy of each job.
func spread(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if n <= maxRows {
			for row := range n {
				if !yield(row) {
					return
				}
			}
			return
		}
		const golden = 0.6180339887498949 // the fractional parts of its multiples are the most even
		at := 0.5
		for range maxRows {
			if at += golden; at >= 1 {
				at--
			}
			if !yield(int(at * float64(n))) {
				return
			}
		}
	}
}
