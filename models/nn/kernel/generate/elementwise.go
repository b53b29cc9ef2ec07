package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// loop emits one function over arrays of n vectors.
type loop struct {
	*build.Context
	width
	arrays    map[string]reg.GPVirtual
	constants constants
}

// constants are those in memory, by their bits.
type constants map[uint32]operand.Mem

// elementwise emits the functions that map arrays value by value.
func elementwise(c *build.Context, w width, k constants) {
	w.each(c, k, "tanh", []string{"dst", "x"}, nil, func(l *loop) { l.write("dst", l.tanh(l.read("x"))) })
	w.each(c, k, "exp", []string{"dst", "x"}, nil, func(l *loop) { l.write("dst", l.exp(l.read("x"))) })
	w.each(c, k, "gelu", []string{"dst", "x"}, nil, func(l *loop) { l.write("dst", l.gelu(l.read("x"))) })
	w.each(c, k, "tanhGradient", []string{"dst", "dy", "y"}, nil, (*loop).tanhGradient)
	w.each(c, k, "reluGradient", []string{"dst", "dy", "y"}, nil, (*loop).reluGradient)
	w.each(c, k, "geluGradient", []string{"dst", "dy", "x"}, nil, (*loop).geluGradient)
	w.each(c, k, "addScaled", []string{"dst", "x"}, []string{"scale"}, func(l *loop) {
		l.write("dst", l.fma(l.read("x"), l.parameter("scale"), l.read("dst")))
	})
	w.each(c, k, "scale", []string{"dst", "x"}, []string{"factor"}, func(l *loop) { l.write("dst", l.mul(l.read("x"), l.parameter("factor"))) })
	w.each(c, k, "maximum", []string{"dst", "x"}, nil, func(l *loop) {
		x, y := l.read("x"), l.read("dst")
		l.VMAXPS(x, y, y)
		l.write("dst", y)
	})
	w.each(c, k, "adam", []string{"parameters", "first", "second", "gradient"}, []string{"beta1", "beta2", "rest1", "rest2", "rate", "unbias", "epsilon"}, (*loop).adam)
}

// each emits the function name over arrays with these scalar parameters; body
// handles one vector.
func (w width) each(c *build.Context, k constants, name string, arrays, scalars []string, body func(*loop)) {
	var signature strings.Builder
	signature.WriteString("func(")
	for _, a := range arrays {
		signature.WriteString(a + " *float32, ")
	}
	for _, s := range scalars {
		signature.WriteString(s + " float32, ")
	}
	c.Function(name + w.suffix)
	c.Attributes(noSplit)
	c.SignatureExpr(signature.String() + "vectors uintptr)")
	c.Pragma("noescape")
	l := &loop{Context: c, width: w, arrays: map[string]reg.GPVirtual{}, constants: k}
	for _, a := range arrays {
		l.arrays[a] = c.GP64()
		c.Load(c.Param(a), l.arrays[a])
	}
	n := c.GP64()
	c.Load(c.Param("vectors"), n)
	c.TESTQ(n, n)
	c.JZ(operand.LabelRef("done"))
	c.Label("loop")
	body(l)
	for _, a := range arrays {
		c.ADDQ(operand.U8(w.bytes()), l.arrays[a])
	}
	c.DECQ(n)
	c.JNZ(operand.LabelRef("loop"))
	c.Label("done")
	c.VZEROUPPER()
	c.RET()
}

func (l *loop) read(array string) reg.VecVirtual {
	v := l.vector(l.Context)
	l.VMOVUPS(operand.Mem{Base: l.arrays[array]}, v)
	return v
}

func (l *loop) write(array string, v reg.VecVirtual) {
	l.VMOVUPS(v, operand.Mem{Base: l.arrays[array]})
}

// parameter returns a vector of the scalar parameter.
func (l *loop) parameter(name string) reg.VecVirtual {
	component, err := l.Param(name).Resolve()
	if err != nil {
		panic(err) // the name is not in the signature
	}
	v := l.vector(l.Context)
	l.VBROADCASTSS(component.Addr, v)
	return v
}

// constant returns a vector of x, which all functions share in memory.
func (l *loop) constant(x float64) reg.VecVirtual {
	bits := math.Float32bits(float32(x))
	if _, known := l.constants[bits]; !known {
		l.constants[bits] = l.StaticGlobal(fmt.Sprintf("f%08x", bits))
		l.DataAttributes(noPointers)
		l.AppendDatum(operand.U32(bits))
	}
	v := l.vector(l.Context)
	l.VBROADCASTSS(l.constants[bits], v)
	return v
}

func (l *loop) mul(a, b reg.VecVirtual) reg.VecVirtual {
	v := l.vector(l.Context)
	l.VMULPS(a, b, v)
	return v
}

func (l *loop) add(a, b reg.VecVirtual) reg.VecVirtual {
	v := l.vector(l.Context)
	l.VADDPS(a, b, v)
	return v
}

func (l *loop) sub(a, b reg.VecVirtual) reg.VecVirtual {
	v := l.vector(l.Context)
	l.VSUBPS(b, a, v)
	return v
}

func (l *loop) div(a, b reg.VecVirtual) reg.VecVirtual {
	v := l.vector(l.Context)
	l.VDIVPS(b, a, v)
	return v
}

// fma returns a·b + c in the register of c.
func (l *loop) fma(a, b, c reg.VecVirtual) reg.VecVirtual {
	l.VFMADD231PS(a, b, c)
	return c
}

// horner returns the polynomial with these coefficients, the highest power
// first, at x.
func (l *loop) horner(x reg.VecVirtual, coefficients ...float64) reg.VecVirtual {
	sum := l.constant(coefficients[0])
	for _, c := range coefficients[1:] {
		sum = l.fma(sum, x, l.constant(c))
	}
	return sum
}

// clamp limits x to low..high in place and keeps NaN.
func (l *loop) clamp(x reg.VecVirtual, low, high float64) {
	l.VMAXPS(x, l.constant(low), x)
	l.VMINPS(x, l.constant(high), x)
}
