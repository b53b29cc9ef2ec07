package datasets

import (
	"slices"
	"strconv"
	"strings"

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
	// Modelled takes modelled rows, too. They say so, and nothing is fitted to them.
	Modelled bool
}

// Reasons for which a row is no measurement.
const (
	dropOtherSource = "another source"
	dropModelled    = "modelled, not measured"
	dropUnknown     = "model is not in the catalogue"
	dropUnknownGPU  = "GPU type is not in the catalogue"
	dropNoBatch     = "batch is not known"
)

// catalogued names models of the catalogue that a source calls something of its
// own, by source and its name there. Importers keep such names where the same
// word stands for other networks elsewhere.
var catalogued = map[[2]string]string{
	{"rubick", "t5"}: "T5-1.2B", {"rubick", "t5_3B"}: "T5-3B", {"rubick", "llama30"}: "LLaMA-30B",
	{"morphling", "t5"}: "T5-1.2B", {"morphling", "t5_3B"}: "T5-3B", {"morphling", "llama30"}: "LLaMA-30B",
	{"titan", "vit-large"}:   "ViT-large",
	{"elasticflow", "vgg16"}: "VGG16", {"elasticflow", "inception3"}: "Inception-v3", {"elasticflow", "gpt2"}: "GPT-2-small",
	{"elasticflow", "bert"}: "BERT-base-128", {"elasticflow", "resnet50_cifar10"}: "ResNet-50-CIFAR", {"elasticflow", "deepspeech2"}: "DeepSpeech2",
	{"elasticflow", "ncf"}: "NCF", {"elasticflow", "yolov3"}: "YOLOv3",
	{"sailor", "OPT-350"}: "OPT-350M", {"sailor", "OPT-30"}: "OPT-30B", {"sailor", "GPT-Neo-2.7"}: "GPT-Neo-2.7B", {"sailor", "LLAMA-3-8"}: "LLaMA-3-8B",
	{"sailor-layers", "OPT-350"}: "OPT-350M", {"sailor-layers", "OPT-30"}: "OPT-30B",
	{"sailor-layers", "GPT-Neo-2.7"}: "GPT-Neo-2.7B", {"sailor-layers", "LLAMA-3-8"}: "LLaMA-3-8B",
}

// cataloguedGPUs names GPU types of the catalogue as importers keep them where
// they have no other name.
var cataloguedGPUs = map[string]string{
	"gh200-96": "GH200", "GH-96": "GH200", "titan-rtx-24": "TitanRTX", "Titan-RTX": "TitanRTX",
	"rtx2080": "RTX2080", "RTX-2080": "RTX2080", "quadro-rtx5000-16": "QuadroRTX5000",
}

// Measurements returns the rows that correct the predictions of env/perf, in
// the table's order, as perf.Config takes them, and what became of the others.
// Plans whose micro-batch is not known come without one, but for Rubick's
// pipelines: those ran the whole batch as one micro-batch. GPT-2 takes 3.09, 3.10
// and 3.12 s through 4, 6 and 8 stages of one GPU each, T5 2.71, 2.83 and 2.95 s;
// several micro-batches would make more stages faster. The profile of LLaMA-7B
// with 16 samples is the exception: there more stages are.
func (t *ThroughputTable) Measurements(cfg MeasurementConfig) ([]perf.Measurement, Report) {
	if cfg.Catalogue == nil {
		cfg.Catalogue = perf.Default()
	}
	var out []perf.Measurement
	var dropped Tally
	for i := range t.Rows {
		r := &t.Rows[i]
		model, gpu := cfg.model(r), cfg.gpu(r)
		if reason := cfg.drop(r, model, gpu); reason != "" {
			dropped.Add(reason)
			continue
		}
		m := perf.Measurement{
			Model: model, Batch: int(r.Batch), GPUType: gpu, GPUs: int(r.GPUs), Nodes: int(r.Nodes),
			Plan: plannedAs(r), StepsPerSecond: r.StepsPerSecond, Source: r.Source, Modelled: r.Quality == Modelled,
		}
		m.Fewest = fewest(r)
		if r.Batch == 0 {
			m.GlobalBatch = int(r.GlobalBatch)
		}
		out = append(out, m)
	}
	return out, Report{Read: len(t.Rows), Kept: len(out), Dropped: dropped.Counts()}
}

// model returns the catalogue's name of a row's model where it has one.
func (cfg *MeasurementConfig) model(r *ThroughputRow) string {
	if _, ok := cfg.Catalogue.Model(r.Model); ok {
		return r.Model
	}
	if name, ok := catalogued[[2]string{r.Source, r.Model}]; ok {
		return name
	}
	return r.Model
}

// gpu returns the catalogue's name of a row's GPU type where it has one.
func (cfg *MeasurementConfig) gpu(r *ThroughputRow) string {
	if _, ok := cfg.Catalogue.GPU(r.GPUType); ok {
		return r.GPUType
	}
	if name, ok := cataloguedGPUs[r.GPUType]; ok {
		return name
	}
	return r.GPUType
}

// drop returns why a row is no measurement, "" where it is one.
func (cfg *MeasurementConfig) drop(r *ThroughputRow, modelName, gpuName string) string {
	_, model := cfg.Catalogue.Model(modelName)
	_, gpu := cfg.Catalogue.GPU(gpuName)
	switch {
	case len(cfg.Sources) > 0 && !slices.Contains(cfg.Sources, r.Source):
		return dropOtherSource
	case r.Quality != Measured && !cfg.Modelled:
		return dropModelled
	case !model:
		return dropUnknown
	case !gpu:
		return dropUnknownGPU
	case r.Batch == 0 && r.GlobalBatch == 0:
		return dropNoBatch
	}
	return ""
}

// plannedAs returns the plan of a row as env/perf takes it.
func plannedAs(r *ThroughputRow) env.Plan {
	p := r.Plan
	p.Offload = r.Offload
	switch {
	case p.Data == 0:
		return env.Plan{}
	case p.MicroBatch == 0 && p.Pipeline > 1 && (r.Source == "rubick" || r.Source == "morphling") && !(r.Model == "LLaMA-7B" && r.GlobalBatch == 16):
		p.MicroBatch = max(1, int((r.GlobalBatch-1)/int64(p.Data)+1))
	}
	return p
}

// fewest returns the GPUs of the node that gives the fewest, 0 where that is not
// known or follows from an even spread.
func fewest(r *ThroughputRow) int {
	if r.Placement == "" || r.GPUs%r.Nodes == 0 && !strings.Contains(r.Placement, "+") {
		return 0
	}
	least := int(r.GPUs)
	for part := range strings.SplitSeq(r.Placement, "+") {
		if n, err := strconv.Atoi(part); err == nil { // as ParsePlacement checked
			least = min(least, n)
		}
	}
	if least == int(r.GPUs/r.Nodes) {
		return 0
	}
	return least
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
