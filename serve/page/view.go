package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/serve"
)

// Bounds of what is shown; the rest is counted.
const (
	maxClusters  = 100
	maxDecisions = 15
)

// view is the page's data, in the order it is shown.
type view struct {
	*serve.Overview
	Shown   []serve.ClusterView // the troubled first
	Hidden  int
	Last    []serve.Decided
	Sources []share // of all allocations
	Reasons []share // of the fallbacks
	Refused []share
	Bars    []bar // of the latencies
}

// share is one part of a whole.
type share struct {
	Name  string
	Count int64
	Part  float64 // 0 to 1
	Width float64 // of its bar, 0 to 100: the largest is 100
}

// bar is one bucket of the histogram, in the units of its picture.
type bar struct {
	X, Y, Width, Height float64
	Label               string // below it, "" for most
	Middle              float64
	Title               string
}

func newView(o *serve.Overview) *view {
	v := &view{Overview: o, Shown: slices.Clone(o.Clusters), Last: o.Recent}
	slices.SortStableFunc(v.Shown, func(a, b serve.ClusterView) int {
		return cmp.Compare(trouble(&b), trouble(&a))
	})
	if n := len(v.Shown); n > maxClusters {
		v.Shown, v.Hidden = v.Shown[:maxClusters], n-maxClusters
	}
	v.Last = v.Last[:min(len(v.Last), maxDecisions)]
	v.Sources = shares(o.Stats.BySource, true)
	v.Reasons = shares(o.Stats.Fallbacks, false)
	v.Refused = shares(o.Stats.Refused, false)
	v.Bars = bars(o.Latency)
	return v
}

// trouble ranks a cluster by how much it wants to be looked at.
func trouble(c *serve.ClusterView) int {
	switch {
	case c.Silent:
		return 3
	case c.Last != nil && c.Last.Source == "hold", c.Guard != nil && c.Guard.BreakerOpen:
		return 2
	case c.Last != nil && c.Last.Reason != "":
		return 1
	}
	return 0
}

// shares returns the counts as parts of their sum, in order of their names or
// the largest first.
func shares(counts map[string]int64, all bool) []share {
	total, top := int64(0), int64(0)
	for _, n := range counts {
		total += n
		top = max(top, n)
	}
	var list []share
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		if n == 0 && !all {
			continue
		}
		s := share{Name: name, Count: n}
		if total > 0 {
			s.Part, s.Width = float64(n)/float64(total), 100*float64(n)/float64(top)
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b share) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// The picture of the latencies is 600 × 150 with room for labels below.
const (
	pictureWidth  = 600.0
	pictureHeight = 150.0
)

func bars(buckets []serve.LatencyBucket) []bar {
	top := uint64(1)
	for _, b := range buckets {
		top = max(top, b.Count)
	}
	width := pictureWidth / float64(max(len(buckets), 8))
	list := make([]bar, len(buckets))
	every := max(1, (len(buckets)+5)/6)
	for i, b := range buckets {
		height := pictureHeight * float64(b.Count) / float64(top)
		if b.Count > 0 {
			height = max(height, 2) // one is not none
		}
		bound := "up to " + micros(b.UpTo)
		if b.UpTo == 0 {
			bound = "longer"
		}
		list[i] = bar{
			X: float64(i)*width + 1, Y: pictureHeight - height, Width: width - 2, Height: height, Middle: (float64(i) + 0.5) * width,
			Title: fmt.Sprintf("%s: %d", bound, b.Count),
		}
		if i%every == 0 && b.UpTo > 0 {
			list[i].Label = "≤ " + micros(b.UpTo)
		}
	}
	return list
}

// micros writes a number of microseconds with three digits and a unit.
func micros(us float64) string {
	switch {
	case us < 999.5:
		return digits(us) + " µs"
	case us < 999.5e3:
		return digits(us/1e3) + " ms"
	}
	return digits(us/1e6) + " s"
}

// seconds writes a duration in the largest two units.
func seconds(s float64) string {
	if s < 0 || math.IsNaN(s) {
		return "–"
	}
	d := time.Duration(s * float64(time.Second))
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	case s < 60:
		return strconv.Itoa(int(s)) + " s"
	case s < 3600:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(s)%60)
	case s < 86400:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

func ago(now, then time.Time) string { return seconds(max(now.Sub(then).Seconds(), 0)) }

func digits(x float64) string {
	switch {
	case x < 10:
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
	case x < 100:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// count writes a number with thin spaces between its thousands.
func count(n any) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "\u202f" + text[at:]
	}
	return text
}

// score writes a score of the guard; a negative one is not known.
func score(x float64) string {
	if x < 0 || math.IsNaN(x) {
		return "–"
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func percent(part float64) string {
	switch {
	case part == 0:
		return "0 %"
	case part > 0 && part < 0.001:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*part, 'f', 1, 64) + " %"
}
