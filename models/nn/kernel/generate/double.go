package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// double emits functions in float64, whose vectors have half as many lanes.
type double struct {
	*build.Context
	width
	constants map[uint64]operand.Mem // by their bits
}

// constant returns a vector of x, which all functions share in memory.
func (d *double) constant(x float64) reg.VecVirtual {
	bits := math.Float64bits(x)
	if _, known := d.constants[bits]; !known {
		d.constants[bits] = d.StaticGlobal(fmt.Sprintf("d%016x", bits))
		d.DataAttributes(noPointers)
		d.AppendDatum(operand.U64(bits))
	}
	v := d.vector(d.Context)
	d.VBROADCASTSD(d.constants[bits], v)
	return v
}

// expDoubles emits dst[i] = exp(x[i]) for so many vectors: x is reduced to
// r = x − n·ln 2 with |r| <= ln 2 / 2, e^r is its Taylor series, and n goes into
// the exponent. Results stay within exp(−708) and exp(709).
func (d *double) expDoubles() {
	d.Function("expDoubles" + d.suffix)
	d.Attributes(noSplit)
	d.SignatureExpr("func(dst, x *float64, vectors uintptr)")
	d.Pragma("noescape")
	dst, from, n := d.GP64(), d.GP64(), d.GP64()
	for i, r := range []reg.GPVirtual{dst, from, n} {
		d.Load(d.ParamIndex(i), r)
	}
	d.Label("loop")
	x := d.vector(d.Context)
	d.VMOVUPD(operand.Mem{Base: from}, x)
	d.VMAXPD(x, d.constant(-708), x)
	d.VMINPD(x, d.constant(709), x)
	// Adding 1.5·2⁵² rounds to an integer and leaves it in the low bits.
	shifted := d.constant(3 << 51)
	d.VFMADD231PD(d.constant(math.Log2E), x, shifted)
	whole := d.vector(d.Context)
	d.VSUBPD(d.constant(3<<51), shifted, whole)
	// ln 2 in two parts, the first with few enough bits that n times it is exact.
	const high = 3048493539143.0 / (1 << 42)
	d.VFMADD231PD(d.constant(-high), whole, x)
	d.VFMADD231PD(d.constant(high-math.Ln2), whole, x)
	sum := d.constant(1.0 / 6227020800)
	for _, factorial := range []float64{479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1} {
		term := d.constant(1 / factorial)
		d.VFMADD231PD(sum, x, term)
		sum = term
	}
	d.VPSLLQ(operand.U8(52), shifted, shifted)
	d.VPADDQ(sum, shifted, sum)
	d.VSUBPD(x, x, x) // 0, or NaN where x is
	d.VADDPD(x, sum, sum)
	d.VMOVUPD(sum, operand.Mem{Base: dst})
	d.ADDQ(operand.U8(d.bytes()), from)
	d.ADDQ(operand.U8(d.bytes()), dst)
	d.DECQ(n)
	d.JNZ(operand.LabelRef("loop"))
	d.VZEROUPPER()
	d.RET()
}

// sumSquares emits sums[j] = Σ x[16·i + j]² over blocks of 16 values of float32,
// whose squares float64 holds exactly; there is at least one.
func (d *double) sumSquares() {
	d.Function("sumSquares" + d.suffix)
	d.Attributes(noSplit)
	d.SignatureExpr("func(sums *float64, x *float32, blocks uintptr)")
	d.Pragma("noescape")
	to, x, n := d.GP64(), d.GP64(), d.GP64()
	for i, r := range []reg.GPVirtual{to, x, n} {
		d.Load(d.ParamIndex(i), r)
	}
	sums := d.vectors(d.Context, 2*16/d.lanes)
	for _, s := range sums {
		if d.lanes == 16 {
			d.VPXORQ(s, s, s)
		} else {
			d.VXORPD(s, s, s)
		}
	}
	d.Label("block")
	for i, s := range sums {
		v := d.vector(d.Context)
		d.VCVTPS2PD(operand.Mem{Base: x, Disp: i * d.bytes() / 2}, v)
		d.VFMADD231PD(v, v, s)
	}
	d.ADDQ(operand.U8(64), x)
	d.DECQ(n)
	d.JNZ(operand.LabelRef("block"))
	for i, s := range sums {
		d.VMOVUPD(s, d.at(to, i))
	}
	d.VZEROUPPER()
	d.RET()
}
