package gavel

import (
	"bytes"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/env"
)

// Reasons and warnings.
const (
	dropPair   = "two jobs on the same GPUs: a row of the colocation table"
	dropSpread = "one GPU, said to be spread over nodes: the row that is not counts"

	warnRecommendation = "Recommendation on V100 in gavel-sim, about 11.8 times slower than in gavel-phys"
)

// Names of the sources, by what the name of the file says.
const (
	sourcePhysical   = "gavel-phys"
	sourceSimulation = "gavel-sim"
	sourceUnknown    = "gavel"
)

// ThroughputFormat describes the oracles to a command that imports any.
func ThroughputFormat() importers.ThroughputFormat {
	return importers.ThroughputFormat{
		Name: "gavel", About: "Gavel (OSDI 2020): physical_cluster_throughputs.json, simulation_throughputs.json",
		Sniff: SniffThroughput, Import: ImportThroughput,
	}
}

// SniffThroughput reports whether a text begins like an oracle.
func SniffThroughput(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"('`)) && bytes.Contains(head, []byte(`"null"`))
}

// ImportThroughput reads one or more oracles into a throughput table. A name
// with "physical" or "simulation" tells what it is of.
func ImportThroughput(inputs ...importers.Input) (*datasets.ThroughputTable, importers.Report, error) {
	points, models := new(importers.Points), importers.NewModels(nil)
	err := points.Each(inputs, func(s *importers.Source) error {
		o, err := readOracle(s)
		if err != nil {
			return err
		}
		for _, place := range o.places {
			if err := keepPlace(points, models, s, o, place); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return points.Finish(datasets.Meta{Source: "Gavel (Narayanan et al., OSDI 2020), throughputs", Licence: "MIT"})
}

// keepPlace adds the rows of one place. JSON has no lines worth telling.
func keepPlace(p *importers.Points, models *importers.Models, s *importers.Source, o *Oracle, place Place) error {
	from := sourceOf(s.Name)
	gpuType := p.GPUType(place.GPUType, nil)
	for _, class := range o.Classes(place) {
		if err := p.Begin(s, 0); err != nil {
			return err
		}
		if place.Spread && class.GPUs == 1 {
			p.Drop(dropSpread)
			continue
		}
		if from == sourceSimulation && gpuType == "V100" && class.Model == "Recommendation" {
			p.Warn(warnRecommendation)
		}
		row := throughputRow(class, place)
		row.Source, row.GPUType, row.Model = from, gpuType, p.Model(models, class.Model)
		row.StepsPerSecond = o.alone[place][class]
		row.OutOfMemory = row.StepsPerSecond == 0
		if err := p.Keep(s, 0, row); err != nil {
			return err
		}
	}
	for range o.pairs[place] {
		if err := p.Begin(s, 0); err != nil {
			return err
		}
		p.Drop(dropPair)
	}
	return nil
}

// throughputRow returns the row of a class in data parallelism, one micro-batch
// per worker, without names and speed.
func throughputRow(c Class, place Place) datasets.ThroughputRow {
	batch := int32(c.Batch)
	if batch == 0 {
		batch = sizes[c.Model]
	}
	row := datasets.ThroughputRow{GPUs: int32(c.GPUs), Nodes: 1, Batch: batch, Quality: datasets.Measured}
	row.Plan = env.Plan{Data: c.GPUs, Tensor: 1, Pipeline: 1, MicroBatch: int(batch)}
	row.GlobalBatch = int64(batch) * int64(c.GPUs)
	if place.Spread {
		row.Nodes = row.GPUs
	}
	return row
}

func sourceOf(name string) string {
	_, file := importers.PathNames(name)
	switch {
	case strings.Contains(file, "physical"):
		return sourcePhysical
	case strings.Contains(file, "simulation"):
		return sourceSimulation
	}
	return sourceUnknown
}
