package throughputs

import (
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

var pairColumns = []string{
	"source", "gpu_type", "gpus", "consolidated", "model_a", "batch_a", "model_b", "batch_b", "steps_per_s_a", "steps_per_s_b", "solo_a", "solo_b", "note",
}

// Positions in pairColumns; those of the second job follow by one or two.
const (
	pairSource = iota
	pairType
	pairGPUs
	pairConsolidated
	pairModel
	pairBatch
	_
	_
	pairRate
	_
	pairSolo
	_
	_
)

// ColocationFormat describes the table of pairs, colocation.csv: source,
// gpu_type, gpus, consolidated, model_a, batch_a, model_b, batch_b,
// steps_per_s_a, steps_per_s_b, solo_a, solo_b, note.
//
// 0 steps/s is out of memory, and null. A3C and CycleGAN have no batch size:
// they are trained with 4 and 1. Consolidated is one node, the others have one
// for each GPU; those with one GPU are dropped, as in the table of throughputs.
func ColocationFormat() importers.ColocationFormat {
	return importers.ColocationFormat{
		Name: "colocation", About: "pairs of jobs on the same GPUs in one CSV: source,gpu_type,gpus,consolidated,model_a,...",
		Sniff: SniffColocation, Import: ImportColocation,
	}
}

// SniffColocation reports whether a text begins like the table of pairs.
func SniffColocation(head []byte) bool { return importers.HasColumns(head, pairColumns...) }

// ImportColocation reads one or more tables of pairs.
func ImportColocation(inputs ...importers.Input) (*datasets.ColocationTable, importers.Report, error) {
	r := pairReader{pairs: new(importers.Pairs), models: importers.NewModels(nil)}
	err := r.pairs.Each(inputs, func(s *importers.Source) error {
		r.source = s
		return r.pairs.ReadTable(s, importers.Layout{Names: pairColumns, MaxValue: maxNote}, r.row)
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return r.pairs.Finish(datasets.Meta{Source: "pairs of jobs of Gavel (Narayanan et al., OSDI 2020), in one table", Licence: "MIT"})
}

type pairReader struct {
	pairs  *importers.Pairs
	models *importers.Models
	source *importers.Source
}

// row reads one row. What is wrong with it stays in v.
func (r *pairReader) row(v *importers.Values) error {
	row := datasets.ColocationRow{Source: v.OwnName(pairSource), GPUs: int32(v.Whole(pairGPUs, 1, datasets.MaxGPUs)), Nodes: 1, Quality: datasets.Measured}
	spread := v.Whole(pairConsolidated, 0, 1) == 0
	v.OwnName(pairType)
	for i, job := range []*datasets.Tenancy{&row.A, &row.B} {
		name := v.OwnName(pairModel + 2*i)
		job.Batch = int32(optionalWhole(v, pairBatch+2*i, datasets.MaxBatch))
		job.StepsPerSecond, job.Isolated = v.Number(pairRate+i, 0, 1e12), optional(v, pairSolo+i, 0, 1e12)
		if job.Batch == 0 {
			job.Batch = sizes[name]
		}
		if v.Err() == nil {
			job.Model = r.pairs.Model(r.models, name)
		}
	}
	if v.Err() != nil {
		return nil
	}
	if spread && row.GPUs == 1 {
		r.pairs.Drop(dropSpread)
		return nil
	}
	if spread {
		row.Nodes = row.GPUs
	}
	row.GPUType = r.pairs.GPUType(v.Text(pairType), gpuTypes)
	if row.Source == "gavel-sim" && row.GPUType == "V100" && (row.A.Model == "Recommendation" || row.B.Model == "Recommendation") {
		r.pairs.Warn(warnRecommendation)
	}
	return r.pairs.Keep(r.source, v.Line(), row)
}
