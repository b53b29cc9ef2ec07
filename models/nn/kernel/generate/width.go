package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// width is one instruction set's vector of float32.
type width struct {
	suffix string // of its functions' names
	lanes  int    // values per vector
	rows   []int  // row counts of product tiles, descending to 1
}

// With AVX-512 a tile of 14 rows and 2 vectors takes 28 of the 32 registers,
// with AVX2 one of 6 rows takes 12 of 16; what is left holds a row of b and one
// value of a. The others halve down to single rows.
var widths = []width{
	{suffix: "AVX512", lanes: 16, rows: []int{14, 8, 4, 2, 1}},
	{suffix: "AVX2", lanes: 8, rows: []int{6, 4, 2, 1}},
}

// bytes returns the size of a vector.
func (w width) bytes() int { return 4 * w.lanes }

// vector returns a new register.
func (w width) vector(c *build.Context) reg.VecVirtual {
	if w.lanes == 16 {
		return c.ZMM()
	}
	return c.YMM()
}

// vectors returns n new registers.
func (w width) vectors(c *build.Context, n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = w.vector(c)
	}
	return v
}

// at returns the memory operand of the i-th vector from base on.
func (w width) at(base reg.Register, i int) operand.Mem {
	return operand.Mem{Base: base, Disp: i * w.bytes()}
}
