//go:build !amd64

package kernel

func (o operation) blocks(dst, a, b []float32)  { o.plain(dst, a, b) }
func addScaled(dst, x []float32, scale float32) { plainAddScaled(dst, x, scale) }
func scale(dst, x []float32, factor float32)    { plainScale(dst, x, factor) }
func (s AdamStep) blocks(p, m, v, g []float32)  { s.plain(p, m, v, g) }
