package datasets

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Description summarises a table.
type Description struct {
	Name      string   `json:"name,omitempty"`
	Source    string   `json:"source,omitempty"`
	Licence   string   `json:"licence,omitempty"`
	Generator string   `json:"generator,omitempty"`
	Filters   []string `json:"filters,omitempty"`
	Hash      string   `json:"hash"`
	Jobs      int      `json:"jobs"`
	RowsIn    int64    `json:"rows_in,omitempty"` // of the source

	Arrivals
	GPUs     Percentiles `json:"gpus_per_job"`
	Duration Percentiles `json:"duration_s"` // of the rows that have one, seconds
	Steps    Percentiles `json:"steps"`      // of the rows that have some

	GPUHours float64 `json:"gpu_hours"` // Σ GPUs × duration
	TopShare float64 `json:"top_share"` // part of GPUHours in the largest hundredth of the jobs

	Sizes     []Size  `json:"sizes"`     // by GPUs, ascending
	Durations []Bin   `json:"durations"` // of the rows that have one
	Tenants   []Group `json:"tenants,omitempty"`
	Models    []Group `json:"models,omitempty"`
	Statuses  []Group `json:"statuses,omitempty"`

	NoModel      int `json:"rows_without_model"`
	NoDuration   int `json:"rows_without_duration"`
	NoTenant     int `json:"rows_without_tenant"`
	WithWeight   int `json:"rows_with_weight"`
	WithDeadline int `json:"rows_with_deadline"`

	// Load is what the table brings to a cluster; nil unless one was given.
	Load *ClusterLoad `json:"load,omitempty"`
}

// ClusterLoad is a [Load] and what it was measured against.
type ClusterLoad struct {
	Cluster string `json:"cluster"` // as in "V100=16,P100=16"
	GPUs    int    `json:"gpus"`    // of the cluster
	// Demand is GPU-hours asked for over GPU-hours there are from the first
	// submission to the last, whatever the GPU types; 0 where that is no time.
	Demand float64 `json:"demand"`
	Load
	Runnable Report `json:"runnable"` // rows that can run on the cluster; the others bring no load
	// Problem says why Load and Runnable are not known; "" where they are.
	Problem string `json:"problem,omitempty"`
}

// Size is a number of requested GPUs and the jobs that asked for it.
type Size struct {
	GPUs     int32   `json:"gpus"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
}

// Bin counts jobs with a duration in [From, To).
type Bin struct {
	From     time.Duration `json:"from_ns"`
	To       time.Duration `json:"to_ns"`
	Jobs     int           `json:"jobs"`
	GPUHours float64       `json:"gpu_hours"`
}

// Group is the jobs that have a name in common.
type Group struct {
	Name     string  `json:"name"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
	MeanGPUs float64 `json:"mean_gpus"`
	MedianS  float64 `json:"median_duration_s"` // 0 where no duration is known
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
		Filters: j.Meta.Filters, Hash: j.Hash(), Jobs: len(j.Rows), RowsIn: j.Meta.RowsIn,
	}
	if len(j.Rows) == 0 {
		return d
	}
	d.Arrivals = j.arrivals()
	d.countRows(j)
	return d
}

// AddLoad describes the load that j, the table described, brings to a cluster. A
// table whose work is not known, as one with models that the catalogue lacks,
// has a demand, but no load.
func (d *Description) AddLoad(j *Jobs, t Throughputs, cfg ResolveConfig) error {
	load, report, err := j.OfferedLoad(t, cfg)
	problem := ""
	if rowErr, ok := errors.AsType[*RowError](err); ok {
		problem, err = rowErr.Error(), nil
	}
	if err != nil {
		return err
	}
	d.Load = &ClusterLoad{Cluster: clusterSpec(&cfg.Cluster), GPUs: cfg.Cluster.GPUs(), Load: load, Runnable: report, Problem: problem}
	if d.Span > 0 {
		d.Load.Demand = d.GPUHours / (d.Span.Hours() * float64(d.Load.GPUs))
	}
	return nil
}

// durationBounds separate the bins of durations.
var durationBounds = []time.Duration{
	0, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, MaxTime + 1,
}

func (d *Description) countRows(j *Jobs) {
	var gpus, durations, steps, service []float64
	tenants, models, statuses := make(groups), make(groups), make(groups)
	sizes := make(map[int32]Size)
	d.Durations = make([]Bin, len(durationBounds)-1)
	for i := range d.Durations {
		d.Durations[i].From, d.Durations[i].To = durationBounds[i], durationBounds[i+1]
	}
	for i := range j.Rows {
		r := &j.Rows[i]
		w := float64(r.GPUs) * seconds(r.Duration)
		gpus = append(gpus, float64(r.GPUs))
		sizes[r.GPUs] = Size{r.GPUs, sizes[r.GPUs].Jobs + 1, sizes[r.GPUs].GPUHours + w/3600}
		if r.Duration > 0 {
			durations, service = append(durations, seconds(r.Duration)), append(service, w)
			d.addDuration(r.Duration, w)
		}
		if r.Steps > 0 {
			steps = append(steps, r.Steps)
		}
		d.countNulls(r)
		tenants.add(r.Tenant, r)
		models.add(r.Model, r)
		statuses.add(r.Status, r)
	}
	d.GPUs, d.Duration, d.Steps = percentiles(gpus), percentiles(durations), percentiles(steps)
	for _, s := range service {
		d.GPUHours += s / 3600
	}
	d.TopShare = topShare(service)
	d.Sizes = sortedSizes(sizes)
	d.Tenants, d.Models, d.Statuses = tenants.sorted(), models.sorted(), statuses.sorted()
}

// addDuration counts a job of so long a run time and so much service, GPU-s.
func (d *Description) addDuration(duration time.Duration, service float64) {
	i := len(d.Durations) - 1
	for d.Durations[i].From > duration {
		i--
	}
	d.Durations[i].Jobs++
	d.Durations[i].GPUHours += service / 3600
}

func (d *Description) countNulls(r *Row) {
	for _, c := range [...]struct {
		count *int
		is    bool
	}{
		{&d.NoModel, r.Model == ""},
		{&d.NoDuration, r.Duration == 0},
		{&d.NoTenant, r.Tenant == ""},
		{&d.WithWeight, r.Weight != 0},
		{&d.WithDeadline, r.Deadline != 0},
	} {
		if c.is {
			*c.count++
		}
	}
}

func sortedSizes(bySize map[int32]Size) []Size {
	sizes := make([]Size, 0, len(bySize))
	for _, s := range bySize { // sorted below
		sizes = append(sizes, s)
	}
	slices.SortFunc(sizes, func(a, b Size) int { return cmp.Compare(a.GPUs, b.GPUs) })
	return sizes
}

// groups collects jobs by a name.
type groups map[string]*group

type group struct {
	Group
	gpus      int64
	durations []float64
}

// add counts a job, unless the name is null.
func (g groups) add(name string, r *Row) {
	if name == "" {
		return
	}
	of, ok := g[name]
	if !ok {
		of = &group{Group: Group{Name: name}}
		g[name] = of
	}
	of.Jobs++
	of.gpus += int64(r.GPUs)
	of.GPUHours += float64(r.GPUs) * seconds(r.Duration) / 3600
	if r.Duration > 0 {
		of.durations = append(of.durations, seconds(r.Duration))
	}
}

// sorted returns the groups, most jobs first, then by name.
func (g groups) sorted() []Group {
	all := make([]Group, 0, len(g))
	for _, of := range g { // sorted below
		of.MeanGPUs = float64(of.gpus) / float64(of.Jobs)
		of.MedianS = percentiles(of.durations).P50
		all = append(all, of.Group)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Name, b.Name))
	})
	return all
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
