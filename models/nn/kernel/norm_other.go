//go:build !amd64

package kernel

func layerNorm(_, _, _, _ []float32, _, _ int) {
	panic("kernel: there is no such kernel without vector instructions")
}

func layerNormGradient(_, _, _, _, _, _ []float32, _, _ int) {
	panic("kernel: there is no such kernel without vector instructions")
}
