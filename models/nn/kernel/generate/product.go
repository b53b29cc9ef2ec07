package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel emits one product: it holds the registers that all tiles share.
type panel struct {
	*build.Context
	width
	columns          int           // vectors of a row
	dst, start, a, m reg.GPVirtual // rows not yet computed
	mask             []reg.Register
}

// product emits a function that computes one or two vectors' columns of a
// product. For every row i < m and column j of the panel
//
//	dst[i][j] = max(start[i][j] + Σ_p a[i·rows + p·inner] · b[p][j], floor)
//
// adding in the order of p with fused multiply-adds, so that both instruction
// sets give the same bits. Distances are in bytes. Rows of start may coincide
// (distance 0): a bias. Tiles are the numbers of rows computed together, descending
// to 1. Where masked, columns has a bit for each column of the
// panel that there is.
func product(c *build.Context, w width, name string, vectors int, tiles []int, masked bool) {
	columns := ""
	if masked {
		columns = ", columns uint32"
	}
	c.Function(name + w.suffix)
	c.Attributes(noSplit)
	c.SignatureExpr("func(dst *float32, dstRow uintptr, start *float32, startRow uintptr, a *float32, aRow, aInner uintptr, b *float32, bRow uintptr, m, k uintptr, floor float32" + columns + ")")
	c.Pragma("noescape")
	p := &panel{Context: c, width: w, columns: vectors}
	p.dst, p.start, p.a, p.m = c.GP64(), c.GP64(), c.GP64(), c.GP64()
	c.Load(c.Param("dst"), p.dst)
	c.Load(c.Param("start"), p.start)
	c.Load(c.Param("a"), p.a)
	c.Load(c.Param("m"), p.m)
	if masked {
		p.loadMask()
	}
	for _, rows := range tiles {
		p.tiles(rows)
	}
	c.VZEROUPPER()
	c.RET()
}

// loadMask splits the mask of columns into one per vector.
func (p *panel) loadMask() {
	bits, low, high := p.GP32(), p.K(), p.K()
	p.Load(p.Param("columns"), bits)
	p.KMOVW(bits, low)
	p.SHRL(operand.U8(16), bits)
	p.KMOVW(bits, high)
	p.mask = []reg.Register{low, high}
}

// tiles emits the loop over tiles of so many rows, as long as there are enough.
func (p *panel) tiles(rows int) {
	loop, done := fmt.Sprintf("rows%d", rows), fmt.Sprintf("after%d", rows)
	p.Label(loop)
	p.CMPQ(p.m, operand.U8(rows))
	p.JB(operand.LabelRef(done))
	if len(p.rows) > 1 && rows == p.rows[0] {
		// Two rows at the end would wait for each addition: two tiles of half the
		// rows take what the last whole one and they would.
		p.CMPQ(p.m, operand.U8(2*p.rows[1]))
		p.JE(operand.LabelRef(done))
	}
	sums := p.vectors(p.Context, p.columns*rows)
	p.begin(sums)
	if rows == p.rows[0] {
		p.prefetch(rows)
	}
	p.accumulate(sums, rows)
	p.finish(sums)
	p.SUBQ(operand.U8(rows), p.m)
	p.JMP(operand.LabelRef(loop))
	p.Label(done)
}

// begin loads the sums from start and advances it.
func (p *panel) begin(sums []reg.VecVirtual) {
	row := p.GP64()
	p.Load(p.Param("startRow"), row)
	for i, sum := range sums {
		vector := i % p.columns
		p.load(p.at(p.start, vector), vector, sum)
		if vector == p.columns-1 {
			p.ADDQ(row, p.start)
		}
	}
}

// prefetch asks for the start of the next tile, which begin has advanced to:
// waiting for it takes as long as a third of the tile where the result does not
// fit in a cache. Where what is left of it is small it does, and nothing is asked for.
func (p *panel) prefetch(rows int) {
	const small = 1 << 15 // bytes
	skip := fmt.Sprintf("prefetched%d", rows)
	row, at := p.GP64(), p.GP64()
	p.Load(p.Param("startRow"), row)
	p.MOVQ(row, at)
	p.IMULQ(p.m, at)
	p.CMPQ(at, operand.U32(small))
	p.JB(operand.LabelRef(skip))
	p.MOVQ(p.start, at)
	for range rows {
		for line := 0; line < p.columns*p.bytes(); line += 64 {
			p.PREFETCHT0(operand.Mem{Base: at, Disp: line})
		}
		p.ADDQ(row, at)
	}
	p.Label(skip)
}

// finish writes the sums to dst and advances it. A NaN passes the floor.
func (p *panel) finish(sums []reg.VecVirtual) {
	row, floor := p.GP64(), p.vector(p.Context)
	p.Load(p.Param("dstRow"), row)
	p.VBROADCASTSS(p.parameter("floor"), floor)
	for i, sum := range sums {
		p.VMAXPS(sum, floor, sum)
		vector := i % p.columns
		p.store(sum, vector, p.at(p.dst, vector))
		if vector == p.columns-1 {
			p.ADDQ(row, p.dst)
		}
	}
}

// accumulate emits the loop over the inner dimension. Rows of a are addressed
// from two bases seven rows apart.
func (p *panel) accumulate(sums []reg.VecVirtual, rows int) {
	first, second := p.GP64(), p.GP64()
	row, row3, row5, inner := p.GP64(), p.GP64(), p.GP64(), p.GP64()
	b, bRow, k := p.GP64(), p.GP64(), p.GP64()
	p.Load(p.Param("aRow"), row)
	p.Load(p.Param("aInner"), inner)
	p.Load(p.Param("b"), b)
	p.Load(p.Param("bRow"), bRow)
	p.Load(p.Param("k"), k)
	p.LEAQ(operand.Mem{Base: row, Index: row, Scale: 2}, row3)
	p.LEAQ(operand.Mem{Base: row, Index: row, Scale: 4}, row5)
	p.MOVQ(p.a, first)
	p.LEAQ(operand.Mem{Base: first, Index: row3, Scale: 2}, second)
	p.ADDQ(row, second)
	offsets := [7]operand.Mem{
		{},
		{Index: row, Scale: 1},
		{Index: row, Scale: 2},
		{Index: row3, Scale: 1},
		{Index: row, Scale: 4},
		{Index: row5, Scale: 1},
		{Index: row3, Scale: 2},
	}

	loop, done := fmt.Sprintf("inner%d", rows), fmt.Sprintf("sum%d", rows)
	p.TESTQ(k, k)
	p.JZ(operand.LabelRef(done))
	p.Label(loop)
	value, right := p.vector(p.Context), p.right(b, rows)
	for r := range rows {
		address := offsets[r%7]
		if address.Base = first; r >= 7 {
			address.Base = second
		}
		p.VBROADCASTSS(address, value)
		for v := range right {
			p.VFMADD231PS(right[v], value, sums[p.columns*r+v])
		}
	}
	p.ADDQ(inner, first)
	if rows > 7 {
		p.ADDQ(inner, second)
	}
	p.ADDQ(bRow, b)
	p.DECQ(k)
	p.JNZ(operand.LabelRef(loop))
	p.Label(done)

	p.IMUL3Q(operand.U8(rows), row, row)
	p.ADDQ(row, p.a)
}

// right returns the vectors of a row of b: in memory where one row of a is all
// that they meet, else in registers.
func (p *panel) right(b reg.GPVirtual, rows int) []operand.Op {
	row := make([]operand.Op, p.columns)
	for v := range row {
		if rows == 1 && p.mask == nil {
			row[v] = p.at(b, v)
			continue
		}
		loaded := p.vector(p.Context)
		p.load(p.at(b, v), v, loaded)
		row[v] = loaded
	}
	return row
}

// load reads the vector's columns of the panel; others become 0.
func (p *panel) load(from operand.Mem, vector int, to reg.VecVirtual) {
	if p.mask == nil {
		p.VMOVUPS(from, to)
		return
	}
	p.VMOVUPS_Z(from, p.mask[vector], to)
}

// store writes the vector's columns of the panel.
func (p *panel) store(from reg.VecVirtual, vector int, to operand.Mem) {
	if p.mask == nil {
		p.VMOVUPS(from, to)
		return
	}
	p.VMOVUPS(from, p.mask[vector], to)
}

// parameter returns the memory operand of a parameter.
func (p *panel) parameter(name string) operand.Mem {
	component, err := p.Param(name).Resolve()
	if err != nil {
		panic(err) // the name is not in the signature above
	}
	return component.Addr
}
