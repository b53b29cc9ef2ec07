package nn

import (
	"slices"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Scorer scores the candidates of a decision point:
//
//	h1[i] = relu(W_x·x[i] + W_g·g + b_1)
//	c     = mean of h1[i] over the legal candidates
//	h2[i] = relu(W_2·h1[i] + W_c·c + b_2)
//	s[i]  = w_3·h2[i] + w_lin·x[i]
//
// The context enters at the second layer: a term equal for all candidates in
// the last one would cancel in the softmax.
type Scorer struct {
	dims                   Dims
	wx, wg, w2, wc         []float32 // transposed: [in, out]
	b1, b2, output, linear []float32
}

// NewScorer returns the scorer with these parameters, which it copies.
func NewScorer(p *Params) *Scorer {
	d, t := p.Dims, p.Clone().Tensors
	return &Scorer{
		dims:   d,
		wx:     transpose(t[ScoreCandidateWeight].Data, d.Hidden, d.Candidate),
		wg:     transpose(t[ScoreGlobalWeight].Data, d.Hidden, d.Global),
		w2:     transpose(t[ScoreHiddenWeight].Data, d.Hidden, d.Hidden),
		wc:     transpose(t[ScoreContextWeight].Data, d.Hidden, d.Hidden),
		b1:     t[ScoreGlobalBias].Data,
		b2:     t[ScoreContextBias].Data,
		output: t[ScoreOutputWeight].Data,
		linear: t[ScoreLinearWeight].Data,
	}
}

// Scratch is the memory of a forward pass. The zero value is ready to use.
type Scratch struct {
	h1, h2, linear, context, bias, bias2 []float32
}

// Score writes the scores of all candidates to dst, shape [N], for global [G],
// candidates [N, F] and the mask of the legal ones [N]. It panics if a shape
// does not fit.
func (s *Scorer) Score(dst, global, candidates []float32, mask []bool, m *Scratch) {
	d, n := s.dims, len(mask)
	checkShapes(d, global, candidates, n)
	if len(dst) != n {
		panic("nn: score: dst has another length than mask")
	}
	m.bias = append(m.bias[:0], s.b1...)
	kernel.MultiplyAdd(m.bias, global, s.wg, 1, d.Global, d.Hidden)
	kept := n*d.Hidden <= keptValues
	m.h1 = grow(m.h1, d.Hidden*stripRows)
	if kept {
		m.h1 = grow(m.h1, d.Hidden*n)
	}
	s.pool(candidates, mask, kept, m)
	m.bias2 = append(m.bias2[:0], s.b2...)
	kernel.MultiplyAdd(m.bias2, m.context, s.wc, 1, d.Hidden, d.Hidden)
	s.head(dst, candidates, kept, m)
}

const (
	// stripRows candidates go through the layers together and stay in cache.
	stripRows = 112
	// keptValues bounds the first layer's results that wait for the second one:
	// to compute more of them again costs less than to write and read them.
	keptValues = 1 << 17
)

// pool computes the mean of the first layer's results, strip by strip.
func (s *Scorer) pool(candidates []float32, mask []bool, kept bool, m *Scratch) {
	m.context = grow(m.context, s.dims.Hidden)
	mean := kernel.Mean{Any: !slices.Contains(mask, true)}
	mean.Reset(m.context)
	for at := 0; at < len(mask); at += stripRows {
		rows := min(stripRows, len(mask)-at)
		h1 := m.h1
		if kept {
			h1 = m.h1[at*s.dims.Hidden:]
		}
		mean.Add(m.context, s.first(h1, candidates, at, rows, m), mask[at:][:rows])
	}
	mean.Finish(m.context)
}

// first writes the first layer's results for rows candidates from at on to dst
// and returns that part of it.
func (s *Scorer) first(dst, candidates []float32, at, rows int, m *Scratch) []float32 {
	f, h := s.dims.Candidate, s.dims.Hidden
	kernel.Linear(dst, candidates[at*f:], s.wx, m.bias, rows, f, h, kernel.ReLU)
	return dst[:rows*h]
}

// head computes the second layer and the scores, strip by strip.
func (s *Scorer) head(dst, candidates []float32, kept bool, m *Scratch) {
	f, h := s.dims.Candidate, s.dims.Hidden
	m.h2 = grow(m.h2, stripRows*h)
	m.linear = grow(m.linear, stripRows)
	for at := 0; at < len(dst); at += stripRows {
		rows := min(stripRows, len(dst)-at)
		h1 := m.h1
		if kept {
			h1 = m.h1[at*h:]
		} else {
			s.first(h1, candidates, at, rows, m)
		}
		kernel.Linear(m.h2, h1, s.w2, m.bias2, rows, h, h, kernel.ReLU)
		kernel.Dots(dst[at:][:rows], m.h2, s.output, h)
		kernel.Dots(m.linear[:rows], candidates[at*f:], s.linear, f)
		kernel.AddScaled(dst[at:][:rows], m.linear[:rows], 1)
	}
}

// Critic estimates the value of a decision point:
//
//	v = u_2·relu(U_x·mean(x[i]) + U_g·g + a_1) + a_2
//
// with the mean over the legal candidates.
type Critic struct {
	dims               Dims
	ux, ug             []float32 // transposed: [in, out]
	bias, output, last []float32
}

// NewCritic returns the critic with these parameters, which it copies.
func NewCritic(p *Params) *Critic {
	d, t := p.Dims, p.Clone().Tensors
	return &Critic{
		dims:   d,
		ux:     transpose(t[ValueCandidateWeight].Data, d.Value, d.Candidate),
		ug:     transpose(t[ValueGlobalWeight].Data, d.Value, d.Global),
		bias:   t[ValueGlobalBias].Data,
		output: t[ValueOutputWeight].Data,
		last:   t[ValueOutputBias].Data,
	}
}

// Value returns the value of a decision point; its arguments are those of
// [Scorer.Score].
func (c *Critic) Value(global, candidates []float32, mask []bool, m *Scratch) float32 {
	d := c.dims
	checkShapes(d, global, candidates, len(mask))
	m.context = grow(m.context, d.Candidate)
	MeanRows(m.context, candidates, mask)
	m.bias = append(m.bias[:0], c.bias...)
	kernel.MultiplyAdd(m.bias, global, c.ug, 1, d.Global, d.Value)
	kernel.MultiplyAdd(m.bias, m.context, c.ux, 1, d.Candidate, d.Value)
	kernel.ApplyReLU(m.bias, m.bias)
	var value [1]float32
	kernel.Dots(value[:], m.bias, c.output, d.Value)
	return value[0] + c.last[0]
}

func checkShapes(d Dims, global, candidates []float32, n int) {
	if len(global) != d.Global || len(candidates) != n*d.Candidate {
		panic("nn: observation does not have the network's numbers of features")
	}
}

// grow returns a slice of length n, reusing s's memory where it is enough. Its
// values are not defined.
func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n, n+n/2)
	}
	return s[:n]
}
