package nn

import "math/rand/v2"

// decision is a decision point for tests.
type decision struct {
	global, candidates []float32 // [G], [N, F]
	mask               []bool    // [N]
}

func (o *decision) row(d Dims, i int) []float32 { return o.candidates[i*d.Candidate:][:d.Candidate] }

// randomDecision draws n candidates, each legal with probability legal.
func randomDecision(r *rand.Rand, d Dims, n int, legal float64) *decision {
	o := &decision{global: make([]float32, d.Global), candidates: make([]float32, n*d.Candidate), mask: make([]bool, n)}
	fillNormal(r, o.global, 1)
	fillNormal(r, o.candidates, 1)
	for i := range o.candidates {
		if r.IntN(3) == 0 {
			o.candidates[i] = 0 // as flags are
		}
	}
	for i := range o.mask {
		o.mask[i] = r.Float64() < legal
	}
	return o
}

func fillNormal(r *rand.Rand, x []float32, scale float64) {
	for i := range x {
		x[i] = float32(scale * r.NormFloat64())
	}
}

// randomParams draws all parameters, biases and output layers among them.
func randomParams(r *rand.Rand, d Dims) *Params {
	p := NewParams(d)
	fillNormal(r, p.Flat, 0.3)
	return p
}

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// slowScores computes the equations of Scorer one sum at a time in float64:
// slow, but plainly the doc.
func slowScores(p *Params, o *decision) []float64 {
	d, t := p.Dims, p.Tensors
	n := len(o.mask)
	h1 := make([][]float64, n)
	for i := range h1 {
		h1[i] = make([]float64, d.Hidden)
		for a := range h1[i] {
			h1[i][a] = max(0, slowDot(t[ScoreCandidateWeight].Data[a*d.Candidate:], o.row(d, i))+
				slowDot(t[ScoreGlobalWeight].Data[a*d.Global:], o.global)+float64(t[ScoreGlobalBias].Data[a]))
		}
	}
	c := slowMean(h1, o.mask, d.Hidden)
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = slowDot(t[ScoreLinearWeight].Data, o.row(d, i))
		for a := range d.Hidden {
			h2 := float64(t[ScoreContextBias].Data[a])
			for b := range d.Hidden {
				h2 += float64(t[ScoreHiddenWeight].Data[a*d.Hidden+b])*h1[i][b] + float64(t[ScoreContextWeight].Data[a*d.Hidden+b])*c[b]
			}
			scores[i] += float64(t[ScoreOutputWeight].Data[a]) * max(0, h2)
		}
	}
	return scores
}

// slowValue computes the equation of Critic in the same way.
func slowValue(p *Params, o *decision) float64 {
	d, t := p.Dims, p.Tensors
	rows := make([][]float64, len(o.mask))
	for i := range rows {
		for _, x := range o.row(d, i) {
			rows[i] = append(rows[i], float64(x))
		}
	}
	mean := slowMean(rows, o.mask, d.Candidate)
	v := float64(t[ValueOutputBias].Data[0])
	for a := range d.Value {
		h := float64(t[ValueGlobalBias].Data[a]) + slowDot(t[ValueGlobalWeight].Data[a*d.Global:], o.global)
		for k, x := range mean {
			h += float64(t[ValueCandidateWeight].Data[a*d.Candidate+k]) * x
		}
		v += float64(t[ValueOutputWeight].Data[a]) * max(0, h)
	}
	return v
}

// slowMean returns the mean of the legal rows: of all where none is.
func slowMean(rows [][]float64, mask []bool, width int) []float64 {
	var legal [][]float64
	for i, ok := range mask {
		if ok {
			legal = append(legal, rows[i])
		}
	}
	if len(legal) == 0 {
		legal = rows
	}
	mean := make([]float64, width)
	for _, row := range legal {
		for k, x := range row {
			mean[k] += x / float64(len(legal))
		}
	}
	return mean
}

// slowDot returns the sum of the products of x with as many values of w.
func slowDot(w, x []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(w[i]) * float64(x[i])
	}
	return sum
}
