package synth

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// Comparison says how far two tables are apart. All distances are 0 for equal
// tables and at most 1.
type Comparison struct {
	// Kolmogorov–Smirnov distances: of the times between successive submissions,
	// of durations (steps where none is known) and of numbers of GPUs.
	InterArrival float64 `json:"ks_inter_arrival"`
	Duration     float64 `json:"ks_duration"`
	Size         float64 `json:"ks_size"`
	// Total variation distances, half the sum of |a − b|: of the shares of the 24
	// hours of the day and of the tenants.
	HourOfDay float64 `json:"tv_hour_of_day"`
	Tenants   float64 `json:"tv_tenants"`

	A Burstiness `json:"a"`
	B Burstiness `json:"b"`
}

// Burstiness describes the submissions of one table.
type Burstiness struct {
	Jobs    int     `json:"jobs"`
	PerHour float64 `json:"jobs_per_hour"`
	// Dispersion is the variance of the hourly counts over their mean: 1 for a
	// Poisson process of constant rate.
	Dispersion float64 `json:"hourly_dispersion"`
	// CV is the deviation of the times between submissions over their mean: 1 for
	// a Poisson process of constant rate.
	CV float64 `json:"inter_arrival_cv"`
	// Persistence is the correlation of successive hourly counts; GapMemory and
	// Alike are those of the normal scores of successive times between
	// submissions and of the durations of successive jobs.
	Persistence float64 `json:"hourly_autocorrelation"`
	GapMemory   float64 `json:"inter_arrival_autocorrelation"`
	Alike       float64 `json:"duration_autocorrelation"`
}

// Compare compares two tables of at least two jobs each.
func Compare(a, b *datasets.Jobs) (Comparison, error) {
	for _, j := range []*datasets.Jobs{a, b} {
		if len(j.Rows) < 2 {
			return Comparison{}, fmt.Errorf("synth: compare %s: %d jobs, want at least two", j.Name, len(j.Rows))
		}
	}
	x, y := takeTraits(a), takeTraits(b)
	return Comparison{
		InterArrival: KolmogorovSmirnov(x.gaps, y.gaps),
		Duration:     KolmogorovSmirnov(x.lengths, y.lengths),
		Size:         KolmogorovSmirnov(x.sizes, y.sizes),
		HourOfDay:    totalVariation(x.hours[:], y.hours[:]),
		Tenants:      tenantVariation(a.Rows, b.Rows),
		A:            x.burstiness(), B: y.burstiness(),
	}, nil
}

// KolmogorovSmirnov returns the largest distance between the distribution
// functions of two samples, neither of which is empty or holds a NaN.
func KolmogorovSmirnov(a, b []float64) float64 {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	i, j, distance := 0, 0, 0.0
	for i < len(a) && j < len(b) {
		v := min(a[i], b[j])
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		distance = max(distance, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return distance
}

// traits are the samples of a table, in order of submission.
type traits struct {
	gaps, lengths, sizes []float64
	hours                [24]float64 // shares
	counts               []float64   // jobs by hour since the first, whole hours
	perHour              float64
}

func takeTraits(j *datasets.Jobs) traits {
	var t traits
	cal := newCalendar(&Clock{}, j.Meta.Epoch, zoneOf(j.Meta.Zone, j.Meta.Epoch))
	first, last := j.Rows[0].Submit, j.Rows[len(j.Rows)-1].Submit
	t.counts = make([]float64, (last-first)/time.Hour)
	for i := range j.Rows {
		r := &j.Rows[i]
		if i > 0 {
			t.gaps = append(t.gaps, (r.Submit - j.Rows[i-1].Submit).Seconds())
		}
		t.lengths = append(t.lengths, length(r))
		t.sizes = append(t.sizes, float64(r.GPUs))
		h, _, _ := cal.hourAt(r.Submit)
		t.hours[h] += 1 / float64(len(j.Rows))
		if k := int((r.Submit - first) / time.Hour); k < len(t.counts) {
			t.counts[k]++
		}
	}
	if last > first {
		t.perHour = float64(len(j.Rows)-1) / (last - first).Hours()
	}
	return t
}

func (t *traits) burstiness() Burstiness {
	b := Burstiness{Jobs: len(t.lengths), PerHour: t.perHour, Persistence: autocorrelation(t.counts)}
	if mean, variance := moments(t.counts); mean > 0 {
		b.Dispersion = variance / mean
	}
	if mean, variance := moments(t.gaps); mean > 0 {
		b.CV = math.Sqrt(variance) / mean
	}
	b.GapMemory, b.Alike = autocorrelation(scores(t.gaps)), autocorrelation(scores(t.lengths))
	return b
}

// moments returns mean and variance (of the sample, over n), 0 of an empty one.
func moments(x []float64) (mean, variance float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, variance
}

// autocorrelation returns the correlation of successive values, 0 where they do
// not vary.
func autocorrelation(x []float64) float64 {
	mean, variance := moments(x)
	if variance == 0 || len(x) < 3 {
		return 0
	}
	sum := 0.0
	for i := 1; i < len(x); i++ {
		sum += (x[i] - mean) * (x[i-1] - mean)
	}
	return sum / float64(len(x)) / variance
}

// scores returns Φ⁻¹((rank − ½)/n) of each value, ties at their middle rank.
func scores(x []float64) []float64 {
	s := newSweep(x)
	z := make([]float64, len(x))
	for i := 0; i < len(s.order); {
		next := i
		for next < len(s.order) && x[s.order[next]] == x[s.order[i]] {
			next++
		}
		score := normalQuantile(float64(i+next) / 2 / float64(len(x)))
		for ; i < next; i++ {
			z[s.order[i]] = score
		}
	}
	return z
}

func totalVariation(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(a[i] - b[i])
	}
	return sum / 2
}

func tenantVariation(a, b []datasets.Row) float64 {
	index := make(map[string]int)
	var shares [2][]float64
	for side, rows := range [][]datasets.Row{a, b} {
		for i := range rows {
			k, known := index[rows[i].Tenant]
			if !known {
				k = len(index)
				index[rows[i].Tenant] = k
				shares[0], shares[1] = append(shares[0], 0), append(shares[1], 0)
			}
			shares[side][k] += 1 / float64(len(rows))
		}
	}
	return totalVariation(shares[0], shares[1])
}

// Between returns the jobs of a table that were submitted in [from, to). It
// shares the rows.
func Between(j *datasets.Jobs, from, to time.Duration) *datasets.Jobs {
	at := func(t time.Duration) int {
		i, _ := slices.BinarySearchFunc(j.Rows, t, func(r datasets.Row, t time.Duration) int { return cmp.Compare(r.Submit, t) })
		return i
	}
	part := *j
	part.Rows = j.Rows[at(from):max(at(from), at(to))]
	return &part
}
