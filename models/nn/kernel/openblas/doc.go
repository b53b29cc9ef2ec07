// Package openblas calls OpenBLAS's product of float32 matrices, on one thread,
// so that benchmarks of package kernel can stand beside it. It is empty without
// the build tag openblas, which needs cgo and the library (Debian:
// libopenblas-dev):
//
//	go test -tags openblas -run '^$' -bench Product ./models/nn/kernel
package openblas
