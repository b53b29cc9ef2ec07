package timeline

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Fact is a figure to show with a chart.
type Fact struct {
	Name, Value string
}

// Config describes a chart. The zero value is ready to use.
type Config struct {
	Title string // default "Timeline"
	Facts []Fact // shown below the title, in this order
	Width int    // of the picture in pixels; default 1400, at least 400
}

func (c *Config) fillDefaults() {
	if c.Title == "" {
		c.Title = "Timeline"
	}
	if c.Width == 0 {
		c.Width = 1400
	}
	c.Width = max(c.Width, 400)
}

// SVG writes rec as a picture. Names are escaped. It returns [ErrEmpty] if there
// is nothing to draw.
func SVG(w io.Writer, rec *sim.Recording, cfg Config) error {
	cfg.fillDefaults()
	l, err := newLayout(rec)
	if err != nil {
		return err
	}
	d := newDrawing(l, cfg)
	d.header()
	d.draw()
	_, err = io.WriteString(w, d.svg(true))
	return err
}

// Measures of a drawing, in pixels.
const (
	gutter    = 96  // left of the chart, for names
	margin    = 16  // right of it
	gapType   = 22  // above the first node of a type, for its name
	gapNode   = 4   // between nodes
	strip     = 64  // height of a curve
	gapStrip  = 26  // above a curve, for its name
	rowMin    = 2.0 // height of a GPU
	thinBlock = 4.0 // width of a block below which it has no outline, which would hide it
	rowMax    = 15.0
	rowSpace  = 760.0 // height of all GPUs, if rowMin and rowMax allow it
)

// drawing is a picture in the making.
type drawing struct {
	*layout
	cfg     Config
	body    strings.Builder
	row     float64   // height of a GPU
	top     []float64 // upper edge of every shelf
	width   float64   // of the plot
	y       float64   // where the next thing goes
	finish  []time.Duration
	outcome []metrics.Outcome
}

func newDrawing(l *layout, cfg Config) *drawing {
	gpus := float64(l.lanes() / parts)
	finish, outcome := finishes(l.rec)
	return &drawing{
		layout: l, cfg: cfg, finish: finish, outcome: outcome,
		row:   math.Floor(min(rowMax, max(rowMin, rowSpace/gpus))),
		width: float64(cfg.Width - gutter - margin),
	}
}

// printf adds to the picture.
func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.body, format, args...) }

// x returns where a time is.
func (d *drawing) x(t time.Duration) float64 {
	return gutter + d.width*float64(t-d.from)/float64(d.to-d.from)
}

// header draws the title and the facts.
func (d *drawing) header() {
	d.text(margin, 28, "title", "start", d.cfg.Title)
	d.y = 52
	var line []string
	for _, f := range d.cfg.Facts {
		line = append(line, f.Name+" "+f.Value)
	}
	if len(line) > 0 {
		d.y = 80
		d.text(margin, 50, "facts", "start", strings.Join(line, "  ·  "))
	}
}

// draw draws everything below the header.
func (d *drawing) draw() {
	d.legend()
	top := d.y + 18
	d.y += 22
	d.rows()
	d.outages()
	d.blocksOfJobs()
	d.utilization()
	d.queue()
	d.axis(top)
	d.y += 12
}

// svg returns the picture: a document of its own, or a part of a page.
func (d *drawing) svg(alone bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="timeline" width="%[1]d" height="%.0[2]f" viewBox="0 0 %[1]d %.0[2]f" role="img">`+"\n", d.cfg.Width, d.y)
	fmt.Fprintf(&b, "<style>%s</style>\n", svgStyle)
	b.WriteString(hatching)
	if alone {
		fmt.Fprintf(&b, `<rect width="%d" height="%.0f" fill="#ffffff"/>`+"\n", d.cfg.Width, d.y)
	}
	b.WriteString(d.body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

const svgStyle = `
.timeline text{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;font-size:11px;fill:#1f2937}
.timeline .title{font-size:19px;font-weight:600}
.timeline .facts{font-size:13px;fill:#4b5563}
.timeline .type{font-size:13px;font-weight:600}
.timeline .name,.timeline .tick{fill:#6b7280}
.timeline .block text{fill:#111827;pointer-events:none}
.timeline .block rect{stroke:#ffffff;stroke-width:.6}
.timeline .block .thin{stroke:none}
.timeline .hatch{fill:url(#hatch);pointer-events:none}
.timeline .grid{stroke:#9ca3af;stroke-opacity:.35;stroke-width:1}
.timeline .down{fill:url(#down)}
.timeline .back{fill:#eceff2}
.timeline .lane{stroke:#ffffff;stroke-width:1}
`

const hatching = `<defs><pattern id="hatch" patternUnits="userSpaceOnUse" width="6" height="6" patternTransform="rotate(45)">` +
	`<rect width="3" height="6" fill="#374151" fill-opacity=".6"/></pattern>` +
	`<pattern id="down" patternUnits="userSpaceOnUse" width="8" height="8">` +
	`<rect width="8" height="8" fill="#b6bcc6"/><path d="M0 8L8 0M-2 2L2 -2M6 10L10 6" stroke="#6b7280"/></pattern></defs>` + "\n"

// rect draws a rectangle; attributes say how.
func (d *drawing) rect(x, y, width, height float64, attributes string) {
	d.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s/>`+"\n", x, y, width, height, attributes)
}

// text writes escaped text of a class that begins, has its middle or ends at x.
func (d *drawing) text(x, y float64, class, anchor, text string) {
	d.printf(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, escape(text))
}

func filled(color string) string { return `fill="` + color + `"` }

// legend says how to read the chart.
func (d *drawing) legend() {
	x, y := float64(gutter), d.y
	d.rect(x, y-10, 26, 12, filled(colour(0)))
	d.text(x+32, y, "", "start", "a job runs")
	d.rect(x+110, y-10, 26, 12, filled(colour(0)))
	d.rect(x+110, y-10, 26, 12, `class="hatch"`)
	d.text(x+142, y, "", "start", "it restarts: no progress")
	d.rect(x+300, y-10, 26, 12, `class="back" stroke="#d1d5db"`)
	d.text(x+332, y, "", "start", "GPU is idle")
	x += 420
	if len(d.rec.Outages) > 0 {
		d.rect(x, y-10, 26, 12, `class="down"`)
		d.text(x+32, y, "", "start", "node is out of service")
		x += 180
	}
	d.text(x, y, "name", "start", "a row is a GPU; numbers are job IDs; point at a block for its job")
}

// rows draws the background: a band for every node, its GPUs and its name.
func (d *drawing) rows() {
	for i := range d.shelves {
		s := &d.shelves[i]
		if i == 0 || d.shelves[i-1].typ != s.typ {
			d.y += gapType
			d.text(margin, d.y-4, "type", "start", d.rec.Cluster.Types[s.typ].Name)
		} else {
			d.y += min(gapNode, d.row)
		}
		height := d.row * float64(s.gpus)
		d.top = append(d.top, d.y)
		d.rect(gutter, d.y, d.width, height, `class="back"`)
		for g := 1; g < s.gpus && d.row > 4; g++ {
			y := d.y + d.row*float64(g)
			d.printf(`<line class="lane" x1="%d" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", gutter, y, gutter+d.width, y)
		}
		if s.node >= 0 && height >= 9 {
			d.text(gutter-8, d.y+height/2+4, "name", "end", d.name(i))
		}
		d.y += height
	}
}

// outages darkens nodes while they are out of service.
func (d *drawing) outages() {
	for _, o := range d.rec.Outages {
		from, to := max(o.From, d.from), min(o.To, d.to)
		i := slices.IndexFunc(d.shelves, func(s shelf) bool { return s.node == o.Node })
		if i < 0 || from >= to {
			continue
		}
		d.printf(`<rect class="down" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`+"\n",
			d.x(from), d.top[i], max(0.5, d.x(to)-d.x(from)), d.row*float64(d.shelves[i].gpus),
			escape(fmt.Sprintf("node %d is out of service\nfrom %s for %s", o.Node, span(o.From), span(o.To-o.From))))
	}
}

// blocksOfJobs draws the blocks, those of one job in a group.
func (d *drawing) blocksOfJobs() {
	byJob := make([][]int, len(d.rec.Jobs))
	for i := range d.blocks {
		job := d.holds[d.blocks[i].hold].job
		byJob[job] = append(byJob[job], i)
	}
	for job, blocks := range byJob {
		if len(blocks) == 0 {
			continue
		}
		d.printf(`<g class="block" data-job="%d">`+"\n", d.rec.Jobs[job].ID)
		for _, i := range blocks {
			d.block(&d.blocks[i])
		}
		d.printf("</g>\n")
	}
}

// block draws one block: a rectangle for every segment and the job's ID if it
// fits.
func (d *drawing) block(b *block) {
	h := &d.holds[b.hold]
	s := &d.shelves[b.shelf]
	y := d.top[b.shelf] + d.row*float64(b.lane-s.first)/parts
	height := d.row * float64(b.lanes) / parts
	fill := colour(h.job)
	for i := range h.segments {
		g := &h.segments[i]
		x := d.x(g.From)
		width := max(0.5, d.x(g.To)-x)
		thin := ""
		if width < thinBlock {
			thin = ` class="thin"`
		}
		d.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"%s><title>%s</title></rect>`+"\n", x, y, width, height, fill, thin, escape(d.describe(h, g)))
		if g.Kind == sim.Restarting {
			d.rect(x, y, width, height, `class="hatch"`)
		}
	}
	label := fmt.Sprint(d.rec.Jobs[h.job].ID)
	if x, room := d.x(h.from), d.x(h.to)-d.x(h.from); room >= float64(7*len(label)+6) && height >= 11 {
		d.text(x+room/2, y+height/2+4, "id", "middle", label)
	}
}

// describe tells everything about a segment and its job.
func (d *drawing) describe(h *hold, g *sim.Segment) string {
	job := &d.rec.Jobs[h.job]
	var b strings.Builder
	nodes := ""
	if n := len(g.Pieces); n > 0 {
		nodes = fmt.Sprintf(" on %d nodes", n)
		if n == 1 {
			nodes = fmt.Sprintf(" on node %d", g.Pieces[0].Node)
		}
	}
	fmt.Fprintf(&b, "job %d: %s, batch %d, asks for %d GPUs\n", job.ID, job.Model, job.Batch, job.GPUs)
	gpus := fmt.Sprintf("%d × %s", g.Strategy.GPUs, d.rec.Cluster.Types[g.Strategy.Type].Name)
	if g.Strategy.Share > 1 {
		gpus = fmt.Sprintf("1/%d of %s", g.Strategy.Share, gpus)
	}
	fmt.Fprintf(&b, "%s on %s%s\n", g.Kind, gpus, nodes)
	fmt.Fprintf(&b, "from %s for %s, then %s\n", span(g.From), span(g.To-g.From), g.End)
	fmt.Fprintf(&b, "submitted at %s", span(job.Submit))
	if finish := d.finish[h.job]; finish > 0 {
		fmt.Fprintf(&b, ", %s at %s, completion time %s", d.outcome[h.job], span(finish), span(finish-job.Submit))
	}
	if job.Tenant != "" {
		fmt.Fprintf(&b, "\ntenant %s", job.Tenant)
	}
	return b.String()
}

// escape makes text safe within elements and attributes.
func escape(s string) string { return template.HTMLEscapeString(s) }
