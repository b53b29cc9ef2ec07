// Package pollux imports the workloads of Pollux's simulator: jobs of six
// applications, drawn after the busiest hours of Microsoft's Philly cluster.
// Source: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for
// Goodput-Optimized Deep Learning", OSDI 2021, github.com/petuum/adaptdl, branch
// osdi21-artifact (Apache-2.0).
//
// # What becomes of a row
//
//   - name is left out, job_id is the number of the row, from 1. time, seconds,
//     becomes submit_ns, counted from the zero of the trace: it is a time of
//     day.
//   - num_replicas becomes gpus. batch_size is that of all workers together:
//     batch is its share, rounded up where it does not divide.
//   - application becomes model: cifar10 is ResNet-18, imagenet ResNet-50; bert,
//     the base model on SQuAD, is BERT-base, whose inputs in the catalogue are a
//     third longer. deepspeech2, ncf and yolov3 keep their names.
//   - A workload does not say how much there is to do. In Pollux a job ends when
//     its application has made a progress that counts samples by what they teach.
//     Here it ends after as many samples as its epochs have: see
//     [DefaultApplications]. Pollux's recorded runs with a fixed batch need more:
//     1.0 times as many for bert and ncf, 1.1 for yolov3, 1.3 for cifar10 with
//     2048 and deepspeech2 with 320, 1.6 for deepspeech2 with 640. The filters of
//     the table say what was taken. Jobs of other applications are dropped.
//
// There is no duration: it would follow from the speed of Pollux's T4s.
package pollux

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

const dropUnknown = "its application's work is not known: configure it"

// columns are all that a workload has.
var columns = []string{"name", "time", "application", "num_replicas", "batch_size"}

// Positions in columns.
const (
	_ = iota
	colTime
	colApplication
	colReplicas
	colBatch
)

// models maps applications to the models of the performance catalogue.
var models = map[string]string{"cifar10": "ResNet-18", "imagenet": "ResNet-50", "bert": "BERT-base"}

// Application is the work of a job of an application.
type Application struct {
	Epochs  float64 // passes over the data set
	Samples float64 // in the data set
}

// DefaultApplications returns the work of Pollux's applications. Epochs are
// those of simulator/applications.py. Samples are those of an epoch: progress of
// an epoch × initial batch size in simulator/traces, which is CIFAR-10,
// ImageNet-1k, PASCAL VOC 2007 and 2012, MovieLens-1M with four negatives for
// each rating, SQuAD 1.1 in windows, and CMU ARCTIC. The caller owns the map.
func DefaultApplications() map[string]Application {
	return map[string]Application{
		"bert":        {Epochs: 2, Samples: 88_740},
		"cifar10":     {Epochs: 100, Samples: 50_000},
		"deepspeech2": {Epochs: 80, Samples: 7_135},
		"imagenet":    {Epochs: 90, Samples: 1_281_167},
		"ncf":         {Epochs: 10, Samples: 4_970_845},
		"yolov3":      {Epochs: 50, Samples: 16_551},
	}
}

// Config says what a workload does not. The zero value is the default.
type Config struct {
	// Applications is the work of jobs. nil is [DefaultApplications].
	Applications map[string]Application
}

func (c *Config) fillDefaults() {
	if c.Applications == nil {
		c.Applications = DefaultApplications()
	}
}

func (c *Config) validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Applications)) {
		a := c.Applications[name]
		if work := a.Epochs * a.Samples; !(a.Epochs > 0 && a.Samples > 0 && work <= importers.MaxSteps) {
			errs = append(errs, fmt.Errorf("pollux: application %s: %v epochs of %v samples, want both > 0 and at most 1e18 samples", name, a.Epochs, a.Samples))
		}
	}
	return errors.Join(errs...)
}

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "pollux", About: "Pollux (OSDI 2021): workload CSV of name,time,application,num_replicas,batch_size",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like a workload of Pollux.
func Sniff(head []byte) bool { return importers.HasColumns(head, columns...) }

// Import reads a workload with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a workload. It fails at the first row it cannot make sense of
// with a [*datasets.RowError] that names the line.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	c.fillDefaults()
	if err := c.validate(); err != nil {
		return nil, importers.Report{}, err
	}
	p := parser{models: importers.NewModels(models), applications: c.Applications}
	table := importers.Table{
		Layout: importers.Layout{Names: columns},
		Ending: importers.Ending{Meta: datasets.Meta{
			Source:  "Pollux (Qiao et al., OSDI 2021), simulator workload",
			Licence: "Apache-2.0",
			Filters: []string{"steps are not in the source: taken to be " + c.describe()},
		}},
		Row: importers.ByColumn(p.row),
	}
	return table.Import(r, name)
}

// describe says what work is assumed.
func (c *Config) describe() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.Applications)) {
		a := c.Applications[name]
		parts = append(parts, fmt.Sprintf("%v epochs of %v samples for %s", a.Epochs, a.Samples, name))
	}
	return strings.Join(parts, ", ")
}

type parser struct {
	models       *importers.Models
	applications map[string]Application
}

func (p *parser) row(t *importers.Trace, v *importers.Values) {
	job := datasets.Row{Submit: v.Seconds(colTime), GPUs: v.GPUs(colReplicas), Model: v.Model(colApplication, t, p.models)}
	global := v.Batch(colBatch)
	if v.Err() != nil {
		return
	}
	a, known := p.applications[v.Text(colApplication)]
	switch {
	case job.GPUs == 0:
		t.Drop(importers.DropNoGPU)
	case !known:
		t.Drop(dropUnknown)
	default:
		work := importers.Work{Iterations: a.Epochs * a.Samples / float64(global), Global: int64(global)}
		even := true
		if job.Batch, job.Steps, even = work.Share(job.GPUs); !even {
			t.Warn(importers.WarnUneven)
		}
		t.KeepNumbered(job)
	}
}
