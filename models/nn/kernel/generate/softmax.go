package main

import (
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax emits the parts of a masked log-softmax and its gradient. Arrays have so
// many vectors, at least one; a byte of keep is 1 where a value counts.
func softmax(c *build.Context, w width, k constants) {
	m := &maskedLoop{loop: loop{Context: c, width: w, constants: k}}
	// dst = max(dst, values kept): dst has 16 values, each the greatest of its places.
	m.emit("maximumKept", []string{"x"}, nil, func(sums []reg.VecVirtual, i int) {
		c.VMAXPS(m.kept(m.read("x"), sums[i]), sums[i], sums[i])
	})
	// dst += exp(x − top) of the values kept, by places.
	m.emit("expSumKept", []string{"x"}, []string{"top"}, func(sums []reg.VecVirtual, i int) {
		c.VADDPS(m.kept(m.exp(m.sub(m.read("x"), m.parameter("top"))), m.constant(0)), sums[i], sums[i])
	})
	// y = x − logSum where kept, low elsewhere.
	m.emit("logSoftmaxKept", []string{"y", "x"}, []string{"logSum", "low"}, func(_ []reg.VecVirtual, _ int) {
		m.write("y", m.kept(m.sub(m.read("x"), m.parameter("logSum")), m.parameter("low")))
	})
	// dx = dy − exp(y)·total where kept, 0 elsewhere.
	m.emit("logSoftmaxGradientKept", []string{"dx", "dy", "y"}, []string{"total"}, func(_ []reg.VecVirtual, _ int) {
		product := m.mul(m.exp(m.read("y")), m.parameter("total"))
		m.write("dx", m.kept(m.sub(m.read("dy"), product), m.constant(0)))
	})
}

// maskedLoop emits one function over arrays of values and a mask of bytes.
type maskedLoop struct {
	loop
	keep reg.GPVirtual
}

// emit emits a function whose first parameter, dst, points to a block of 16 values
// that go through all of the loop; body handles a vector, with the i-th of dst.
func (m *maskedLoop) emit(name string, arrays, scalars []string, body func(sums []reg.VecVirtual, i int)) {
	m.Function(name + m.suffix)
	m.Attributes(noSplit)
	var signature strings.Builder
	signature.WriteString("func(dst *float32, ")
	for _, a := range arrays {
		signature.WriteString(a + " *float32, ")
	}
	signature.WriteString("keep *bool, ")
	for _, s := range scalars {
		signature.WriteString(s + " float32, ")
	}
	m.SignatureExpr(signature.String() + "blocks uintptr)")
	m.Pragma("noescape")
	m.arrays = map[string]reg.GPVirtual{}
	for _, a := range arrays {
		m.arrays[a] = m.GP64()
		m.Load(m.Param(a), m.arrays[a])
	}
	dst, n := m.GP64(), m.GP64()
	m.keep = m.GP64()
	m.Load(m.Param("dst"), dst)
	m.Load(m.Param("keep"), m.keep)
	m.Load(m.Param("blocks"), n)
	sums := m.vectors(m.Context, 16/m.lanes)
	for i, s := range sums {
		m.VMOVUPS(m.at(dst, i), s)
	}
	m.Label("block")
	for i := range sums {
		body(sums, i)
		for _, a := range arrays {
			m.ADDQ(operand.U8(m.bytes()), m.arrays[a])
		}
		m.ADDQ(operand.U8(m.lanes), m.keep)
	}
	m.DECQ(n)
	m.JNZ(operand.LabelRef("block"))
	for i, s := range sums {
		m.VMOVUPS(s, m.at(dst, i))
	}
	m.VZEROUPPER()
	m.RET()
}

// kept returns x where the mask holds and other elsewhere.
func (m *maskedLoop) kept(x, other reg.VecVirtual) reg.VecVirtual {
	bytes, result := m.vector(m.Context), m.vector(m.Context)
	m.VPMOVZXBD(operand.Mem{Base: m.keep}, bytes)
	if m.lanes == 16 {
		k := m.K()
		m.VPTESTMD(bytes, bytes, k)
		m.VMOVAPS(other, result)
		m.VMOVAPS(x, k, result)
		return result
	}
	m.VPSLLD(operand.U8(31), bytes, bytes)
	m.VBLENDVPS(bytes, x, other, result)
	return result
}
