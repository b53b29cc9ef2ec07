//go:build !amd64

package kernel

// addPanel is for levels that this processor does not have.
func addPanel([]float32, int, origin, strided, []float32, int, int, int, int, float32) {
	panic("kernel: there are no panels without vector instructions")
}

func rowPanel(_, _ []float32, _ strided, _ []float32, _, _ int, _ float32) {
	panic("kernel: there are no panels without vector instructions")
}

// transposeInto is plainTranspose where there is nothing faster.
func transposeInto(dst, src []float32, srcRow, inner, columns int) {
	plainTranspose(dst, src, srcRow, 0, inner, columns)
}

// packPanel copies panelColumns columns.
func packPanel(dst, src []float32, srcRow, rows int) {
	copyRows(dst, panelColumns, src, srcRow, rows, panelColumns)
}
