package timeline

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/env/sim"
)

// TextConfig describes a chart for a terminal. The zero value is ready to use.
type TextConfig struct {
	Width int  // of a line in characters; default 120, at least 40
	Rows  int  // most rows for GPUs; default 64. Where there are more GPUs a row stands for several
	Color bool // with ANSI escape codes of 256 colours
}

func (c *TextConfig) fillDefaults() {
	if c.Width == 0 {
		c.Width = 120
	}
	if c.Rows == 0 {
		c.Rows = 64
	}
	c.Width, c.Rows = max(c.Width, 40), max(c.Rows, 1)
}

// Text writes rec as a Gantt chart of characters. A row is a GPU, a column a
// stretch of time; it shows the job that held the GPU longest then: where a job
// begins, a bar and as much of its ID as fits, then ─, or ╌ while it restarts,
// · where the GPU idles, and × where its node is out
// of service. Where there are more GPUs than rows a row is a
// node, or several, and shows how much of it is held as ▁ to █. It returns
// [ErrEmpty] if there is nothing to draw.
func Text(w io.Writer, rec *sim.Recording, cfg TextConfig) error {
	cfg.fillDefaults()
	l, err := newLayout(rec)
	if err != nil {
		return err
	}
	g := &gantt{layout: l, cfg: cfg, columns: cfg.Width - labelWidth}
	g.axis()
	if gpus := l.lanes() / parts; gpus <= cfg.Rows {
		g.gpuRows()
	} else {
		g.crowdedRows(gpus)
	}
	g.curves()
	_, err = io.WriteString(w, g.b.String())
	return err
}

// labelWidth is the width of the names left of the chart.
const labelWidth = 16

// gantt is a chart in the making.
type gantt struct {
	*layout
	cfg     TextConfig
	columns int
	b       strings.Builder
}

// line writes one row of the chart.
func (g *gantt) line(label, cells string) {
	fmt.Fprintf(&g.b, "%-*s%s\n", labelWidth, fit(label, labelWidth-1), strings.TrimRight(cells, " "))
}

// fit cuts s to n characters.
func fit(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// axis writes the times.
func (g *gantt) axis() {
	line := []rune(strings.Repeat(" ", g.columns))
	for _, t := range ticks(g.from, g.to, max(2, g.columns/14)) {
		at := int(float64(g.columns) * float64(t-g.from) / float64(g.to-g.from))
		if label := []rune("╷" + clock(t, g.to-g.from)); at+len(label) <= len(line) {
			copy(line[at:], label)
		}
	}
	g.line("", string(line))
}

// cell is what a GPU does in a column.
type cell struct {
	hold       int     // the hold that has most of it, or idle
	share      float64 // how much it has, in columns
	restarting bool
}

// Values of cell.hold for what is no job.
const (
	idle = -1
	down = -2
)

// gpuRows writes a row for every GPU.
func (g *gantt) gpuRows() {
	rows := g.lanes() / parts
	cells := make([]cell, rows*g.columns)
	for i := range cells {
		cells[i] = cell{hold: idle}
	}
	for i := range g.blocks {
		b := &g.blocks[i]
		for row := b.lane / parts; row <= (b.lane+b.lanes-1)/parts; row++ {
			g.fill(cells[row*g.columns:(row+1)*g.columns], b.hold)
		}
	}
	for i := range g.shelves {
		s := &g.shelves[i]
		for n := range s.gpus {
			row := s.first/parts + n
			g.strike(cells[row*g.columns:(row+1)*g.columns], s.node)
			g.line(g.label(i, n), g.paint(cells[row*g.columns:(row+1)*g.columns]))
		}
	}
}

// label names GPU n of a shelf: the type and the node stand at the first one.
func (g *gantt) label(shelf, n int) string {
	s := &g.shelves[shelf]
	switch {
	case n > 0:
		return fmt.Sprintf("%*d", labelWidth-2, n)
	case s.node < 0:
		return fmt.Sprintf("%-*s%3d", labelWidth-5, g.name(shelf), n)
	}
	head := fmt.Sprintf("%s n%d", g.rec.Cluster.Types[s.typ].Name, s.node)
	return fmt.Sprintf("%-*s%3d", labelWidth-5, fit(head, labelWidth-5), n)
}

// fill notes what hold i does to the columns of a GPU.
func (g *gantt) fill(row []cell, i int) {
	scale := float64(g.columns) / float64(g.to-g.from)
	for k := range g.holds[i].segments {
		s := &g.holds[i].segments[k]
		a, b := float64(s.From-g.from)*scale, float64(s.To-g.from)*scale
		for column := int(a); column < len(row) && float64(column) < b; column++ {
			share := min(b, float64(column+1)) - max(a, float64(column))
			if c := &row[column]; share > c.share {
				*c = cell{hold: i, share: share, restarting: s.Kind == sim.Restarting}
			}
		}
	}
}

// strike marks the idle columns in which a node is out of service.
func (g *gantt) strike(row []cell, node int) {
	scale := float64(g.columns) / float64(g.to-g.from)
	for _, o := range g.rec.Outages {
		if o.Node != node {
			continue
		}
		first, last := max(0, float64(o.From-g.from)*scale), min(float64(len(row)), float64(o.To-g.from)*scale)
		for column := int(first); float64(column) < last; column++ {
			if row[column].hold == idle {
				row[column].hold = down
			}
		}
	}
}

// paint writes the cells of a GPU.
func (g *gantt) paint(row []cell) string {
	var b strings.Builder
	for from := 0; from < len(row); {
		to := from
		for to < len(row) && row[to].hold == row[from].hold {
			to++
		}
		g.stretch(&b, row[from:to])
		from = to
	}
	return b.String()
}

// stretch writes neighbouring cells of one hold.
func (g *gantt) stretch(b *strings.Builder, cells []cell) {
	switch cells[0].hold {
	case idle:
		b.WriteString(strings.Repeat("·", len(cells)))
		return
	case down:
		b.WriteString(strings.Repeat("×", len(cells)))
		return
	}
	job := g.holds[cells[0].hold].job
	text := []rune("│" + fmt.Sprint(g.rec.Jobs[job].ID))
	if len(text) > len(cells) {
		text = text[:1] // part of an ID would be another ID
	}
	for i := len(text); i < len(cells); i++ {
		if cells[i].restarting {
			text = append(text, '╌')
		} else {
			text = append(text, '─')
		}
	}
	if g.cfg.Color {
		fmt.Fprintf(b, "\x1b[30;48;5;%dm%s\x1b[0m", ansi(job), string(text))
		return
	}
	b.WriteString(string(text))
}

// ansi returns a light colour of the 6 × 6 × 6 cube of 256-colour terminals.
func ansi(job int) int {
	light := [...]int{117, 222, 150, 217, 183, 116, 229, 156, 210, 147, 120, 223, 159, 175, 186, 153}
	return light[job%len(light)]
}

// crowdedRows writes rows that each stand for several of the GPUs of a type.
func (g *gantt) crowdedRows(gpus int) {
	each := (gpus + g.cfg.Rows - 1) / g.cfg.Rows
	for i := 0; i < len(g.shelves); {
		first, held := i, 0
		for i < len(g.shelves) && g.shelves[i].typ == g.shelves[first].typ && (held == 0 || held+g.shelves[i].gpus <= each) {
			held += g.shelves[i].gpus
			i++
		}
		s := newSeries(g.from, g.to, g.columns)
		for k := range g.blocks {
			if b := &g.blocks[k]; b.shelf >= first && b.shelf < i {
				s.add(g.holds[b.hold].from, g.holds[b.hold].to, float64(b.lanes)/parts/float64(held))
			}
		}
		name := g.rec.Cluster.Types[g.shelves[first].typ].Name
		if node := g.shelves[first].node; node >= 0 {
			name = fmt.Sprintf("%s n%d", name, node)
			if last := g.shelves[i-1].node; last != node {
				name = fmt.Sprintf("%s–%d", name, last)
			}
		}
		g.line(name, bars(s.averages(), 1))
	}
}

// curves writes the share of GPUs held and the number of jobs that wait.
func (g *gantt) curves() {
	held := make([]float64, g.columns)
	for _, values := range g.busy(g.columns) {
		for i, v := range values {
			held[i] += v
		}
	}
	waiting := g.waiting(g.columns)
	most := 0.0
	for _, v := range waiting {
		most = max(most, v)
	}
	g.b.WriteByte('\n')
	g.line("GPUs held", bars(held, float64(g.lanes()/parts)))
	g.line(fmt.Sprintf("waiting ≤ %.0f", most), bars(waiting, max(1, most)))
}

// bars writes values from 0 to most as bars of eight heights; only nothing at
// all is blank.
func bars(values []float64, most float64) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	out := make([]rune, len(values))
	for i, v := range values {
		n := int(v/most*8 + 0.5)
		if n == 0 && v > 1e-9 {
			n = 1
		}
		out[i] = levels[min(8, n)]
	}
	return string(out)
}
