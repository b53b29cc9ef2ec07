package synth

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// ModelConfig says what [FitModel] fits. The zero value takes all of the table
// and chooses the half-lives.
type ModelConfig struct {
	// From and To bound the window in which jobs were submitted, since the
	// table's epoch, To excluded. Default: first submission, and the last plus
	// the mean time between two.
	From, To time.Duration
	// ArrivalsHalfLife is how fast times of submission are forgotten, and so how
	// much each tenant submits: a gap counts half as much as one that is that
	// much younger. JobsHalfLife is the same for sizes and durations within a
	// tenant. Default 0: both are chosen, see [ChooseHalfLives]; negative: never.
	ArrivalsHalfLife, JobsHalfLife time.Duration
	// Streams bounds the tenants that have a stream of their own, beside one for
	// all others. Default 12.
	Streams int
}

const (
	defaultStreams = 12
	leastStream    = 50    // jobs of a tenant with a stream of its own
	leastShare     = 0.002 // and its share of the jobs, with their weights
	maxKinds       = 128   // of a stream
	maxClasses     = 8     // of gaps
	perClass       = 30    // gaps, at least, for each class
	perLevel       = 200   // gaps, at least, for each level of activity
	maxLevels      = 5
)

// FitModel fits a model to a window of a table, which is valid.
func FitModel(table *datasets.Jobs, cfg ModelConfig) (*Model, error) {
	rows, err := cfg.window(table)
	if err != nil {
		return nil, err
	}
	if cfg.Streams == 0 {
		cfg.Streams = defaultStreams
	}
	if cfg.Streams < 1 {
		return nil, fmt.Errorf("synth: fit: Streams is %d, want >= 1", cfg.Streams)
	}
	if cfg.ArrivalsHalfLife == 0 || cfg.JobsHalfLife == 0 {
		choice := ChooseHalfLives(rows, cfg.From, cfg.To)
		if cfg.ArrivalsHalfLife == 0 {
			cfg.ArrivalsHalfLife = choice.Arrivals
		}
		if cfg.JobsHalfLife == 0 {
			cfg.JobsHalfLife = choice.Jobs
		}
	}
	epoch := table.Meta.Epoch
	m := &Model{Version: ModelVersion, Source: cfg.provenance(table, len(rows))}
	f := &fitter{cfg: cfg, epoch: epoch, zone: zoneOf(table.Meta.Zone, epoch), resolution: resolution(rows)}
	parts := f.streams(rows)
	f.fitClock(parts)
	m.Clock = f.clock
	for i := range parts {
		m.Streams = append(m.Streams, f.stream(&parts[i]))
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("synth: fit: %w", err)
	}
	return m, nil
}

// window checks the window, filling in its default, and returns its rows.
func (c *ModelConfig) window(table *datasets.Jobs) ([]datasets.Row, error) {
	rows := table.Rows
	if len(rows) == 0 {
		return nil, errors.New("synth: fit: the table has no jobs")
	}
	if c.From == 0 && c.To == 0 {
		c.From = rows[0].Submit
		last := rows[len(rows)-1].Submit
		c.To = last + max(1, (last-c.From)/time.Duration(max(1, len(rows)-1)))
	}
	if c.To <= c.From || c.From < 0 {
		return nil, fmt.Errorf("synth: fit: the window is %v to %v, want 0 <= From < To", c.From, c.To)
	}
	first, _ := slices.BinarySearchFunc(rows, c.From, func(r datasets.Row, t time.Duration) int { return cmp.Compare(r.Submit, t) })
	end, _ := slices.BinarySearchFunc(rows, c.To, func(r datasets.Row, t time.Duration) int { return cmp.Compare(r.Submit, t) })
	rows = rows[first:end]
	if len(rows) < 2 || rows[0].Submit == rows[len(rows)-1].Submit {
		return nil, fmt.Errorf("synth: fit: %d jobs in the window %v to %v, want at least two that were not submitted at once", len(rows), c.From, c.To)
	}
	return rows, nil
}

func (c *ModelConfig) provenance(table *datasets.Jobs, jobs int) Provenance {
	meta := &table.Meta
	p := Provenance{
		Title: meta.Source, Licence: meta.Licence, Table: table.Hash(), File: meta.SourceSHA256, Zone: meta.Zone,
		From: c.From.String(), To: c.To.String(), Jobs: jobs,
		ArrivalsHalfLife: max(0, round(c.ArrivalsHalfLife.Hours()/24, 6)), JobsHalfLife: max(0, round(c.JobsHalfLife.Hours()/24, 6)),
	}
	if p.Title == "" {
		p.Title = table.Name
	}
	if !meta.Epoch.IsZero() {
		zone := zoneOf(meta.Zone, meta.Epoch)
		p.Epoch = meta.Epoch.Format(time.RFC3339Nano)
		p.From = meta.Epoch.Add(c.From).In(zone).Format(time.RFC3339Nano)
		p.To = meta.Epoch.Add(c.To).In(zone).Format(time.RFC3339Nano)
	}
	return p
}

// resolution returns the largest of 1 min, 1 s, 1 ms and 1 µs that all times of
// submission are multiples of, seconds after the first, or else 1 ns.
func resolution(rows []datasets.Row) float64 {
	for _, d := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if !slices.ContainsFunc(rows, func(r datasets.Row) bool { return (r.Submit-rows[0].Submit)%d != 0 }) {
			return d.Seconds()
		}
	}
	return 1e-9
}

// fading returns the weight of what is that old, at least 2⁻⁴⁰: nothing is
// forgotten altogether.
func fading(age, halfLife time.Duration) float64 {
	if halfLife <= 0 {
		return 1
	}
	return max(0x1p-40, math.Exp2(-float64(age)/float64(halfLife)))
}

// fitter fits streams.
type fitter struct {
	cfg        ModelConfig
	epoch      time.Time
	zone       *time.Location
	resolution float64
	// Set by fitClock.
	clock    Clock
	calendar *calendar
}

// part is the jobs of one stream and what lies between them.
type part struct {
	name   string
	rows   []*datasets.Row
	gaps   []interval
	steady float64
}

// fitClock fits the activity of hours and weekdays and, for each stream, what part
// of its gaps follows it. Streams that do not follow it at all, such as programs
// that submit day and night, do not count in the activity: it is fitted to all of
// them first, and then twice to those that follow the last one.
func (f *fitter) fitClock(parts []part) {
	follow := make([]*part, len(parts))
	for i := range parts {
		parts[i].gaps = f.gaps(parts[i].rows)
		follow[i] = &parts[i]
	}
	for range 3 {
		f.clock = fitClock(submits(follow), f.cfg.From, f.cfg.To, f.epoch, f.zone)
		f.clock.Resolution = f.resolution
		f.calendar = newCalendar(&f.clock, f.epoch, f.zone)
		before := len(follow)
		follow = follow[:0]
		for i := range parts {
			if parts[i].steady = f.steady(parts[i].gaps); parts[i].steady < steadies[0] {
				follow = append(follow, &parts[i])
			}
		}
		if len(follow) == 0 || len(follow) == before {
			return
		}
	}
}

// submits returns the times of submission of several streams, ascending.
func submits(parts []*part) []time.Duration {
	var times []time.Duration
	for _, p := range parts {
		for _, r := range p.rows {
			times = append(times, r.Submit)
		}
	}
	slices.Sort(times)
	return times
}

// Others is the name of the stream of the tenants that have none of their own.
const Others = "others"

// streams divides rows by tenant, the heaviest first.
func (f *fitter) streams(rows []datasets.Row) []part {
	index := make(map[string]int)
	var parts []part
	var weights []float64
	total := 0.0
	for i := range rows {
		r := &rows[i]
		k, known := index[r.Tenant]
		if !known {
			k = len(parts)
			index[r.Tenant] = k
			parts = append(parts, part{name: r.Tenant})
			weights = append(weights, 0)
		}
		parts[k].rows = append(parts[k].rows, r)
		w := fading(f.cfg.To-r.Submit, f.cfg.ArrivalsHalfLife)
		weights[k] += w
		total += w
	}
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b)) })
	var own []part
	rest := part{name: Others}
	for _, k := range order {
		if len(parts) > 1 && (len(own) >= f.cfg.Streams || len(parts[k].rows) < leastStream || weights[k] < leastShare*total) {
			rest.rows = append(rest.rows, parts[k].rows...)
			continue
		}
		own = append(own, parts[k])
	}
	if len(rest.rows) > 0 {
		slices.SortFunc(rest.rows, func(a, b *datasets.Row) int {
			return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
		})
		own = append(own, rest)
	}
	return own
}

// stream fits one.
func (f *fitter) stream(p *part) Stream {
	s := Stream{Name: p.name, SteadyFor: p.steady}
	f.fitGaps(&s, p.gaps)
	f.fitKinds(&s, p.rows, p.gaps)
	return s
}
