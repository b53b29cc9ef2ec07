package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows emits the functions over the rows of a matrix that a mask of bytes 0 and 1
// keeps, for blocks of 16 columns; rows are xRow bytes apart, and there is at
// least one.
func rows(c *build.Context, w width, name string, blocks int) {
	r := &rowLoop{Context: c, width: w, vectors: blocks * 16 / w.lanes}
	r.sumRows("sum" + name)
	r.maxRows("max" + name)
	r.addRow("addTo" + name)
}

// rowLoop emits one loop over rows.
type rowLoop struct {
	*build.Context
	width
	vectors int // of a row
}

// sumRows: dst[j] += Σ_i x[i][j] over the rows kept, in their order.
func (r *rowLoop) sumRows(name string) {
	dst, x := r.begin(name, "dst, x")
	sums := r.width.vectors(r.Context, r.vectors)
	for i, s := range sums {
		r.VMOVUPS(r.at(dst, i), s)
	}
	r.loop(x, func(keep func(from operand.Op) reg.VecVirtual) {
		for i, s := range sums {
			r.VADDPS(keep(r.at(x, i)), s, s)
		}
	})
	for i, s := range sums {
		r.VMOVUPS(s, r.at(dst, i))
	}
	r.VZEROUPPER()
	r.RET()
}

// maxRows: dst[j] = max(dst[j], x[i][j]) over the rows kept, which row by row are
// jumped over or not.
func (r *rowLoop) maxRows(name string) {
	dst, x := r.begin(name, "dst, x")
	tops := r.width.vectors(r.Context, r.vectors)
	for i, s := range tops {
		r.VMOVUPS(r.at(dst, i), s)
	}
	xRow, mask, n := r.GP64(), r.GP64(), r.GP64()
	r.Load(r.Param("xRow"), xRow)
	r.Load(r.Param("keep"), mask)
	r.Load(r.Param("rows"), n)
	r.Label("row")
	r.CMPB(operand.Mem{Base: mask}, operand.U8(0))
	r.JE(operand.LabelRef("next"))
	for i, s := range tops {
		v := r.vector(r.Context)
		r.VMOVUPS(r.at(x, i), v)
		r.VMAXPS(v, s, s)
	}
	r.Label("next")
	r.ADDQ(xRow, x)
	r.INCQ(mask)
	r.DECQ(n)
	r.JNZ(operand.LabelRef("row"))
	for i, s := range tops {
		r.VMOVUPS(s, r.at(dst, i))
	}
	r.VZEROUPPER()
	r.RET()
}

// addRow: x[i][j] += row[j] for the rows kept. Others are written back as they
// were but for the sign of a zero, which becomes +.
func (r *rowLoop) addRow(name string) {
	row, x := r.begin(name, "row, x")
	values := r.width.vectors(r.Context, r.vectors)
	for i, v := range values {
		r.VMOVUPS(r.at(row, i), v)
	}
	r.loop(x, func(keep func(from operand.Op) reg.VecVirtual) {
		for i, v := range values {
			sum := keep(v)
			r.VADDPS(r.at(x, i), sum, sum)
			r.VMOVUPS(sum, r.at(x, i))
		}
	})
	r.VZEROUPPER()
	r.RET()
}

func (r *rowLoop) begin(name, pointers string) (first, x reg.GPVirtual) {
	r.Function(name + r.suffix)
	r.Attributes(noSplit)
	r.SignatureExpr("func(" + pointers + " *float32, xRow uintptr, keep *bool, rows uintptr)")
	r.Pragma("noescape")
	first, x = r.GP64(), r.GP64()
	r.Load(r.ParamIndex(0), first)
	r.Load(r.ParamIndex(1), x)
	return first, x
}

// loop emits the loop; body gets a function that returns a vector of the row, or
// zeros where the row is not kept.
func (r *rowLoop) loop(x reg.GPVirtual, body func(keep func(from operand.Op) reg.VecVirtual)) {
	xRow, mask, n := r.GP64(), r.GP64(), r.GP64()
	r.Load(r.Param("xRow"), xRow)
	r.Load(r.Param("keep"), mask)
	r.Load(r.Param("rows"), n)
	r.Label("row")
	bits := r.GP32()
	r.MOVBLZX(operand.Mem{Base: mask}, bits)
	r.NEGL(bits)
	if r.lanes == 16 {
		k := r.K()
		r.KMOVW(bits, k)
		body(func(from operand.Op) reg.VecVirtual {
			v := r.vector(r.Context)
			r.VMOVUPS_Z(from, k, v)
			return v
		})
	} else {
		low, all := r.XMM(), r.YMM()
		r.VMOVD(bits, low)
		r.VPBROADCASTD(low, all)
		body(func(from operand.Op) reg.VecVirtual {
			v := r.vector(r.Context)
			r.VANDPS(from, all, v)
			return v
		})
	}
	r.ADDQ(xRow, x)
	r.INCQ(mask)
	r.DECQ(n)
	r.JNZ(operand.LabelRef("row"))
}
