package timeline

import (
	"fmt"
	"math"
	"strings"
)

// utilization draws the share of GPUs that jobs hold, stacked by type.
func (d *drawing) utilization() {
	bins := int(d.width)
	busy := d.busy(bins)
	total := float64(d.lanes() / parts)
	y := d.frame("GPUs held", "100 %")
	lower := make([]float64, bins)
	for t, values := range busy {
		upper := make([]float64, bins)
		for i, v := range values {
			upper[i] = lower[i] + v/total
		}
		d.area(y, lower, upper, shade(t, len(busy)))
		lower = upper
	}
	x := gutter + 90.0
	for t := range busy {
		name := d.rec.Cluster.Types[t].Name
		d.rect(x, y-strip-15, 10, 10, filled(shade(t, len(busy))))
		d.text(x+14, y-strip-6, "", "start", name)
		x += 30 + 7.5*float64(len(name))
	}
}

// queue draws the number of waiting jobs.
func (d *drawing) queue() {
	values := d.waiting(int(d.width))
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	limit := roundUp(most)
	y := d.frame("Jobs waiting", fmt.Sprintf("%g", limit))
	for i := range values {
		values[i] /= limit
	}
	d.area(y, make([]float64, len(values)), values, "#e08a3c")
}

// frame draws the background of a curve and returns where its zero is.
func (d *drawing) frame(name, most string) float64 {
	d.y += gapStrip
	d.text(gutter, d.y-6, "type", "start", name)
	d.rect(gutter, d.y, d.width, strip, `class="back"`)
	d.text(gutter-8, d.y+9, "tick", "end", most)
	d.text(gutter-8, d.y+strip, "tick", "end", "0")
	d.y += strip
	return d.y
}

// area fills what lies between two curves of values from 0 to 1, one value per
// pixel; runs of equal values become one step.
func (d *drawing) area(zero float64, lower, upper []float64, fill string) {
	var path strings.Builder
	step := d.width / float64(len(upper))
	trace := func(values []float64, from, to, by int) {
		for i := from; i != to; i += by {
			edges := []int{i, i + 1}
			if by < 0 {
				edges = []int{i + 1, i}
			}
			first := i == from || values[i] != values[i-by]
			last := i+by == to || values[i] != values[i+by]
			y := zero - strip*values[i]
			if first {
				fmt.Fprintf(&path, "L%.1f %.1f", gutter+step*float64(edges[0]), y)
			}
			if last {
				fmt.Fprintf(&path, "L%.1f %.1f", gutter+step*float64(edges[1]), y)
			}
		}
	}
	trace(upper, 0, len(upper), 1)
	trace(lower, len(lower)-1, -1, -1)
	d.printf(`<path d="M%sZ" fill="%s"/>`+"\n", path.String()[1:], fill)
}

// axis draws the times, above and below, and a line through the chart for each.
func (d *drawing) axis(top float64) {
	for _, t := range ticks(d.from, d.to, 14) {
		x := d.x(t)
		label := clock(t, d.to-d.from)
		d.printf(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x, top+4, x, d.y)
		d.text(x, top, "tick", "middle", label)
		d.text(x, d.y+15, "tick", "middle", label)
	}
	d.y += 18
}

// roundUp returns the next number at or above x that has one digit but 7 or 9,
// or 1.
func roundUp(x float64) float64 {
	if x <= 1 {
		return 1
	}
	scale := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 2, 3, 4, 5, 6, 8} {
		if x <= f*scale {
			return f * scale
		}
	}
	return 10 * scale
}
