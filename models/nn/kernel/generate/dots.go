package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dots emits a function that writes the products of rows of x with w, both of
// blocks·16 values: rows of x are xRow bytes apart. rows and blocks are > 0.
func dots(c *build.Context, w width) {
	c.Function("dots" + w.suffix)
	c.Attributes(noSplit)
	c.SignatureExpr("func(dst, x *float32, xRow uintptr, w *float32, rows, blocks uintptr)")
	c.Pragma("noescape")
	dst, x, row, weights, rows, blocks := c.GP64(), c.GP64(), c.GP64(), c.GP64(), c.GP64(), c.GP64()
	for i, r := range []reg.GPVirtual{dst, x, row, weights, rows, blocks} {
		c.Load(c.ParamIndex(i), r)
	}
	per := 16 / w.lanes // vectors of a block
	at, by, left := c.GP64(), c.GP64(), c.GP64()
	c.Label("row")
	c.MOVQ(x, at)
	c.MOVQ(weights, by)
	c.MOVQ(blocks, left)
	sums := w.vectors(c, per)
	for _, s := range sums {
		if w.lanes == 16 {
			c.VPXORD(s, s, s)
		} else {
			c.VXORPS(s, s, s)
		}
	}
	c.Label("block")
	for i, s := range sums {
		v := w.vector(c)
		c.VMOVUPS(w.at(at, i), v)
		c.VFMADD231PS(w.at(by, i), v, s)
	}
	c.ADDQ(operand.U8(64), at)
	c.ADDQ(operand.U8(64), by)
	c.DECQ(left)
	c.JNZ(operand.LabelRef("block"))
	fold(c, sums, dst)
	c.ADDQ(operand.U8(4), dst)
	c.ADDQ(row, x)
	c.DECQ(rows)
	c.JNZ(operand.LabelRef("row"))
	c.VZEROUPPER()
	c.RET()
}

// fold adds the halves of 16 sums to each other until one is left, and stores it.
func fold(c *build.Context, sums []reg.VecVirtual, dst reg.GPVirtual) {
	var eight reg.VecVirtual
	if len(sums) == 2 {
		eight = sums[0]
		c.VADDPS(sums[1], eight, eight)
	} else {
		high := c.YMM()
		c.VEXTRACTF64X4(operand.U8(1), sums[0], high)
		eight = sums[0].(reg.Vec).AsY().(reg.VecVirtual)
		c.VADDPS(high, eight, eight)
	}
	four, high := eight.AsX(), c.XMM()
	c.VEXTRACTF128(operand.U8(1), eight, high)
	c.VADDPS(high, four, four)
	c.VMOVHLPS(four, four, high)
	c.VADDPS(high, four, four)
	c.VMOVSHDUP(four, high)
	c.VADDSS(high, four, four)
	c.VMOVSS(four, operand.Mem{Base: dst})
}
