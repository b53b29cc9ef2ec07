package elasticflow

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/env"
)

// batchColumn is the first of a table, and tells it.
const batchColumn = "global_batch_size"

// A testbed is where a folder of tables was measured.
type testbed struct {
	gpuType string
	perNode int32             // GPUs
	models  map[string]string // names of its files to those of the performance catalogue
}

// testbeds by their folders. On T4 the models are Pollux's: see package pollux.
var testbeds = map[string]testbed{
	"throughputs_A100": {"A100-40", 8, models},
	"throughputs_T4":   {"T4", 4, map[string]string{"imagenet": "ResNet-50", "cifar10": "ResNet-18", "bert": "BERT-base"}},
}

// TableModels returns the names that the performance catalogue has for the
// models of the tables on a GPU type of the catalogue, A100-40 or T4. The
// caller does not change the map.
func TableModels(gpuType string) map[string]string {
	for _, t := range testbeds { // at most one has the type
		if t.gpuType == gpuType {
			return t.models
		}
	}
	return nil
}

// NodesOf returns the fewest nodes that hold so many GPUs in the testbed of a
// GPU type of the catalogue, and 0 where that is not known.
func NodesOf(gpuType string, gpus int32) int32 {
	for _, t := range testbeds { // at most one has the type
		if t.gpuType == gpuType {
			return (gpus + t.perNode - 1) / t.perNode
		}
	}
	return 0
}

// ThroughputFormat describes the format of tables to a command that imports any.
func ThroughputFormat() importers.ThroughputFormat {
	return importers.ThroughputFormat{
		Name: "elasticflow", About: "ElasticFlow (ASPLOS 2023): throughputs_A100/*.csv and throughputs_T4/*.csv, global_batch_size by GPUs",
		Sniff: SniffThroughput, Import: ImportThroughput,
	}
}

// SniffThroughput reports whether a text begins like a throughput table.
func SniffThroughput(head []byte) bool { return importers.HasColumns(head, batchColumn) }

// ImportThroughput reads the tables of one or more models. Their names, folder
// and file, say which GPU type and model they are of.
func ImportThroughput(inputs ...importers.Input) (*datasets.ThroughputTable, importers.Report, error) {
	p := new(importers.Points)
	names := make(map[string]*importers.Models)
	err := p.Each(inputs, func(s *importers.Source) error {
		folder, file := importers.PathNames(s.Name)
		bed, known := testbeds[folder]
		if !known {
			return s.Error(0, "", "its folder does not say on which GPUs it was measured", "name it with its folder, throughputs_A100 or throughputs_T4")
		}
		if names[folder] == nil {
			names[folder] = importers.NewModels(bed.models)
		}
		t := tableReader{points: p, source: s, bed: bed, models: names[folder], file: file}
		return t.read()
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return p.Finish(datasets.Meta{Source: "ElasticFlow (Gu et al., ASPLOS 2023), throughput tables; T4 by Pollux", Licence: "Apache-2.0"})
}

// tableReader reads one file.
type tableReader struct {
	points *importers.Points
	source *importers.Source
	bed    testbed
	models *importers.Models
	file   string  // model, as the file is called
	gpus   []int32 // of each column
}

func (t *tableReader) read() error {
	if err := t.header(); err != nil {
		return err
	}
	for {
		line, number, err := t.source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.row(line, number); err != nil {
			return err
		}
	}
}

// header reads the numbers of GPUs.
func (t *tableReader) header() error {
	line, number, err := t.source.Next()
	if errors.Is(err, io.EOF) {
		return t.source.Error(0, "", "the file has no text", "want the columns "+batchColumn+",1,2,4,8,16,32,64")
	}
	if err != nil {
		return err
	}
	fields := split(line)
	if fields[0] != batchColumn || len(fields) < 2 || len(fields) > importers.MaxColumns {
		return t.source.Error(number, "", "no header in "+datasets.Excerpt(line), "want the columns "+batchColumn+",1,2,4,8,16,32,64")
	}
	for _, f := range fields[1:] {
		gpus, ok := importers.ParseGPUs(f)
		if !ok || gpus == 0 {
			return t.source.Error(number, "", "the column "+datasets.Excerpt(f), "want a number of GPUs from 1 to 1000000")
		}
		t.gpus = append(t.gpus, gpus)
	}
	return nil
}

// split cuts a line into values, without the empty one after a comma at the end.
func split(line string) []string {
	fields := strings.Split(line, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	if n := len(fields); n > 1 && fields[n-1] == "" {
		fields = fields[:n-1]
	}
	return fields
}

// row reads the throughputs of one global batch.
func (t *tableReader) row(line string, number int64) error {
	fields := split(line)
	if len(fields) > len(t.gpus)+1 {
		return t.source.Error(number, "", strconv.Itoa(len(fields))+" values in the row", "want at most "+strconv.Itoa(len(t.gpus)+1)+", one for each column")
	}
	global, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || !(global >= 1 && global <= datasets.MaxGlobalBatch) || global != math.Trunc(global) {
		return t.source.Error(number, batchColumn, datasets.Excerpt(fields[0]), "want samples per iteration, a whole number from 1")
	}
	for i, gpus := range t.gpus {
		value := ""
		if i+1 < len(fields) {
			value = fields[i+1]
		}
		if err := t.value(number, int64(global), gpus, value); err != nil {
			return err
		}
	}
	return nil
}

// value reads one throughput, iterations/s.
func (t *tableReader) value(number, global int64, gpus int32, text string) error {
	if err := t.points.Begin(t.source, number); err != nil {
		return err
	}
	rate, err := strconv.ParseFloat(text, 64)
	if importers.IsNone(text) || err == nil && rate == 0 {
		t.points.Drop(importers.DropNotMeasured)
		return nil
	}
	if err != nil || !(rate > 0) {
		return t.source.Error(number, strconv.Itoa(int(gpus)), datasets.Excerpt(text), "want iterations/s, or 0 or nan where it was not measured")
	}
	r := datasets.ThroughputRow{
		Source: "elasticflow", Model: t.points.Model(t.models, t.file), GPUType: t.bed.gpuType, GPUs: gpus, Nodes: NodesOf(t.bed.gpuType, gpus),
		GlobalBatch: global, Plan: env.Plan{Data: int(gpus), Tensor: 1, Pipeline: 1},
		StepsPerSecond: rate * float64(gpus), Quality: datasets.Measured,
	}
	if share := global / int64(gpus); share*int64(gpus) == global && share <= datasets.MaxBatch {
		r.Batch = int32(share)
	}
	return t.points.Keep(t.source, number, r)
}
