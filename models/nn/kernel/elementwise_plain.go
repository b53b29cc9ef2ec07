package kernel

import "math"

// plain is the operation in plain Go. It computes in float64 and rounds once.
func (o operation) plain(dst, a, b []float32) {
	switch o {
	case opTanh:
		plainTanh(dst, a)
	case opExp:
		plainExp(dst, a)
	case opGELU:
		plainGELU(dst, a)
	case opMaximum:
		plainMaximum(dst, a)
	case opTanhGradient:
		plainTanhGradient(dst, a, b)
	case opReLUGradient:
		plainReLUGradient(dst, a, b)
	case opGELUGradient:
		plainGELUGradient(dst, a, b)
	}
}

func plainTanh(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

// Bounds of exp's results, those of the assembly.
const (
	expLow  float32 = -87.3
	expHigh float32 = 88.3
)

func plainExp(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float32(math.Exp(float64(max(expLow, min(expHigh, v)))))
	}
}

// cubic and slope are GELU's: x/2 · (1 + tanh(slope·(x + cubic·x³))).
const cubic = 0.044715

var slope = math.Sqrt(2 / math.Pi)

func plainGELU(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		x := float64(v)
		dst[i] = float32(x / 2 * (1 + math.Tanh(slope*(x+cubic*x*x*x))))
	}
}

func plainGELUGradient(dst, dy, x []float32) {
	for i, v := range x[:len(dst)] {
		x := float64(v)
		t := math.Tanh(slope * (x + cubic*x*x*x))
		dst[i] = float32(float64(dy[i]) * ((1+t)/2 + x/2*(1-t*t)*slope*(1+3*cubic*x*x)))
	}
}

func plainTanhGradient(dst, dy, y []float32) {
	for i, v := range y[:len(dst)] {
		dst[i] = float32(float64(dy[i]) * (1 - float64(v)*float64(v)))
	}
}

func plainReLUGradient(dst, dy, y []float32) {
	for i, v := range y[:len(dst)] {
		g := dy[i]
		if !(v > 0) {
			g = 0
		}
		dst[i] = g
	}
}

func plainAddScaled(dst, x []float32, scale float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = float32(float64(dst[i]) + float64(v)*float64(scale))
	}
}

func plainScale(dst, x []float32, factor float32) {
	for i, v := range x[:len(dst)] {
		dst[i] = v * factor
	}
}

func plainMaximum(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		if v > dst[i] {
			dst[i] = v
		}
	}
}

func (s AdamStep) plain(p, m, v, g []float32) {
	for i := range p {
		d := float64(g[i])
		m[i] = float32(s.Beta1*float64(m[i]) + (1-s.Beta1)*d)
		v[i] = float32(s.Beta2*float64(v[i]) + (1-s.Beta2)*d*d)
		p[i] -= float32(s.Rate * float64(m[i]) / (math.Sqrt(s.Unbias*float64(v[i])) + s.Epsilon))
	}
}
