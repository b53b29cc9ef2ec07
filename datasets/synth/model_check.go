package synth

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
)

// Limits on what a workload file may hold. They bound what a hostile file can
// cost; fitted models are far below them.
const (
	mostStreams = 256
	mostGaps    = 64 // classes of a stream
	mostLevels  = 16 // bounds between levels
	mostKinds   = 1024
	mostPoints  = 1024 // of a distribution
	mostText    = 4096 // bytes of a title
	mostSteps   = 1e18 // of a job, as in a table
	mostWeight  = 1e9
	longestGap  = 50 * 365 * 86400.0 // seconds
)

// maxReported bounds how many problems one validate reports.
const maxReported = 10

// checker collects problems, each with the field that it is in.
type checker struct{ errs []error }

func (c *checker) bad(field string, value any, want string) {
	if len(c.errs) < maxReported {
		c.errs = append(c.errs, fmt.Errorf("%s is %v, want %s", field, value, want))
	}
}

// text checks a name; most is in bytes.
func (c *checker) text(field, s string, most int) {
	if len(s) > most || !utf8.ValidString(s) {
		c.bad(field, datasets.Excerpt(s), fmt.Sprintf("at most %d bytes of UTF-8", most))
	}
}

// within checks that x is a number from low to high.
func (c *checker) within(field string, x, low, high float64) {
	if !(x >= low && x <= high) {
		c.bad(field, x, fmt.Sprintf("%g to %g", low, high))
	}
}

// count checks the length of a list.
func (c *checker) count(field string, n, low, high int) bool {
	if n < low || n > high {
		c.bad(field, fmt.Sprintf("a list of %d", n), fmt.Sprintf("%d to %d entries", low, high))
		return false
	}
	return true
}

// validate reports what is wrong with m, up to ten problems at once.
func (m *Model) validate() error {
	c := new(checker)
	if m.Version != ModelVersion {
		c.bad("version", m.Version, strconv.Itoa(ModelVersion)+", which is what this yardmaster reads")
		return errors.Join(c.errs...)
	}
	c.source(&m.Source)
	c.clock(&m.Clock)
	if c.count("streams", len(m.Streams), 1, mostStreams) {
		for i := range m.Streams {
			c.stream(fmt.Sprintf("streams[%d]", i), &m.Streams[i])
		}
	}
	return errors.Join(c.errs...)
}

func (c *checker) source(p *Provenance) {
	if p.Title == "" {
		c.bad("source.title", `""`, "what the jobs are and where they come from")
	}
	c.text("source.title", p.Title, mostText)
	for _, s := range []struct{ field, text string }{
		{"licence", p.Licence}, {"table_sha256", p.Table}, {"source_sha256", p.File}, {"zone", p.Zone}, {"from", p.From}, {"to", p.To},
	} {
		c.text("source."+s.field, s.text, datasets.MaxName)
	}
	if p.Epoch == "" {
		return
	}
	for _, s := range []struct{ field, text string }{{"epoch", p.Epoch}, {"to", p.To}} {
		t, err := time.Parse(time.RFC3339Nano, s.text)
		if err != nil || t.Year() < 1900 || t.Year() > 2200 {
			c.bad("source."+s.field, datasets.Excerpt(s.text), "a time as in RFC 3339 between 1900 and 2200")
		}
	}
}

func (c *checker) clock(k *Clock) {
	c.within("clock.resolution_s", k.Resolution, 1e-9, 3600)
	for _, l := range []struct {
		field string
		x     []float64
		n     int
	}{{"clock.by_hour", k.ByHour, 24}, {"clock.by_weekday", k.ByWeekday, 7}} {
		if len(l.x) == 0 {
			continue
		}
		if !c.count(l.field, len(l.x), l.n, l.n) {
			continue
		}
		mean := 0.0
		for i, x := range l.x {
			c.within(fmt.Sprintf("%s[%d]", l.field, i), x, 1e-6, 1e6)
			mean += x / float64(l.n)
		}
		if !(math.Abs(mean-1) <= 0.05) {
			c.bad("the mean of "+l.field, mean, "1")
		}
	}
}

func (c *checker) stream(field string, s *Stream) {
	c.text(field+".name", s.Name, datasets.MaxName)
	c.within(field+".steady_for_s", s.SteadyFor, 0, longestGap)
	if !c.count(field+".gaps", len(s.Gaps), 1, mostGaps) {
		return
	}
	longest := 0.0
	for i := range s.Gaps {
		at := fmt.Sprintf("%s.gaps[%d]", field, i)
		c.within(at+".repeat", s.Gaps[i].Repeat, 0, 1)
		if c.quantiles(at+".seconds", s.Gaps[i].Seconds, 0, longestGap) {
			q := s.Gaps[i].Seconds
			longest = max(longest, q[len(q)-1][1])
		}
	}
	if longest == 0 {
		c.bad(field+".gaps", "nothing but 0", "some longer than 0")
	}
	c.chain(field, s)
	if c.count(field+".kinds", len(s.Kinds), 1, mostKinds) {
		total := 0.0
		for i := range s.Kinds {
			c.kind(fmt.Sprintf("%s.kinds[%d]", field, i), &s.Kinds[i])
			total += s.Kinds[i].Share
		}
		if !(total > 0) {
			c.bad("the sum of the shares of "+field+".kinds", total, "> 0")
		}
	}
}

// chain checks the levels and the transitions of a stream.
func (c *checker) chain(field string, s *Stream) {
	if !c.count(field+".busy_s", len(s.Busy), 0, mostLevels) {
		return
	}
	for i, x := range s.Busy {
		c.within(fmt.Sprintf("%s.busy_s[%d]", field, i), x, 0, longestGap)
		if i > 0 && !(x > s.Busy[i-1]) {
			c.bad(fmt.Sprintf("%s.busy_s[%d]", field, i), x, "more than the one before")
		}
	}
	rows := (len(s.Busy) + 1) * len(s.Gaps)
	if len(s.Gaps) == 1 && len(s.Next) == 0 {
		return
	}
	if !c.count(field+".next", len(s.Next), rows, rows) {
		return
	}
	for i, row := range s.Next {
		at := fmt.Sprintf("%s.next[%d]", field, i)
		if !c.count(at, len(row), len(s.Gaps), len(s.Gaps)) {
			return
		}
		total := 0.0
		for k, w := range row {
			c.within(fmt.Sprintf("%s[%d]", at, k), w, 0, mostWeight)
			total += w
		}
		if !(total > 0) {
			c.bad("the sum of "+at, total, "> 0")
		}
	}
}

func (c *checker) kind(field string, k *Kind) {
	c.within(field+".share", k.Share, 0, mostWeight)
	for _, s := range []struct{ field, text string }{{"tenant", k.Tenant}, {"model", k.Model}, {"reference_gpu", k.ReferenceGPU}} {
		c.text(field+"."+s.field, s.text, datasets.MaxName)
	}
	c.within(field+".gpus", float64(k.GPUs), 1, datasets.MaxGPUs)
	c.within(field+".batch", float64(k.Batch), 0, datasets.MaxBatch)
	if len(k.Seconds)+len(k.Steps) == 0 {
		c.bad(field+".duration_s", "missing and so is steps", "one of them")
	}
	if len(k.Seconds) > 0 {
		c.quantiles(field+".duration_s", k.Seconds, 1e-9, datasets.MaxTime.Seconds())
	}
	if len(k.Steps) > 0 {
		c.quantiles(field+".steps", k.Steps, math.SmallestNonzeroFloat64, mostSteps)
		if k.Model == "" {
			c.bad(field+".model", `""`, "a name: steps say nothing without it")
		}
	}
}

// quantiles checks a distribution of values from low to high.
func (c *checker) quantiles(field string, q Quantiles, low, high float64) bool {
	if !c.count(field, len(q), 2, mostPoints) {
		return false
	}
	before := len(c.errs)
	if q[0][0] != 0 || q[len(q)-1][0] != 1 {
		c.bad("the probabilities of "+field, fmt.Sprintf("from %g to %g", q[0][0], q[len(q)-1][0]), "from 0 to 1")
	}
	for i, k := range q {
		c.within(fmt.Sprintf("%s[%d][0]", field, i), k[0], 0, 1)
		c.within(fmt.Sprintf("%s[%d][1]", field, i), k[1], low, high)
		if i > 0 && (k[0] < q[i-1][0] || k[1] < q[i-1][1]) {
			c.bad(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("[%g, %g]", k[0], k[1]), "neither of them less than in the point before")
		}
	}
	return len(c.errs) == before
}
