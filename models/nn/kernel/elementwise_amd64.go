package kernel

// blocks applies the operation to whole blocks: len(dst) is a multiple of block,
// and the other arrays are not shorter.
func (o operation) blocks(dst, a, b []float32) {
	switch n := uintptr(len(dst) / block); level {
	case AVX512:
		o.avx512(dst, a, b, n)
	case AVX2:
		o.avx2(dst, a, b, 2*n)
	default:
		o.plain(dst, a, b)
	}
}

func (o operation) avx512(dst, a, b []float32, n uintptr) {
	switch o {
	case opTanh:
		tanhAVX512(&dst[0], &a[0], n)
	case opExp:
		expAVX512(&dst[0], &a[0], n)
	case opGELU:
		geluAVX512(&dst[0], &a[0], n)
	case opMaximum:
		maximumAVX512(&dst[0], &a[0], n)
	case opTanhGradient:
		tanhGradientAVX512(&dst[0], &a[0], &b[0], n)
	case opReLUGradient:
		reluGradientAVX512(&dst[0], &a[0], &b[0], n)
	case opGELUGradient:
		geluGradientAVX512(&dst[0], &a[0], &b[0], n)
	}
}

func (o operation) avx2(dst, a, b []float32, n uintptr) {
	switch o {
	case opTanh:
		tanhAVX2(&dst[0], &a[0], n)
	case opExp:
		expAVX2(&dst[0], &a[0], n)
	case opGELU:
		geluAVX2(&dst[0], &a[0], n)
	case opMaximum:
		maximumAVX2(&dst[0], &a[0], n)
	case opTanhGradient:
		tanhGradientAVX2(&dst[0], &a[0], &b[0], n)
	case opReLUGradient:
		reluGradientAVX2(&dst[0], &a[0], &b[0], n)
	case opGELUGradient:
		geluGradientAVX2(&dst[0], &a[0], &b[0], n)
	}
}

func addScaled(dst, x []float32, scale float32) {
	switch n := uintptr(len(dst) / block); level {
	case AVX512:
		addScaledAVX512(&dst[0], &x[0], scale, n)
	case AVX2:
		addScaledAVX2(&dst[0], &x[0], scale, 2*n)
	default:
		plainAddScaled(dst, x, scale)
	}
}

func scale(dst, x []float32, factor float32) {
	switch n := uintptr(len(dst) / block); level {
	case AVX512:
		scaleAVX512(&dst[0], &x[0], factor, n)
	case AVX2:
		scaleAVX2(&dst[0], &x[0], factor, 2*n)
	default:
		plainScale(dst, x, factor)
	}
}

func (s AdamStep) blocks(p, m, v, g []float32) {
	beta1, beta2, rest1, rest2 := float32(s.Beta1), float32(s.Beta2), float32(1-s.Beta1), float32(1-s.Beta2)
	rate, unbias, epsilon := float32(s.Rate), float32(s.Unbias), float32(s.Epsilon)
	switch n := uintptr(len(p) / block); level {
	case AVX512:
		adamAVX512(&p[0], &m[0], &v[0], &g[0], beta1, beta2, rest1, rest2, rate, unbias, epsilon, n)
	case AVX2:
		adamAVX2(&p[0], &m[0], &v[0], &g[0], beta1, beta2, rest1, rest2, rate, unbias, epsilon, 2*n)
	default:
		s.plain(p, m, v, g)
	}
}
