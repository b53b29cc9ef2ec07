package rubick

import (
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/env"
)

// zeroStage is the ZeRO stage that zero-dp and zero-offload are taken to be of:
// the artifact does not say. ZeRO-Offload is built on stage 2 (Ren et al.,
// USENIX ATC 2021).
const zeroStage = 2

const warnApplication = "the batch of its application is not known"

var profileColumns = []string{"exec_plan", "placement", "iter_time"}

// Positions in profileColumns.
const (
	colPlan = iota
	colPlacement
	colIteration
)

// ThroughputFormat describes the format of profiles to a command that imports any.
func ThroughputFormat() importers.ThroughputFormat {
	return importers.ThroughputFormat{
		Name: "rubick", About: "Rubick (MLSys 2025): profiles/MODEL/placements.csv, iteration times by exec_plan and placement",
		Sniff: SniffProfiles, Import: ImportProfiles,
	}
}

// SniffProfiles reports whether a text begins like a profile.
func SniffProfiles(head []byte) bool { return importers.HasColumns(head, profileColumns...) }

// ImportProfiles reads the profiles of one or more applications, which their
// folders name.
func ImportProfiles(inputs ...importers.Input) (*datasets.ThroughputTable, importers.Report, error) {
	points, models := new(importers.Points), newModels()
	err := points.Each(inputs, func(s *importers.Source) error {
		folder, _ := importers.PathNames(s.Name)
		if folder == "" {
			return s.Error(0, "", "its folder does not name the model", "name it with its folder, as in bert/placements.csv")
		}
		p := profileReader{points: points, source: s, models: models, folder: folder}
		return points.ReadTable(s, importers.Layout{Names: profileColumns}, p.row)
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return points.Finish(datasets.Meta{
		Source: "Rubick (Zhang et al., MLSys 2025), profiles on A800; batches as in its artifact", Licence: "Apache-2.0",
	})
}

type profileReader struct {
	points *importers.Points
	source *importers.Source
	models *importers.Models
	folder string
}

func (p *profileReader) row(v *importers.Values) error {
	placement, gpus, nodes, ok := importers.Digits(v.Text(colPlacement))
	if !ok {
		v.Bad(colPlacement, `want a digit for each node, its GPUs, such as "4444"`)
		return nil
	}
	plan, ok := ParsePlan(v.Text(colPlan), gpus)
	if !ok {
		v.Bad(colPlan, "want ga, gc, zero-dp, zero-offload, zero-offload+gc, tp+ga, or three degrees whose product is the GPUs of the placement")
		return nil
	}
	seconds := v.Number(colIteration, 0, 1e9)
	if v.Err() != nil {
		return nil
	}
	r := NewRow(p.folder, p.points.Model(p.models, p.folder), gpus, plan)
	if r.GlobalBatch == 0 {
		p.points.Warn(warnApplication)
	}
	r.Nodes, r.Placement = nodes, strings.Clone(placement)
	if r.OutOfMemory = seconds == 0; !r.OutOfMemory {
		r.StepsPerSecond = float64(gpus) / seconds
		if math.IsInf(r.StepsPerSecond, 1) {
			v.Bad(colIteration, "want seconds, or 0 where it ran out of memory")
			return nil
		}
	}
	return p.points.Keep(p.source, v.Line(), r)
}

// NewRow returns a row of an application on A800s, in the source's words and in
// those of the table, with the batch that the artifact gives it. Where it was
// measured and what, is left to fill in.
func NewRow(application, model string, gpus int32, plan ExecPlan) datasets.ThroughputRow {
	r := datasets.ThroughputRow{
		Source: "rubick", Model: model, GPUType: referenceGPU, GPUs: gpus,
		GlobalBatch: applications[application].global, Plan: plan.Plan, Offload: plan.Offload, Quality: datasets.Measured,
	}
	if r.GlobalBatch%int64(gpus) == 0 {
		r.Batch = int32(r.GlobalBatch / int64(gpus))
	}
	return r
}

// ModelNames returns the names of Rubick's models.
func ModelNames() *importers.Models { return newModels() }

// ExecPlan is an execution plan of Rubick.
type ExecPlan struct {
	Plan    env.Plan // without a micro-batch, which is not known
	Offload bool
}

// ParsePlan reads an exec_plan for so many GPUs.
func ParsePlan(s string, gpus int32) (ExecPlan, bool) {
	data := env.Plan{Data: int(gpus), Tensor: 1, Pipeline: 1}
	switch s {
	case "ga":
		return ExecPlan{Plan: data}, true
	case "gc":
		data.Checkpoint = true
		return ExecPlan{Plan: data}, true
	case "zero-dp":
		data.ZeRO = zeroStage
		return ExecPlan{Plan: data}, true
	case "zero-offload", "zero-offload+gc":
		data.ZeRO, data.Checkpoint = zeroStage, s != "zero-offload"
		return ExecPlan{Plan: data, Offload: true}, true
	case "tp+ga":
		return ExecPlan{Plan: env.Plan{Data: 1, Tensor: int(gpus), Pipeline: 1}}, true
	}
	if len(s) != 3 || strings.Trim(s, "123456789") != "" {
		return ExecPlan{}, false
	}
	p := env.Plan{Pipeline: int(s[0] - '0'), Tensor: int(s[1] - '0'), Data: int(s[2] - '0')}
	return ExecPlan{Plan: p}, p.Data*p.Tensor*p.Pipeline == int(gpus)
}
