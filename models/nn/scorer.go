package nn

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
	h1, h2, context, bias []float32
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
	addProduct(m.bias, global, s.wg, d.Global, d.Hidden)
	m.h1 = grow(m.h1, n*d.Hidden)
	setRows(m.h1, m.bias)
	addProduct(m.h1, candidates, s.wx, d.Candidate, d.Hidden)
	relu(m.h1)

	m.context = grow(m.context, d.Hidden)
	MeanRows(m.context, m.h1, mask)
	m.bias = append(m.bias[:0], s.b2...)
	addProduct(m.bias, m.context, s.wc, d.Hidden, d.Hidden)
	s.head(dst, candidates, m)
}

// head computes the second layer strip by strip, so that it stays in cache.
func (s *Scorer) head(dst, candidates []float32, m *Scratch) {
	f, h := s.dims.Candidate, s.dims.Hidden
	m.h2 = grow(m.h2, stripRows*h)
	for at := 0; at < len(dst); at += stripRows {
		rows := min(stripRows, len(dst)-at)
		h2 := m.h2[:rows*h]
		setRows(h2, m.bias)
		addProduct(h2, m.h1[at*h:], s.w2, h, h)
		relu(h2)
		for i := range rows {
			dst[at+i] = dot(h2[i*h:][:h], s.output) + dot(candidates[(at+i)*f:][:f], s.linear)
		}
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
	addProduct(m.bias, global, c.ug, d.Global, d.Value)
	addProduct(m.bias, m.context, c.ux, d.Candidate, d.Value)
	relu(m.bias)
	return dot(m.bias, c.output) + c.last[0]
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
