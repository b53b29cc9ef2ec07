package datasets

import (
	"cmp"
	"slices"
	"time"
)

// Description summarises a table.
type Description struct {
	Name         string        `json:"name,omitempty"`
	Source       string        `json:"source,omitempty"`
	Licence      string        `json:"licence,omitempty"`
	Generator    string        `json:"generator,omitempty"`
	Filters      []string      `json:"filters,omitempty"`
	Hash         string        `json:"hash"`
	Jobs         int           `json:"jobs"`
	First        string        `json:"first,omitempty"` // submission, RFC 3339; "" where the table has no epoch
	Last         string        `json:"last,omitempty"`
	Span         time.Duration `json:"span_ns"` // first to last submission
	PerHour      float64       `json:"arrivals_per_hour"`
	ByHour       [24]int       `json:"arrivals_by_hour"` // of the day in the table's zone, or since the start
	Sizes        []Size        `json:"sizes"`            // by GPUs, ascending
	Duration     Percentiles   `json:"duration_s"`       // of the rows that have one, seconds
	Steps        Percentiles   `json:"steps"`            // of the rows that have some
	GPUHours     float64       `json:"gpu_hours"`        // Σ GPUs × duration
	TopShare     float64       `json:"top_share"`        // part of GPUHours in the largest hundredth of the jobs
	Models       []Count       `json:"models,omitempty"` // most rows first
	Tenants      []Count       `json:"tenants,omitempty"`
	Statuses     []Count       `json:"statuses,omitempty"`
	NoModel      int           `json:"rows_without_model"`
	NoDuration   int           `json:"rows_without_duration"`
	WithWeight   int           `json:"rows_with_weight"`
	WithDeadline int           `json:"rows_with_deadline"`
}

// Size is a number of requested GPUs and the jobs that asked for it.
type Size struct {
	GPUs int32 `json:"gpus"`
	Jobs int   `json:"jobs"`
}

// Percentiles of a sample, by linear interpolation between the order
// statistics at ranks (n−1)×p. All are 0 for an empty sample.
type Percentiles struct {
	N    int     `json:"n"`
	Min  float64 `json:"min"`
	P10  float64 `json:"p10"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
}

// Describe summarises j.
func (j *Jobs) Describe() Description {
	d := Description{
		Name: j.Name, Source: j.Meta.Source, Licence: j.Meta.Licence, Generator: j.Meta.Generator,
		Filters: j.Meta.Filters, Hash: j.Hash(), Jobs: len(j.Rows),
	}
	if len(j.Rows) == 0 {
		return d
	}
	first, last := j.Rows[0].Submit, j.Rows[len(j.Rows)-1].Submit
	d.Span = last - first
	if d.Span > 0 {
		d.PerHour = float64(len(j.Rows)-1) / d.Span.Hours()
	}
	if !j.Meta.Epoch.IsZero() {
		d.First = j.Meta.Epoch.Add(first).In(j.Meta.location()).Format(time.RFC3339)
		d.Last = j.Meta.Epoch.Add(last).In(j.Meta.location()).Format(time.RFC3339)
	}
	d.countRows(j)
	return d
}

func (d *Description) countRows(j *Jobs) {
	var durations, steps, service []float64
	var models, tenants, statuses Tally
	sizes := make(map[int32]int)
	zone := j.Meta.location()
	for i := range j.Rows {
		r := &j.Rows[i]
		d.ByHour[hourOfDay(j.Meta.Epoch, zone, r.Submit)]++
		sizes[r.GPUs]++
		if r.Duration > 0 {
			durations = append(durations, seconds(r.Duration))
			service = append(service, float64(r.GPUs)*seconds(r.Duration))
		} else {
			d.NoDuration++
		}
		if r.Steps > 0 {
			steps = append(steps, r.Steps)
		}
		if r.Model == "" {
			d.NoModel++
		}
		if r.Weight != 0 {
			d.WithWeight++
		}
		if r.Deadline != 0 {
			d.WithDeadline++
		}
		addNamed(&models, r.Model)
		addNamed(&tenants, r.Tenant)
		addNamed(&statuses, r.Status)
	}
	d.Sizes = sortedSizes(sizes)
	d.Duration, d.Steps = percentiles(durations), percentiles(steps)
	for _, s := range service {
		d.GPUHours += s / 3600
	}
	d.TopShare = topShare(service)
	d.Models, d.Tenants, d.Statuses = models.Counts(), tenants.Counts(), statuses.Counts()
}

func addNamed(t *Tally, name string) {
	if name != "" {
		t.Add(name)
	}
}

// hourOfDay returns the hour of submission in the table's zone, or the hour
// since the start of the trace modulo 24 where there is no epoch.
func hourOfDay(epoch time.Time, zone *time.Location, submit time.Duration) int {
	if epoch.IsZero() {
		return int(submit / time.Hour % 24)
	}
	return epoch.Add(submit).In(zone).Hour()
}

func sortedSizes(counts map[int32]int) []Size {
	sizes := make([]Size, 0, len(counts))
	for gpus, n := range counts { // sorted below
		sizes = append(sizes, Size{gpus, n})
	}
	slices.SortFunc(sizes, func(a, b Size) int { return cmp.Compare(a.GPUs, b.GPUs) })
	return sizes
}

// percentiles sorts x and summarises it.
func percentiles(x []float64) Percentiles {
	if len(x) == 0 {
		return Percentiles{}
	}
	slices.Sort(x)
	at := func(p float64) float64 {
		rank := p * float64(len(x)-1)
		i := int(rank)
		if i == len(x)-1 {
			return x[i]
		}
		return x[i] + (rank-float64(i))*(x[i+1]-x[i])
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return Percentiles{
		N: len(x), Min: x[0], P10: at(0.1), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: x[len(x)-1],
		Mean: sum / float64(len(x)),
	}
}

// topShare returns the part of Σ x that its largest hundredth (at least one
// value) makes up, 0 for an empty sample.
func topShare(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Clone(x)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	top, total := 0.0, 0.0
	for i, v := range sorted {
		if i < max(1, len(sorted)/100) {
			top += v
		}
		total += v
	}
	if total == 0 {
		return 0
	}
	return top / total
}
