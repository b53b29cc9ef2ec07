//go:build !amd64

package kernel

// addPanel is for levels that this processor does not have.
func addPanel([]float32, int, origin, strided, []float32, int, int, int, int, float32) {
	panic("kernel: there are no panels without vector instructions")
}
