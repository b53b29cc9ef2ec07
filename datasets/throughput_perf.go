package datasets

import (
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// MeasurementConfig chooses the rows that become measurements of env/perf. The
// zero value takes the measured rows of every source, known to the catalogue
// that comes with the program.
type MeasurementConfig struct {
	// Catalogue of the models and GPU types; nil is [perf.Default].
	Catalogue *perf.Catalogue
	// Sources to take; none is all. Sources that contradict each other are
	// averaged where both are taken.
	Sources []string
	// Modelled takes modelled rows, too.
	Modelled bool
}

// Reasons for which a row is no measurement.
const (
	dropOtherSource = "another source"
	dropModelled    = "modelled, not measured"
	dropUnknown     = "model is not in the catalogue"
	dropUnknownGPU  = "GPU type is not in the catalogue"
	dropNoBatch     = "batch per worker is not known or not whole"
	dropOffload     = "offloads to the host, which no plan says"
	dropMicroBatch  = "micro-batch of its plan is not known"
)

// Measurements returns the rows that correct the predictions of env/perf, in
// the table's order, as perf.Config takes them, and what became of the others.
// Rows of data parallelism alone whose micro-batch is not known, and rows whose
// plan is not, come with the zero plan: that of the model's best.
func (t *ThroughputTable) Measurements(cfg MeasurementConfig) ([]perf.Measurement, Report) {
	if cfg.Catalogue == nil {
		cfg.Catalogue = perf.Default()
	}
	var out []perf.Measurement
	var dropped Tally
	for i := range t.Rows {
		r := &t.Rows[i]
		plan, reason := cfg.plan(r)
		if reason != "" {
			dropped.Add(reason)
			continue
		}
		out = append(out, perf.Measurement{
			Model: r.Model, Batch: int(r.Batch), GPUType: r.GPUType, GPUs: int(r.GPUs), Nodes: int(r.Nodes),
			Plan: plan, StepsPerSecond: r.StepsPerSecond, Source: r.Source,
		})
	}
	return out, Report{Read: len(t.Rows), Kept: len(out), Dropped: dropped.Counts()}
}

// plan returns the plan of a row that becomes a measurement, or why it does not.
func (cfg *MeasurementConfig) plan(r *ThroughputRow) (env.Plan, string) {
	_, model := cfg.Catalogue.Model(r.Model)
	_, gpu := cfg.Catalogue.GPU(r.GPUType)
	switch {
	case len(cfg.Sources) > 0 && !slices.Contains(cfg.Sources, r.Source):
		return env.Plan{}, dropOtherSource
	case r.Quality != Measured && !cfg.Modelled:
		return env.Plan{}, dropModelled
	case !model:
		return env.Plan{}, dropUnknown
	case !gpu:
		return env.Plan{}, dropUnknownGPU
	case r.Batch == 0:
		return env.Plan{}, dropNoBatch
	case r.Offload:
		return env.Plan{}, dropOffload
	case r.Plan.Data == 0 || r.Plan.MicroBatch > 0:
		return r.Plan, ""
	case r.Plan == (env.Plan{Data: int(r.GPUs), Tensor: 1, Pipeline: 1}):
		return env.Plan{}, ""
	}
	return env.Plan{}, dropMicroBatch
}

// Only returns a table of the rows of some sources, which shares no memory with
// t, and says so in its filters.
func (t *ThroughputTable) Only(sources ...string) *ThroughputTable {
	out := &ThroughputTable{Name: t.Name, Meta: t.Meta}
	out.Meta.Filters = slices.Clone(t.Meta.Filters)
	for _, s := range sources {
		out.Meta.Filters = append(out.Meta.Filters, "kept the rows of source "+s)
	}
	for i := range t.Rows {
		if slices.Contains(sources, t.Rows[i].Source) {
			out.Rows = append(out.Rows, t.Rows[i])
		}
	}
	return out
}
