package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose emits a function that writes the transpose of 8 rows of src, each of
// blocks·8 values, as blocks·8 rows of 8 values. Rows are srcRow and dstRow bytes
// apart; blocks is > 0.
func transpose(c *build.Context, w width) {
	c.Function("transpose" + w.suffix)
	c.Attributes(noSplit)
	c.SignatureExpr("func(dst *float32, dstRow uintptr, src *float32, srcRow, blocks uintptr)")
	c.Pragma("noescape")
	dst, dstRow, src, srcRow, blocks := c.GP64(), c.GP64(), c.GP64(), c.GP64(), c.GP64()
	for i, r := range []reg.GPVirtual{dst, dstRow, src, srcRow, blocks} {
		c.Load(c.ParamIndex(i), r)
	}
	c.Label("block")
	x := w.vectors(c, 8)
	at := c.GP64()
	c.MOVQ(src, at)
	for i := range x {
		c.VMOVUPS(operand.Mem{Base: at}, x[i])
		c.ADDQ(srcRow, at)
	}
	for _, row := range eight(c, w, x) {
		c.VMOVUPS(row, operand.Mem{Base: dst})
		c.ADDQ(dstRow, dst)
	}
	c.ADDQ(operand.U8(w.bytes()), src)
	c.DECQ(blocks)
	c.JNZ(operand.LabelRef("block"))
	c.VZEROUPPER()
	c.RET()
}

// eight returns the columns of 8 rows: pairs of rows are interleaved, then pairs
// of pairs, then halves of 4 values exchanged.
func eight(c *build.Context, w width, x []reg.VecVirtual) []reg.VecVirtual {
	pairs := w.vectors(c, 8)
	for i := 0; i < 8; i += 2 {
		c.VUNPCKLPS(x[i+1], x[i], pairs[i])
		c.VUNPCKHPS(x[i+1], x[i], pairs[i+1])
	}
	const low, high = 0x44, 0xee // both lower, both upper pairs
	fours := w.vectors(c, 8)
	for i := 0; i < 8; i += 4 {
		for k := range 2 {
			c.VSHUFPS(operand.U8(low), pairs[i+2+k], pairs[i+k], fours[i+2*k])
			c.VSHUFPS(operand.U8(high), pairs[i+2+k], pairs[i+k], fours[i+2*k+1])
		}
	}
	rows := w.vectors(c, 8)
	for i := range 4 {
		c.VPERM2F128(operand.U8(0x20), fours[i+4], fours[i], rows[i])
		c.VPERM2F128(operand.U8(0x31), fours[i+4], fours[i], rows[i+4])
	}
	return rows
}

// copyPanel emits a function that copies 32 columns of rows that are srcRow bytes
// apart to rows that lie side by side. There are rows > 0 of them.
func copyPanel(c *build.Context, w width) {
	const bytes = 4 * 32
	c.Function("copyPanel" + w.suffix)
	c.Attributes(noSplit)
	c.SignatureExpr("func(dst, src *float32, srcRow, rows uintptr)")
	c.Pragma("noescape")
	dst, src, row, rows := c.GP64(), c.GP64(), c.GP64(), c.GP64()
	for i, r := range []reg.GPVirtual{dst, src, row, rows} {
		c.Load(c.ParamIndex(i), r)
	}
	c.Label("row")
	values := w.vectors(c, bytes/w.bytes())
	for i, v := range values {
		c.VMOVUPS(w.at(src, i), v)
	}
	for i, v := range values {
		c.VMOVUPS(v, w.at(dst, i))
	}
	c.ADDQ(row, src)
	c.ADDQ(operand.U32(bytes), dst)
	c.DECQ(rows)
	c.JNZ(operand.LabelRef("row"))
	c.VZEROUPPER()
	c.RET()
}
