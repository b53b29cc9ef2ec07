package kernel

// SumRows adds to dst, shape [width], the rows of x, shape [rows, width], in their
// order: those where keep holds, all where keep is nil.
func SumRows(dst, x []float32, rows int, keep []bool) {
	width := len(dst)
	_ = x[:rows*width]
	for at := 0; at < width && rows > 0; {
		columns := columnsOfAPass(width - at)
		eachKept(rows, keep, func(from int, part []bool) {
			if columns < block {
				plainSumRows(dst[at:], x[from*width+at:], width, part)
			} else {
				sumRows(dst[at:], x[from*width+at:], width, part, columns)
			}
		})
		at += columns
	}
}

// raiseToRows raises dst, shape [width], to the rows of x, shape [rows, width],
// where those are larger: where keep holds, or all of them where keep is nil.
func raiseToRows(dst, x []float32, rows int, keep []bool) {
	width := len(dst)
	_ = x[:rows*width]
	for at := 0; at < width && rows > 0; {
		columns := columnsOfAPass(width - at)
		eachKept(rows, keep, func(from int, part []bool) {
			if columns < block {
				plainMaxRows(dst[at:], x[from*width+at:], width, part)
			} else {
				maxRows(dst[at:], x[from*width+at:], width, part, columns)
			}
		})
		at += columns
	}
}

// AddToRows adds scale·row, shape [width], to the rows of x, shape [rows, width],
// where keep holds; to all where keep is nil.
func AddToRows(x, row []float32, scale float32, rows int, keep []bool) {
	width := len(row)
	_ = x[:rows*width]
	var scaled [2 * block]float32
	for at := 0; at < width && rows > 0; {
		columns := columnsOfAPass(width - at)
		for j, v := range row[at:][:columns] {
			scaled[j] = v * scale
		}
		eachKept(rows, keep, func(from int, part []bool) {
			if columns < block {
				plainAddToRows(x[from*width+at:], scaled[:columns], width, part)
			} else {
				addToRows(x[from*width+at:], scaled[:columns], width, part)
			}
		})
		at += columns
	}
}

// columnsOfAPass returns how many of so many columns go through the rows
// together.
func columnsOfAPass(left int) int {
	switch {
	case left >= 2*block:
		return 2 * block
	case left >= block:
		return block
	}
	return left
}

// always is a mask that holds everywhere.
var always = func() (all [1024]bool) {
	for i := range all {
		all[i] = true
	}
	return all
}()

// eachKept calls do with parts of the mask, from its first row on: with keep, or
// with as many of always as it takes.
func eachKept(rows int, keep []bool, do func(from int, part []bool)) {
	if keep != nil {
		do(0, keep[:rows])
		return
	}
	for from := 0; from < rows; from += len(always) {
		do(from, always[:min(len(always), rows-from)])
	}
}

// plainSumRows sums as many columns as dst has; rows of x are width values apart.
func plainSumRows(dst, x []float32, width int, keep []bool) {
	for i, kept := range keep {
		if kept {
			for j := range dst {
				dst[j] += x[i*width+j]
			}
		}
	}
}

func plainMaxRows(dst, x []float32, width int, keep []bool) {
	for i, kept := range keep {
		if kept {
			plainMaximum(dst, x[i*width:])
		}
	}
}

func plainAddToRows(x, row []float32, width int, keep []bool) {
	for i, kept := range keep {
		if kept {
			for j, v := range row {
				x[i*width+j] += v
			}
		}
	}
}
