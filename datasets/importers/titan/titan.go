// Package titan imports the profiles of Titan: step times and memory of four
// foundation models on A100 and V100. Source: Gao et al., "Titan: A Scheduler
// for Foundation Model Fine-tuning Workloads", SoCC 2022,
// github.com/gaow0007/Titan (MIT).
//
// # Files
//
// Their names, folder and file, say what they are of: A100/vit_placements.csv.
//
//   - MODEL_placements.csv: placement,local_bsz,step_time,sync_time. Each row is
//     one of the throughput table, in data parallelism. placement is a digit for
//     each node, its GPUs: 1124 is four nodes with eight GPUs. It is a string.
//   - MODEL_scalability.csv: num_nodes,num_replicas,local_bsz,step_time,sync_time,
//     up to 64 GPUs on 16 nodes, without a placement.
//   - MODEL_memory.csv: local_bsz,gpu_memory. Its GiB become mem_gib of the rows
//     with that batch, where both files are given.
//   - MODEL_sharing.csv (two jobs on one GPU) is a colocation table by itself, see
//     [ColocationFormat]. Here its rows are dropped, and those of
//     MODEL_context_switch.csv (seconds to start a model).
//
// # What becomes of a row
//
// local_bsz is the batch per worker, which is one micro-batch: batch and
// micro_batch. Times are seconds; steps_per_s is GPUs / step_time; sync_time is
// left out.
//
// Rows of one GPU are measured. Those of several are modelled: their step_time is
// that of one GPU plus their sync_time, within 2 % everywhere, and sync_time does
// not depend on the batch on most placements, so that they were composed of
// fitted parts. The A100s are of 80 GB (the largest batches use 74.7 GiB) and
// the V100s of 32 GB (29.9 GiB): V100-32. roberta-base and roberta-large are the networks of
// BERT-base and BERT-large with more words, and what the catalogue's figures for
// those were taken from; vit is ViT-base; vit-large keeps its name.
//
// The memory of vit-large on V100 falls from 26.1 to 7.5 GiB between batches 96
// and 128: other settings, which the files do not tell. It is warned about.
package titan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/env"
)

// Reasons and warnings.
const (
	dropContextSwitch = "time to start a model: no column for it"
	dropSharing       = "two jobs on one GPU: a row of the colocation table"
	dropMemory        = "memory of a batch: joined to its rows"
	dropMemoryUnused  = "memory of a batch that has no row"

	warnFalls = "its memory is less than that of a smaller batch"
)

// source is what the rows say they come from.
const source = "titan"

// models maps Titan's names to those of the performance catalogue.
var models = map[string]string{"roberta-base": "BERT-base", "roberta-large": "BERT-large", "vit": "ViT-base"}

// gpuTypes maps Titan's folders, in lower case, to GPU types.
var gpuTypes = map[string]string{"a100": "A100-80", "v100": "V100-32"}

// ModelNames returns the names of Titan's models.
func ModelNames() *importers.Models { return importers.NewModels(models) }

// GPUTypes returns the names of Titan's GPU types, by those of its folders in
// lower case. The caller does not change the map.
func GPUTypes() map[string]string { return gpuTypes }

// kinds of files, by the ends of their names, in the order in which they are read.
var kinds = []string{"memory", "placements", "scalability", "context_switch", "sharing"}

// kindSharing is the position of the last kind, which is of two jobs.
const kindSharing = 4

// headers of the kinds, in the same order.
var headers = [][]string{
	{"local_bsz", "gpu_memory"},
	{"placement", "local_bsz", "step_time", "sync_time"},
	{"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"},
	{"app", "time_cost"},
	{"left_bsz", "left_step_time", "left_gpu_memory", "right_bsz", "right_step_time", "right_gpu_memory"},
}

// Format describes the format to a command that imports any.
func Format() importers.ThroughputFormat {
	return importers.ThroughputFormat{
		Name: "titan", About: "Titan (SoCC 2022): A100/MODEL_placements.csv, _scalability.csv, _memory.csv",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like one of Titan's files of single jobs.
func Sniff(head []byte) bool {
	return slices.ContainsFunc(headers[:kindSharing], func(names []string) bool { return importers.HasColumns(head, names...) })
}

// Import reads one or more of Titan's files.
func Import(inputs ...importers.Input) (*datasets.ThroughputTable, importers.Report, error) {
	r := reader{points: new(importers.Points), models: ModelNames(), memory: make(map[memoryKey]*memory)}
	// Memory first, to be there when the rows that it belongs to are read.
	inputs = importers.SortInputs(inputs)
	slices.SortStableFunc(inputs, func(a, b importers.Input) int { return cmp.Compare(kindOf(a.Name), kindOf(b.Name)) })
	for _, in := range inputs {
		if err := r.points.Each([]importers.Input{in}, r.file); err != nil {
			return nil, importers.Report{}, err
		}
	}
	if len(inputs) == 0 {
		return nil, importers.Report{}, r.points.Each(nil, nil)
	}
	r.closeMemory()
	return r.points.Finish(datasets.Meta{Source: "Titan (Gao et al., SoCC 2022), profiles", Licence: "MIT"})
}

// kindOf returns the position of a file's kind in kinds, -1 for none.
func kindOf(name string) int {
	_, file := importers.PathNames(name)
	return slices.IndexFunc(kinds, func(kind string) bool { return strings.HasSuffix(file, "_"+kind) })
}

// memoryKey is what the memory of a job depends on.
type memoryKey struct {
	gpuType, model string
	batch          int32
}

type memory struct {
	gib  float64
	used bool
}

type reader struct {
	points *importers.Points
	models *importers.Models
	memory map[memoryKey]*memory

	// Of the file being read.
	source         *importers.Source
	gpuType, model string  // in the words of its name
	largest        float64 // memory so far
}

// file reads one file.
func (r *reader) file(s *importers.Source) error {
	kind := kindOf(s.Name)
	if kind < 0 {
		return s.Error(0, "", "its name does not say what it holds", "name it as Titan does, MODEL_placements.csv, _scalability.csv or _memory.csv")
	}
	gpuType, model, err := placeOf(s)
	if err != nil {
		return err
	}
	r.source, r.gpuType, r.model, r.largest = s, gpuType, model, 0
	rows := [...]func(*importers.Values) error{r.memoryRow, r.placementRow, r.scalabilityRow, r.drop(dropContextSwitch), r.drop(dropSharing)}
	return r.points.ReadTable(s, importers.Layout{Names: headers[kind]}, rows[kind])
}

func (r *reader) drop(reason string) func(*importers.Values) error {
	return func(*importers.Values) error {
		r.points.Drop(reason)
		return nil
	}
}

// memoryRow remembers the memory of a batch. How the row is accounted for is
// known when all files are read.
func (r *reader) memoryRow(v *importers.Values) error {
	key := memoryKey{r.gpuType, r.model, v.Batch(0)}
	gib := v.Number(1, 1e-6, 1e6)
	if v.Err() != nil {
		return nil
	}
	if _, twice := r.memory[key]; twice {
		v.Bad(0, "want each batch once")
		return nil
	}
	if gib < r.largest {
		r.points.Warn(warnFalls)
	}
	r.largest = max(r.largest, gib)
	r.memory[key] = &memory{gib: gib}
	return nil
}

// closeMemory accounts for the rows of the memory files.
func (r *reader) closeMemory() {
	for _, m := range r.memory { // only counted
		if m.used {
			r.points.Drop(dropMemory)
		} else {
			r.points.Drop(dropMemoryUnused)
		}
	}
}

func (r *reader) placementRow(v *importers.Values) error {
	placement, gpus, nodes, ok := importers.Digits(v.Text(0))
	if !ok {
		v.Bad(0, `want a digit for each node, its GPUs, such as "1124"`)
		return nil
	}
	return r.keep(v, 1, r.newRow(gpus), func(row *datasets.ThroughputRow) {
		row.Nodes, row.Placement = nodes, strings.Clone(placement)
	})
}

func (r *reader) scalabilityRow(v *importers.Values) error {
	gpus := int32(v.Whole(1, 1, datasets.MaxGPUs))
	nodes := int32(v.Whole(0, 1, datasets.MaxGPUs))
	if v.Err() != nil {
		return nil
	}
	if nodes > gpus {
		v.Bad(0, "want no more nodes than replicas")
		return nil
	}
	return r.keep(v, 2, r.newRow(gpus), func(row *datasets.ThroughputRow) { row.Nodes = nodes })
}

func (r *reader) newRow(gpus int32) datasets.ThroughputRow {
	return NewRow(r.points.Model(r.models, r.model), r.points.GPUType(r.gpuType, gpuTypes), gpus)
}

// keep adds a row whose batch, step time and sync time are at and after column.
func (r *reader) keep(v *importers.Values, column int, row datasets.ThroughputRow, place func(*datasets.ThroughputRow)) error {
	batch := v.Batch(column)
	seconds := v.Number(column+1, 1e-9, 1e9)
	v.Number(column+2, 0, 1e9)
	if v.Err() != nil {
		return nil
	}
	place(&row)
	row.Batch, row.GlobalBatch, row.Plan.MicroBatch = batch, int64(batch)*int64(row.GPUs), int(batch)
	row.StepsPerSecond = float64(row.GPUs) / seconds
	if m := r.memory[memoryKey{r.gpuType, r.model, batch}]; m != nil {
		m.used, row.MemGiB = true, m.gib
	}
	return r.points.Keep(r.source, v.Line(), row)
}

// NewRow returns a row of Titan without its batch and speed.
func NewRow(model, gpuType string, gpus int32) datasets.ThroughputRow {
	r := datasets.ThroughputRow{
		Source: source, Model: model, GPUType: gpuType, GPUs: gpus,
		Plan: env.Plan{Data: int(gpus), Tensor: 1, Pipeline: 1}, Quality: datasets.Modelled,
	}
	if gpus == 1 {
		r.Quality = datasets.Measured
	}
	return r
}
