package gavel

import (
	"cmp"
	"maps"
	"slices"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

const (
	dropAlone = "a job alone: a row of the throughput table"
	dropCopy  = "copied from simulation_throughputs.json: does not fit the throughputs of this file"
)

// ColocationFormat describes what the oracles say of pairs of jobs.
func ColocationFormat() importers.ColocationFormat {
	return importers.ColocationFormat{
		Name: "gavel", About: "Gavel (OSDI 2020): pairs of jobs of simulation_throughputs.json",
		Sniff: SniffThroughput, Import: ImportColocation,
	}
}

// ImportColocation reads the pairs of one or more oracles into a colocation
// table. Those of the physical file, told by its name, are a copy of the other's
// and are dropped.
func ImportColocation(inputs ...importers.Input) (*datasets.ColocationTable, importers.Report, error) {
	pairs, models := new(importers.Pairs), importers.NewModels(nil)
	err := pairs.Each(inputs, func(s *importers.Source) error {
		o, err := readOracle(s)
		if err != nil {
			return err
		}
		for _, place := range o.places {
			if err := keepPairs(pairs, models, s, o, place); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return pairs.Finish(datasets.Meta{Source: "Gavel (Narayanan et al., OSDI 2020), pairs of jobs", Licence: "MIT"})
}

// keepPairs adds the pairs of one place. JSON has no lines worth telling.
func keepPairs(p *importers.Pairs, models *importers.Models, s *importers.Source, o *Oracle, place Place) error {
	for range o.alone[place] {
		if err := p.Begin(s, 0); err != nil {
			return err
		}
		p.Drop(dropAlone)
	}
	if len(o.pairs[place]) == 0 {
		return nil
	}
	from, gpuType := sourceOf(s.Name), p.GPUType(place.GPUType, nil)
	ordered := slices.SortedFunc(maps.Keys(o.pairs[place]), func(a, b Pair) int { return cmp.Or(a.First.Compare(b.First), a.Second.Compare(b.Second)) })
	for _, pair := range ordered {
		if err := p.Begin(s, 0); err != nil {
			return err
		}
		switch {
		case from == sourcePhysical:
			p.Drop(dropCopy)
			continue
		case place.Spread && pair.First.GPUs == 1:
			p.Drop(dropSpread)
			continue
		case pair.First.GPUs != pair.Second.GPUs:
			return s.Error(0, place.String(), pair.First.String()+" beside "+pair.Second.String(), "want pairs with the same number of GPUs")
		}
		if from == sourceSimulation && gpuType == "V100" && (pair.First.Model == "Recommendation" || pair.Second.Model == "Recommendation") {
			p.Warn(warnRecommendation)
		}
		row := datasets.ColocationRow{Source: from, GPUType: gpuType, GPUs: int32(pair.First.GPUs), Nodes: 1, Quality: datasets.Measured}
		if place.Spread {
			row.Nodes = row.GPUs
		}
		rates := o.pairs[place][pair]
		row.A = tenancy(pair.First, p.Model(models, pair.First.Model), rates[0], o.alone[place])
		row.B = tenancy(pair.Second, p.Model(models, pair.Second.Model), rates[1], o.alone[place])
		if err := p.Keep(s, 0, row); err != nil {
			return err
		}
	}
	return nil
}

// tenancy returns one of the jobs of a pair; 0 steps/s is out of memory, and
// null, as it is alone.
func tenancy(c Class, model string, rate float64, alone map[Class]float64) datasets.Tenancy {
	t := datasets.Tenancy{Model: model, Batch: int32(c.Batch), StepsPerSecond: rate, Isolated: alone[c]}
	if t.Batch == 0 {
		t.Batch = sizes[c.Model]
	}
	return t
}
