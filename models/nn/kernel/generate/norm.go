package main

import (
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// norm emits layer norm and its gradient for rows of blocks·16 values without gaps;
// both numbers are at least 1. share is 1 over the number of values of a row.
func norm(c *build.Context, w width, k constants) {
	n := &normLoop{loop: loop{Context: c, width: w, constants: k}}
	n.forward()
	n.gradient()
}

// normLoop emits one of the two.
type normLoop struct {
	loop
	row, blocks reg.GPVirtual // bytes and blocks of a row
}

// normEpsilon is added to the variance.
const normEpsilon = 1e-5

func (n *normLoop) begin(name string, arrays ...string) {
	n.Function(name + n.suffix)
	n.Attributes(noSplit)
	var signature strings.Builder
	signature.WriteString("func(")
	for _, a := range arrays {
		signature.WriteString(a + " *float32, ")
	}
	n.SignatureExpr(signature.String() + "share float32, rows, blocks uintptr)")
	n.Pragma("noescape")
	n.arrays = map[string]reg.GPVirtual{}
	for _, a := range arrays {
		n.arrays[a] = n.GP64()
		n.Load(n.Param(a), n.arrays[a])
	}
	n.row, n.blocks = n.GP64(), n.GP64()
	n.Load(n.Param("blocks"), n.blocks)
	n.MOVQ(n.blocks, n.row)
	n.SHLQ(operand.U8(6), n.row)
}

// pass emits a loop over the blocks of a row: body handles vector v of one.
func (n *normLoop) pass(label string, body func(v int, at func(array string) operand.Mem)) {
	offset := n.GP64()
	n.XORQ(offset, offset)
	n.Label(label)
	for v := range 16 / n.lanes {
		body(v, func(array string) operand.Mem {
			return operand.Mem{Base: n.arrays[array], Index: offset, Scale: 1, Disp: v * n.bytes()}
		})
	}
	n.ADDQ(operand.U8(64), offset)
	n.CMPQ(offset, n.row)
	n.JB(operand.LabelRef(label))
}

// load returns the vector in memory.
func (n *normLoop) load(from operand.Mem) reg.VecVirtual {
	v := n.vector(n.Context)
	n.VMOVUPS(from, v)
	return v
}

// zeros returns the 16 partial sums of a row.
func (n *normLoop) zeros() []reg.VecVirtual {
	sums := make([]reg.VecVirtual, 16/n.lanes)
	for i := range sums {
		sums[i] = n.constant(0)
	}
	return sums
}

// total returns the sum of 16 partial sums, folded in halves, in all places.
func (n *normLoop) total(sums []reg.VecVirtual) reg.VecVirtual {
	eight := sums[0]
	if n.lanes == 16 {
		high := n.YMM()
		n.VEXTRACTF64X4(operand.U8(1), sums[0], high)
		eight = sums[0].(reg.Vec).AsY().(reg.VecVirtual)
		n.VADDPS(high, eight, eight)
	} else {
		n.VADDPS(sums[1], eight, eight)
	}
	four, high := eight.AsX(), n.XMM()
	n.VEXTRACTF128(operand.U8(1), eight, high)
	n.VADDPS(high, four, four)
	n.VMOVHLPS(four, four, high)
	n.VADDPS(high, four, four)
	n.VMOVSHDUP(four, high)
	n.VADDSS(high, four, four)
	all := n.vector(n.Context)
	n.VBROADCASTSS(four, all)
	return all
}

// moments returns the mean of a row of x and 1 / √(variance + epsilon).
func (n *normLoop) moments() (mean, inverse reg.VecVirtual) {
	sums := n.zeros()
	n.pass("mean", func(v int, at func(string) operand.Mem) { n.VADDPS(at("x"), sums[v], sums[v]) })
	mean = n.mul(n.total(sums), n.parameter("share"))
	squares := n.zeros()
	n.pass("variance", func(v int, at func(string) operand.Mem) {
		d := n.sub(n.load(at("x")), mean)
		n.VFMADD231PS(d, d, squares[v])
	})
	variance := n.fma(n.total(squares), n.parameter("share"), n.constant(normEpsilon))
	n.VSQRTPS(variance, variance)
	return mean, n.div(n.constant(1), variance)
}

// forward: dst = (x − mean)·inverse·gain + shift.
func (n *normLoop) forward() {
	n.begin("layerNorm", "dst", "x", "gain", "shift")
	rows := n.GP64()
	n.Load(n.Param("rows"), rows)
	n.Label("row")
	mean, inverse := n.moments()
	n.pass("write", func(_ int, at func(string) operand.Mem) {
		unit := n.mul(n.sub(n.load(at("x")), mean), inverse)
		n.VMOVUPS(n.fma(unit, n.load(at("gain")), n.load(at("shift"))), at("dst"))
	})
	n.next(rows, "dst", "x")
}

// gradient: with unit = (x − mean)·inverse and g = dy·gain,
//
//	dx = (g − mean g − unit·mean(g·unit))·inverse,  dGain += dy·unit,  dShift += dy
func (n *normLoop) gradient() {
	n.begin("layerNormGradient", "dx", "dGain", "dShift", "dy", "x", "gain")
	rows := n.GP64()
	n.Load(n.Param("rows"), rows)
	n.Label("row")
	mean, inverse := n.moments()
	sums, products := n.zeros(), n.zeros()
	n.pass("sums", func(v int, at func(string) operand.Mem) {
		unit := n.mul(n.sub(n.load(at("x")), mean), inverse)
		dy := n.load(at("dy"))
		n.VMOVUPS(n.fma(dy, unit, n.load(at("dGain"))), at("dGain"))
		n.VMOVUPS(n.add(dy, n.load(at("dShift"))), at("dShift"))
		g := n.mul(dy, n.load(at("gain")))
		n.VADDPS(g, sums[v], sums[v])
		n.VFMADD231PS(g, unit, products[v])
	})
	share := n.parameter("share")
	sum, product := n.mul(n.total(sums), share), n.mul(n.total(products), share)
	n.pass("write", func(_ int, at func(string) operand.Mem) {
		unit := n.mul(n.sub(n.load(at("x")), mean), inverse)
		g := n.sub(n.mul(n.load(at("dy")), n.load(at("gain"))), sum)
		n.VFNMADD231PS(unit, product, g)
		n.VMOVUPS(n.mul(g, inverse), at("dx"))
	})
	n.next(rows, "dx", "dy", "x")
}

// next advances these arrays to their next row and goes on until there is none.
func (n *normLoop) next(rows reg.GPVirtual, arrays ...string) {
	for _, a := range arrays {
		n.ADDQ(n.row, n.arrays[a])
	}
	n.DECQ(rows)
	n.JNZ(operand.LabelRef("row"))
	n.VZEROUPPER()
	n.RET()
}
