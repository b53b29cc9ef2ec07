package oracle

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
)

// WriteMPS writes m to w in the free MPS format, which all solvers read: columns
// C0, C1 … and rows R0, R1 …, numbers with all their digits.
func (m *Model) WriteMPS(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "NAME M\nROWS\n N COST\n")
	for r := range m.Rows {
		fmt.Fprintf(out, " %c R%d\n", m.Rows[r].kind(), r)
	}
	m.writeColumns(out)
	fmt.Fprintf(out, "RHS\n")
	for r, row := range m.Rows {
		if side := row.side(); side != 0 {
			fmt.Fprintf(out, " RHS R%d %s\n", r, digits(side))
		}
	}
	fmt.Fprintf(out, "RANGES\n")
	for r, row := range m.Rows {
		if row.kind() == 'L' && !math.IsInf(row.Low, -1) {
			fmt.Fprintf(out, " RANGE R%d %s\n", r, digits(row.High-row.Low))
		}
	}
	if m.Whole {
		fmt.Fprintf(out, "BOUNDS\n")
		for c := range m.Cost {
			fmt.Fprintf(out, " UP BOUND C%d 1\n", c)
		}
	}
	fmt.Fprintf(out, "ENDATA\n")
	return out.Flush()
}

func (m *Model) writeColumns(out *bufio.Writer) {
	type entry struct {
		row   int
		value float64
	}
	columns := make([][]entry, len(m.Cost))
	for r, row := range m.Rows {
		for _, t := range row.Terms {
			columns[t.Column] = append(columns[t.Column], entry{r, t.Value})
		}
	}
	fmt.Fprintf(out, "COLUMNS\n")
	if m.Whole {
		fmt.Fprintf(out, " MARK 'MARKER' 'INTORG'\n")
	}
	for c, cost := range m.Cost {
		fmt.Fprintf(out, " C%d COST %s\n", c, digits(cost))
		for _, e := range columns[c] {
			fmt.Fprintf(out, " C%d R%d %s\n", c, e.row, digits(e.value))
		}
	}
	if m.Whole {
		fmt.Fprintf(out, " MARK 'MARKER' 'INTEND'\n")
	}
}

// kind is the row's type in MPS.
func (r *Row) kind() byte {
	switch {
	case r.Low == r.High:
		return 'E'
	case math.IsInf(r.High, 1):
		return 'G'
	}
	return 'L'
}

// side is the row's right-hand side in MPS.
func (r *Row) side() float64 {
	if r.kind() == 'G' {
		return r.Low
	}
	return r.High
}

func digits(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
