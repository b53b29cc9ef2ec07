// Package throughputs imports the table of published throughputs in one CSV,
// throughput.csv: rows of Gavel, Shockwave, ElasticFlow, Rubick ("morphling"),
// Titan and Sailor ("sailor-layers") under one header.
//
// # What becomes of a row
//
//   - source and dataset stay. model and gpu_type get the performance
//     catalogue's names where it has them, as in the importers of the sources;
//     "v100" and "a100" are Titan's, V100-32 and A100-80.
//   - steps_per_s counts other things in each source. What is kept is GPUs ×
//     iterations/s: from samples_per_s / batch_global where both are there, from
//     step_time_s where that is, else steps_per_s as it is, which is Gavel's
//     unit.
//   - batch_local and batch_global become batch and global_batch. A3C and
//     CycleGAN have none: they are trained with 4 and 1 per worker. Rubick's are
//     those of its artifact. Sailor's batch_local is that of a tensor-parallel
//     group, so its share is taken.
//   - placement, with nodes, stays. Of Gavel's and Shockwave's rows consolidated
//     is one node, the others have a node for each GPU. ElasticFlow's GPUs fill
//     nodes of 8 (A100) or 4 (T4).
//   - strategy becomes the plan: dp, tp4, 3d:PTD (pipeline, tensor, data), dp+ga,
//     dp+gc, zero-dp, zero-offload, zero-offload+gc, tp+ga. Data-parallel rows of
//     Gavel, Shockwave and Titan have one micro-batch.
//   - mem_gib and oom stay. Sailor's rows and Titan's of several GPUs are
//     modelled, the others measured.
//   - precision, sync_time_s and note are left out.
//
// # What is dropped
//
//   - Values of 0 that were not measured, not out of memory: ElasticFlow's, and
//     Shockwave's, whose traces have neither those models nor those batch sizes.
//   - Shockwave's unconsolidated rows: copies of Gavel's, under another GPU type
//     in shockwave-tacc.
//   - Unconsolidated rows of one GPU: they contradict, in gavel-phys by up to 12
//     times, the row of the same GPU.
//
// Recommendation on V100 in gavel-sim is about 11.8 times slower than in
// gavel-phys: it reproduces Gavel's figures and is not to be trained on. It is
// kept and warned about.
package throughputs

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/elasticflow"
	"github.com/yardmaster/yardmaster/datasets/importers/rubick"
	"github.com/yardmaster/yardmaster/datasets/importers/titan"
	"github.com/yardmaster/yardmaster/env"
)

// Reasons and warnings.
const (
	dropCopy   = "copied from Gavel, not measured there"
	dropSpread = "one GPU, said to be spread over nodes: the row that is not counts"

	warnRecommendation = "Recommendation on V100 in gavel-sim, about 11.8 times slower than in gavel-phys"
	warnPrecision      = "has a precision: no column for it"
	warnRates          = "its speeds disagree: samples_per_s is taken"
)

var columns = []string{
	"source", "model", "dataset", "gpu_type", "gpus", "nodes", "placement", "batch_local", "batch_global", "strategy", "precision",
	"step_time_s", "sync_time_s", "steps_per_s", "samples_per_s", "mem_gib", "consolidated", "oom", "note",
}

// Positions in columns.
const (
	colSource = iota
	colModel
	colDataset
	colGPUType
	colGPUs
	colNodes
	colPlacement
	colBatch
	colGlobal
	colStrategy
	colPrecision
	colStepTime
	_
	colSteps
	colSamples
	colMemory
	colConsolidated
	colOOM
	_
)

// Names of sources, or how they begin.
const (
	fromGavel     = "gavel-"
	fromShockwave = "shockwave-"
	fromElastic   = "elasticflow"
	fromRubick    = "morphling"
	fromTitan     = "titan"
	fromSailor    = "sailor-"
)

// gpuTypes maps names of the table to those of the performance catalogue.
var gpuTypes = map[string]string{
	"k80-12": "K80", "p100-16": "P100", "v100-16": "V100", "t4-16": "T4", "a100-40-sxm": "A100-40", "a100-80-sxm": "A100-80",
	"a800-80-sxm": "A800", "rtx3090-24": "RTX3090",
}

// sizes are the batch sizes, per worker, of Gavel's models that have one only.
var sizes = map[string]int32{"A3C": 4, "CycleGAN": 1}

// maxNote bounds the values of a row; notes are its longest.
const maxNote = 4 << 10

// Format describes the format to a command that imports any.
func Format() importers.ThroughputFormat {
	return importers.ThroughputFormat{
		Name: "throughputs", About: "published throughputs in one CSV: source,model,dataset,gpu_type,gpus,...",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like the table.
func Sniff(head []byte) bool { return importers.HasColumns(head, columns...) }

// Import reads one or more tables.
func Import(inputs ...importers.Input) (*datasets.ThroughputTable, importers.Report, error) {
	r := reader{points: new(importers.Points), models: map[string]*importers.Models{
		fromRubick: rubick.ModelNames(), fromTitan: titan.ModelNames(), "": importers.NewModels(nil),
		"A100-40": importers.NewModels(elasticflow.TableModels("A100-40")), "T4": importers.NewModels(elasticflow.TableModels("T4")),
	}}
	err := r.points.Each(inputs, func(s *importers.Source) error {
		r.source = s
		return r.points.ReadTable(s, importers.Layout{Names: columns, MaxValue: maxNote}, r.row)
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return r.points.Finish(datasets.Meta{
		Source: "published throughputs of Gavel, Shockwave, ElasticFlow, Rubick, Titan and Sailor, in one table", Licence: "as its sources: MIT, Apache-2.0",
	})
}

type reader struct {
	points *importers.Points
	source *importers.Source
	models map[string]*importers.Models // by source, of ElasticFlow by GPU type
}

// row reads one row. What is wrong with it stays in v.
func (r *reader) row(v *importers.Values) error {
	row := datasets.ThroughputRow{
		Source: strings.Clone(v.Text(colSource)), Dataset: strings.Clone(v.Text(colDataset)), GPUs: int32(v.Whole(colGPUs, 1, datasets.MaxGPUs)),
		Placement: strings.Clone(v.Text(colPlacement)), Quality: datasets.Measured,
	}
	for _, name := range [...]int{colSource, colModel, colGPUType} {
		if v.Text(name) == "" || len(v.Text(name)) > datasets.MaxName {
			v.Bad(name, "want a name of 1 to 256 bytes")
		}
	}
	spread := optional(v, colConsolidated, 0, 1) == 0 && v.Text(colConsolidated) != ""
	if v.Err() != nil {
		return nil
	}
	r.names(&row, v)
	r.batch(&row, v)
	r.place(&row, v, spread)
	r.plan(&row, v)
	r.speed(&row, v)
	if v.Err() != nil {
		return nil
	}
	if reason := dropped(&row, spread); reason != "" {
		r.points.Drop(reason)
		return nil
	}
	if v.Text(colPrecision) != "" {
		r.points.Warn(warnPrecision)
	}
	if row.Source == "gavel-sim" && row.Model == "Recommendation" && row.GPUType == "V100" {
		r.points.Warn(warnRecommendation)
	}
	return r.points.Keep(r.source, v.Line(), row)
}

// optional reads a number that may be missing, which is 0.
func optional(v *importers.Values, column int, low, high float64) float64 {
	if v.Text(column) == "" {
		return 0
	}
	return v.Number(column, low, high)
}

func optionalWhole(v *importers.Values, column int, most int64) int64 {
	if v.Text(column) == "" {
		return 0
	}
	return v.Whole(column, 1, most)
}

// from reports whether a row is of the sources whose names begin so.
func from(row *datasets.ThroughputRow, sources ...string) bool {
	for _, s := range sources {
		if strings.HasPrefix(row.Source, s) {
			return true
		}
	}
	return false
}

// names gives the model and the GPU type their names.
func (r *reader) names(row *datasets.ThroughputRow, v *importers.Values) {
	known := gpuTypes
	if row.Source == fromTitan {
		known = titan.GPUTypes()
	}
	row.GPUType = r.points.GPUType(v.Text(colGPUType), known)
	models := r.models[""]
	switch {
	case row.Source == fromElastic && r.models[row.GPUType] != nil:
		models = r.models[row.GPUType]
	case row.Source == fromRubick || row.Source == fromTitan:
		models = r.models[row.Source]
	}
	row.Model = r.points.Model(models, v.Text(colModel))
}

// batch reads the batch sizes.
func (r *reader) batch(row *datasets.ThroughputRow, v *importers.Values) {
	local := optionalWhole(v, colBatch, datasets.MaxBatch)
	row.GlobalBatch = optionalWhole(v, colGlobal, datasets.MaxGlobalBatch)
	if row.Source == fromRubick && row.GlobalBatch == 0 {
		row.GlobalBatch = rubick.NewRow(v.Text(colModel), row.Model, row.GPUs, rubick.ExecPlan{}).GlobalBatch
	}
	if size, ok := sizes[row.Model]; ok && local == 0 && row.GlobalBatch == 0 && from(row, fromGavel, fromShockwave) {
		local = int64(size)
	}
	if row.GlobalBatch == 0 {
		row.GlobalBatch = local * int64(row.GPUs)
	}
	if share := row.GlobalBatch / int64(row.GPUs); share*int64(row.GPUs) == row.GlobalBatch && share <= datasets.MaxBatch {
		row.Batch = int32(share)
	}
	if local != 0 && row.Batch != int32(local) && !from(row, fromSailor) {
		v.Bad(colGlobal, "want batch_local × gpus")
	}
}

// place reads where the GPUs were.
func (r *reader) place(row *datasets.ThroughputRow, v *importers.Values, spread bool) {
	row.Nodes = int32(optionalWhole(v, colNodes, datasets.MaxGPUs))
	switch {
	case row.Nodes != 0:
	case spread:
		row.Nodes = row.GPUs
	case v.Text(colConsolidated) != "":
		row.Nodes = 1
	case row.Source == fromElastic:
		row.Nodes = elasticflow.NodesOf(row.GPUType, row.GPUs)
	}
}

// plan reads the strategy.
func (r *reader) plan(row *datasets.ThroughputRow, v *importers.Values) {
	text := v.Text(colStrategy)
	gpus := int(row.GPUs)
	degree, isTensor := strings.CutPrefix(text, "tp")
	switch {
	case text == "":
		return
	case text == "dp":
		row.Plan = env.Plan{Data: gpus, Tensor: 1, Pipeline: 1}
		if from(row, fromGavel, fromShockwave, fromTitan) {
			row.Plan.MicroBatch = int(row.Batch)
		}
	case isTensor && degree == strconv.Itoa(gpus):
		row.Plan = env.Plan{Data: 1, Tensor: gpus, Pipeline: 1}
		if from(row, fromSailor) && row.GlobalBatch <= datasets.MaxBatch {
			row.Plan.MicroBatch = int(row.GlobalBatch)
		}
	default:
		plan, ok := rubick.ParsePlan(strings.TrimPrefix(strings.TrimPrefix(text, "3d:"), "dp+"), row.GPUs)
		if !ok {
			v.Bad(colStrategy, "want dp, tpN, 3d:PTD, dp+ga, dp+gc, zero-dp, zero-offload, zero-offload+gc or tp+ga, for the row's GPUs")
		}
		row.Plan, row.Offload = plan.Plan, plan.Offload
	}
}

// speed reads the speed and the memory.
func (r *reader) speed(row *datasets.ThroughputRow, v *importers.Values) {
	seconds, steps := optional(v, colStepTime, 0, 1e9), optional(v, colSteps, 0, 1e12)
	samples := optional(v, colSamples, 0, 1e15)
	row.MemGiB = optional(v, colMemory, 1e-6, 1e6)
	oom := optional(v, colOOM, 0, 1) == 1
	global := v.Text(colGlobal) != ""
	rate := steps
	if seconds > 0 {
		rate = float64(row.GPUs) / seconds
	}
	if samples > 0 && global {
		bySamples := float64(row.GPUs) * samples / float64(row.GlobalBatch)
		if seconds > 0 && math.Abs(bySamples-rate) > 1e-6*rate {
			r.points.Warn(warnRates)
		}
		rate = bySamples
	}
	row.StepsPerSecond = rate
	row.OutOfMemory = oom
	if oom && rate > 0 {
		v.Bad(colOOM, "want 0 beside a speed, or no speed")
	}
	if row.Source == fromTitan && row.GPUs > 1 || from(row, fromSailor) {
		row.Quality = datasets.Modelled
	}
}

// dropped returns why a row is left out, "" where it is not.
func dropped(row *datasets.ThroughputRow, spread bool) string {
	unmeasured := ""
	if row.StepsPerSecond == 0 && (!row.OutOfMemory || from(row, fromElastic, fromShockwave)) {
		unmeasured = importers.DropNotMeasured
	}
	copied := ""
	if spread && from(row, fromShockwave) {
		copied = dropCopy
	}
	contradiction := ""
	if spread && row.GPUs == 1 {
		contradiction = dropSpread
	}
	return cmp.Or(copied, unmeasured, contradiction)
}
