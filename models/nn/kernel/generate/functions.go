package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tanh is the quotient of an odd polynomial of degree 13 and an even one of
// degree 6, with the coefficients of Eigen 3.3 (MathFunctionsImpl.h,
// generic_fast_tanh_float); beyond ±7.905 it is ±1 in float32.
func (l *loop) tanh(x reg.VecVirtual) reg.VecVirtual {
	l.clamp(x, -7.90531110763549805, 7.90531110763549805)
	square := l.mul(x, x)
	numerator := l.horner(square, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11,
		5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
	denominator := l.horner(square, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
	return l.div(l.mul(x, numerator), denominator)
}

// exp reduces x to r = x − n·ln 2 with |r| <= ln 2 / 2, takes the Taylor series
// of e^r and puts n into the exponent. Below exp(−87.3), where results would be
// denormal, and above exp(88.3) it stays at that value.
func (l *loop) exp(x reg.VecVirtual) reg.VecVirtual {
	l.clamp(x, -87.3, 88.3)
	// Adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
	shift := l.constant(3 << 22)
	shifted := l.fma(x, l.constant(math.Log2E), l.constant(3<<22))
	n := l.sub(shifted, shift)
	// ln 2 in two parts, the first with few enough bits that n times it is exact.
	const high = 355.0 / 512
	r := l.fma(n, l.constant(-high), x)
	r = l.fma(n, l.constant(high-math.Ln2), r)
	series := l.horner(r, 1.0/5040, 1.0/720, 1.0/120, 1.0/24, 1.0/6, 1.0/2, 1, 1)
	l.VPSLLD(operand.U8(23), shifted, shifted)
	l.VPADDD(series, shifted, series)
	return series
}

// GELU in the form with tanh (Hendrycks & Gimpel, 2016, arXiv:1606.08415):
// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))).
const cubic = 0.044715

// bell returns t = tanh(√(2/π)·(x + cubic·x³)).
func (l *loop) bell(x reg.VecVirtual) reg.VecVirtual {
	inner := l.horner(l.mul(x, x), cubic*math.Sqrt(2/math.Pi), math.Sqrt(2/math.Pi))
	return l.tanh(l.mul(inner, x))
}

// flat is where 1 − |t| vanishes in float32. Factors of x stop there, or they
// would multiply the error of t.
const flat = 5.5

func (l *loop) gelu(x reg.VecVirtual) reg.VecVirtual {
	half := l.vector(l.Context)
	l.VMAXPS(x, l.constant(-flat), half)
	l.VMULPS(half, l.constant(0.5), half)
	t := l.bell(x)
	return l.fma(half, t, half)
}

// geluGradient: dy · ((1+t)/2 + x/2·(1−t²)·√(2/π)·(1 + 3·cubic·x²)).
func (l *loop) geluGradient() {
	x := l.read("x")
	t := l.bell(x)
	l.clamp(x, -flat, flat)
	slope := l.horner(l.mul(x, x), 3*cubic*math.Sqrt(2/math.Pi)/2, math.Sqrt(2/math.Pi)/2)
	slope = l.mul(slope, x)
	one := l.constant(1)
	rest := l.sub(one, l.mul(t, t))
	half := l.mul(l.add(one, t), l.constant(0.5))
	l.write("dst", l.mul(l.fma(slope, rest, half), l.read("dy")))
}

// tanhGradient: dy · (1 − y²).
func (l *loop) tanhGradient() {
	y, dy := l.read("y"), l.read("dy")
	square := l.mul(y, y)
	l.write("dst", l.mul(dy, l.sub(l.constant(1), square)))
}

// reluGradient: dy where y > 0, else 0.
func (l *loop) reluGradient() {
	y, dy := l.read("y"), l.read("dy")
	if l.lanes == 16 {
		positive := l.K()
		l.VCMPPS(operand.U8(greater), zero(l), y, positive)
		l.VMOVUPS_Z(dy, positive, dy)
	} else {
		mask := l.vector(l.Context)
		l.VCMPPS(operand.U8(greater), zero(l), y, mask)
		l.VANDPS(mask, dy, dy)
	}
	l.write("dst", dy)
}

// greater is VCMPPS' predicate for >, false for NaN, quiet.
const greater = 0x1e

func zero(l *loop) reg.VecVirtual { return l.constant(0) }

// adam updates moments and parameters:
//
//	m = beta1·m + rest1·g,  v = beta2·v + rest2·g²,  p −= rate·m / (√(unbias·v) + epsilon)
func (l *loop) adam() {
	g := l.read("gradient")
	m := l.fma(l.read("first"), l.parameter("beta1"), l.mul(g, l.parameter("rest1")))
	l.write("first", m)
	v := l.fma(l.read("second"), l.parameter("beta2"), l.mul(l.mul(g, g), l.parameter("rest2")))
	l.write("second", v)
	root := l.mul(v, l.parameter("unbias"))
	l.VSQRTPS(root, root)
	step := l.div(l.mul(m, l.parameter("rate")), l.add(root, l.parameter("epsilon")))
	l.write("parameters", l.sub(l.read("parameters"), step))
}
