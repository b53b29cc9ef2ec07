package kernel

// Activation is what a layer applies to its sums.
type Activation int

// Activations.
const (
	Identity Activation = iota
	ReLU
	Tanh
	GELU // in the form with tanh (Hendrycks & Gimpel, 2016, arXiv:1606.08415)
)

// block is the number of values that kernels handle at a time: one vector of
// AVX-512, two of AVX2.
const block = 16

// ApplyTanh writes tanh(x[i]) to dst, which may be x. The error is below 3e-7.
func ApplyTanh(dst, x []float32) { opTanh.apply(dst, x) }

// ApplyExp writes exp(x[i]) to dst, which may be x, with a relative error below
// 2e-7. Results stay within exp(−87.3) and exp(88.3): no denormal and no
// infinite value.
func ApplyExp(dst, x []float32) { opExp.apply(dst, x) }

// ApplyGELU writes GELU(x[i]) to dst, which may be x.
func ApplyGELU(dst, x []float32) { opGELU.apply(dst, x) }

// ApplyReLU writes x[i], or 0 where it is negative, to dst, which may be x; a
// NaN stays.
func ApplyReLU(dst, x []float32) {
	for i, v := range x {
		dst[i] = v
		if v < 0 {
			dst[i] = 0
		}
	}
}

// Apply replaces every x[i] by act of it.
func Apply(act Activation, x []float32) {
	switch act {
	case Identity:
	case ReLU:
		ApplyReLU(x, x)
	case Tanh:
		ApplyTanh(x, x)
	case GELU:
		ApplyGELU(x, x)
	}
}

// Gradient writes to dst the gradient at a layer's sums: dy times the
// derivative of act, given its results y or, for GELU, its arguments x. The
// other one may be nil. dst may be dy.
func Gradient(act Activation, dst, dy, x, y []float32) {
	switch act {
	case Identity:
		copy(dst, dy)
	case ReLU:
		opReLUGradient.apply2(dst, dy, y)
	case Tanh:
		opTanhGradient.apply2(dst, dy, y)
	case GELU:
		opGELUGradient.apply2(dst, dy, x)
	}
}

// AddScaled adds scale·x to dst.
func AddScaled(dst, x []float32, scale float32) {
	n, dst := len(x), dst[:len(x)]
	whole := n - n%block
	if whole > 0 {
		addScaled(dst[:whole], x, scale)
	}
	if n > whole {
		var d, s [block]float32
		copy(d[:], dst[whole:])
		copy(s[:], x[whole:])
		addScaled(d[:], s[:], scale)
		copy(dst[whole:], d[:])
	}
}

// Scale writes factor·x to dst, which may be x.
func Scale(dst, x []float32, factor float32) {
	n, dst := len(x), dst[:len(x)]
	whole := n - n%block
	if whole > 0 {
		scale(dst[:whole], x, factor)
	}
	plainScale(dst[whole:], x[whole:], factor)
}

// Maximum raises dst to x where that is larger.
func Maximum(dst, x []float32) { opMaximum.apply(dst, x) }

// AdamStep is one step of Adam (Kingma & Ba, ICLR 2015, algorithm 1):
//
//	m = β1·m + (1−β1)·g,  v = β2·v + (1−β2)·g²,  p −= Rate·m / (√(Unbias·v) + Epsilon)
//
// with the correction of m's bias in Rate and that of v's in Unbias.
type AdamStep struct {
	Beta1, Beta2, Rate, Unbias, Epsilon float64
}

// Apply updates parameters and moments, all of one length, by the gradient g.
func (s AdamStep) Apply(p, m, v, g []float32) {
	n := len(g)
	p, m, v = p[:n], m[:n], v[:n]
	whole := n - n%block
	if whole > 0 {
		s.blocks(p[:whole], m, v, g)
	}
	if n > whole {
		var tail [4][block]float32
		arrays := [4][]float32{p[whole:], m[whole:], v[whole:], g[whole:]}
		for i, a := range arrays {
			copy(tail[i][:], a)
		}
		s.blocks(tail[0][:], tail[1][:], tail[2][:], tail[3][:])
		for i, a := range arrays[:3] {
			copy(a, tail[i][:])
		}
	}
}

// operation is an elementwise function of dst and one or two arrays.
type operation int

const (
	opTanh operation = iota
	opExp
	opGELU
	opMaximum
	opTanhGradient
	opReLUGradient
	opGELUGradient
)

// apply maps x by o: whole blocks at once, the rest by way of a block of zeros.
func (o operation) apply(dst, x []float32) { o.apply2(dst, x, x) }

// apply2 is apply for operations on two arrays.
func (o operation) apply2(dst, a, b []float32) {
	n := len(a)
	dst, b = dst[:n], b[:n]
	whole := n - n%block
	if whole > 0 {
		o.blocks(dst[:whole], a, b)
	}
	if n > whole {
		var d, s, t [block]float32
		copy(d[:], dst[whole:])
		copy(s[:], a[whole:])
		copy(t[:], b[whole:])
		o.blocks(d[:], s[:], t[:])
		copy(dst[whole:], d[:])
	}
}
