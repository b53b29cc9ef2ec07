package kernel

// layerNorm is LayerNorm for whole blocks.
func layerNorm(dst, x, gain, shift []float32, n, width int) {
	do := layerNormAVX2
	if level == AVX512 {
		do = layerNormAVX512
	}
	do(&dst[0], &x[0], &gain[0], &shift[0], 1/float32(width), uintptr(n), uintptr(width/block))
}

func layerNormGradient(dx, dGain, dShift, dy, x, gain []float32, n, width int) {
	do := layerNormGradientAVX2
	if level == AVX512 {
		do = layerNormGradientAVX512
	}
	do(&dx[0], &dGain[0], &dShift[0], &dy[0], &x[0], &gain[0], 1/float32(width), uintptr(n), uintptr(width/block))
}
