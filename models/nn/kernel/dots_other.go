//go:build !amd64

package kernel

func dots(dst, x, w []float32, k, whole int) { plainDots(dst, x, w, k, whole) }
