package throughputs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/elasticflow"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/datasets/importers/rubick"
	"github.com/yardmaster/yardmaster/datasets/importers/sailor"
	"github.com/yardmaster/yardmaster/datasets/importers/titan"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

var head = strings.Join(columns, ",") + "\n"

// fixture is written by hand after the schema: rows of every source, with what
// each of them has and lacks.
var fixture = head +
	"gavel-phys,LM,,v100-16,4,,,20,80,dp,,,,240,4800,,1,0,steps summed\n" +
	"gavel-phys,LM,,v100-16,4,,,20,80,dp,,,,120,2400,,0,0,\n" +
	"gavel-phys,ResNet-50,,k80-12,2,,,128,256,dp,,,,0.0,0.0,,1,1,\n" +
	"gavel-phys,A3C,,p100-16,1,,,,,dp,,,,5.5,,,1,0,\n" +
	"gavel-phys,A3C,,p100-16,1,,,,,dp,,,,5.25,,,0,0,\n" + // one GPU, spread
	"gavel-sim,Recommendation,,v100-16,1,,,2048,2048,dp,,,,7.47,15298.56,,1,0,\n" +
	"shockwave-tacc,LM,,quadro-rtx5000-16,1,,,10,10,dp,,,,95,950,,1,0,\n" +
	"shockwave-tacc,LM,,quadro-rtx5000-16,2,,,10,20,dp,,,,95,950,,0,0,\n" + // a copy
	"shockwave-wisr,Transformer,,v100-16,2,,,256,512,dp,,,,0.0,0.0,,1,1,\n" + // not measured
	"elasticflow,resnet50,,a100-40-sxm,16,,,4.0,64.0,dp,,,,21.5,1376,,,0,\n" +
	"elasticflow,bert,,a100-40-sxm,2,,,32.0,64.0,dp,,,,0.0,0.0,,,1,\n" + // not measured
	"elasticflow,imagenet,,t4-16,4,,,800.0,3200.0,dp,,,,0.25,800,,,0,\n" +
	"morphling,llama7b_bsz16,,a800-80-sxm,16,4,4+4+4+4,,,3d:242,,2,,0.5,,,,0,exec_plan=242\n" +
	"morphling,llama7b_bsz16,,a800-80-sxm,16,4,4+4+4+4,,,3d:182,,0.0,,0,,,,1,\n" +
	"morphling,roberta,,a800-80-sxm,4,2,1+3,,,dp+gc,,0.5,,2,,,,0,\n" +
	"morphling,t5_3B,,a800-80-sxm,4,1,4,,,zero-offload,,2.5,,0.4,,,,0,\n" +
	"titan,vit,,a100,1,1,1,8,8,dp,,0.04,1e-08,25,200,1.25,,,\n" +
	"titan,vit,food101,v100,3,2,1+2,8,24,dp,,0.05,0.01,20,480,,,,\n" +
	"sailor-layers,OPT-350,,a100-80-sxm,4,1,,2,2,tp4,,0.5,,2,4,,,,sum over 26 layers\n" +
	"sailor-layers,OPT-350,,gh200-96,2,1,,8,8,tp2,bf16,0.25,,4,32,,,,\n"

var file = importertest.File{Name: "throughput.csv", Text: []byte(fixture)}

func importText(t *testing.T, text string) (*datasets.ThroughputTable, importers.Report) {
	t.Helper()
	table, report, err := Import(importertest.Inputs(importertest.File{Name: "t.csv", Text: []byte(text)})...)
	if err != nil {
		t.Fatal(err)
	}
	return table, report
}

func TestImportFixture(t *testing.T) {
	table, report := importText(t, fixture)
	data := func(gpus, micro int) env.Plan {
		return env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: micro}
	}
	const measured, modelled = datasets.Measured, datasets.Modelled
	want := []datasets.ThroughputRow{
		{Source: "gavel-phys", Model: "LM", GPUType: "V100", GPUs: 4, Nodes: 1, Batch: 20, GlobalBatch: 80, Plan: data(4, 20), StepsPerSecond: 240, Quality: measured},
		{Source: "gavel-phys", Model: "LM", GPUType: "V100", GPUs: 4, Nodes: 4, Batch: 20, GlobalBatch: 80, Plan: data(4, 20), StepsPerSecond: 120, Quality: measured},
		{Source: "gavel-phys", Model: "ResNet-50", GPUType: "K80", GPUs: 2, Nodes: 1, Batch: 128, GlobalBatch: 256, Plan: data(2, 128), OutOfMemory: true, Quality: measured},
		{Source: "gavel-phys", Model: "A3C", GPUType: "P100", GPUs: 1, Nodes: 1, Batch: 4, GlobalBatch: 4, Plan: data(1, 4), StepsPerSecond: 5.5, Quality: measured},
		{Source: "gavel-sim", Model: "Recommendation", GPUType: "V100", GPUs: 1, Nodes: 1, Batch: 2048, GlobalBatch: 2048, Plan: data(1, 2048), StepsPerSecond: 7.47, Quality: measured},
		{Source: "shockwave-tacc", Model: "LM", GPUType: "QuadroRTX5000", GPUs: 1, Nodes: 1, Batch: 10, GlobalBatch: 10, Plan: data(1, 10), StepsPerSecond: 95, Quality: measured},
		{Source: "elasticflow", Model: "ResNet-50", GPUType: "A100-40", GPUs: 16, Nodes: 2, Batch: 4, GlobalBatch: 64, Plan: data(16, 0), StepsPerSecond: 344, Quality: measured},
		{Source: "elasticflow", Model: "ResNet-50", GPUType: "T4", GPUs: 4, Nodes: 1, Batch: 800, GlobalBatch: 3200, Plan: data(4, 0), StepsPerSecond: 1, Quality: measured},
		{Source: "morphling", Model: "LLaMA-7B", GPUType: "A800", GPUs: 16, Nodes: 4, Placement: "4+4+4+4", Batch: 1, GlobalBatch: 16, Plan: env.Plan{Pipeline: 2, Tensor: 4, Data: 2}, StepsPerSecond: 8, Quality: measured},
		{Source: "morphling", Model: "LLaMA-7B", GPUType: "A800", GPUs: 16, Nodes: 4, Placement: "4+4+4+4", Batch: 1, GlobalBatch: 16, Plan: env.Plan{Pipeline: 1, Tensor: 8, Data: 2}, OutOfMemory: true, Quality: measured},
		{Source: "morphling", Model: "BERT-large", GPUType: "A800", GPUs: 4, Nodes: 2, Placement: "1+3", Batch: 16, GlobalBatch: 64, Plan: env.Plan{Data: 4, Tensor: 1, Pipeline: 1, Checkpoint: true}, StepsPerSecond: 8, Quality: measured},
		{Source: "morphling", Model: "t5_3B", GPUType: "A800", GPUs: 4, Nodes: 1, Placement: "4", Batch: 1, GlobalBatch: 4, Plan: env.Plan{Data: 4, Tensor: 1, Pipeline: 1, ZeRO: 2}, Offload: true, StepsPerSecond: 1.6, Quality: measured},
		{Source: "titan", Model: "ViT-base", GPUType: "A100-80", GPUs: 1, Nodes: 1, Placement: "1", Batch: 8, GlobalBatch: 8, Plan: data(1, 8), StepsPerSecond: 25, MemGiB: 1.25, Quality: measured},
		{Source: "titan", Model: "ViT-base", Dataset: "food101", GPUType: "V100-32", GPUs: 3, Nodes: 2, Placement: "1+2", Batch: 8, GlobalBatch: 24, Plan: data(3, 8), StepsPerSecond: 60, Quality: modelled},
		{Source: "sailor-layers", Model: "OPT-350", GPUType: "A100-80", GPUs: 4, Nodes: 1, GlobalBatch: 2, Plan: env.Plan{Data: 1, Tensor: 4, Pipeline: 1, MicroBatch: 2}, StepsPerSecond: 8, Quality: modelled},
		{Source: "sailor-layers", Model: "OPT-350", GPUType: "GH200", GPUs: 2, Nodes: 1, Batch: 4, GlobalBatch: 8, Plan: env.Plan{Data: 1, Tensor: 2, Pipeline: 1, MicroBatch: 8}, StepsPerSecond: 8, Quality: modelled},
	}
	if diff := cmp.Diff(want, table.Rows, near); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{importers.DropNotMeasured: 2, dropCopy: 1, dropSpread: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 20 || report.Kept != 16 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		warnRecommendation: 1, warnPrecision: 1,
		`model "bert" is not in the performance catalogue: kept by the source's name`:    1,
		`model "OPT-350" is not in the performance catalogue: kept by the source's name`: 2,
		`model "t5_3B" is not in the performance catalogue: kept by the source's name`:   1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(a) })

// The unit is told by what a row has, not by its source.
func TestSpeedsHaveOneUnit(t *testing.T) {
	for _, test := range []struct {
		row  string
		want float64
		warn int
	}{
		{"x,LM,,v100-16,4,,,20,80,dp,,,,240,4800,,,0,", 240, 0}, // summed over workers
		{"x,LM,,v100-16,4,,,20,80,dp,,,,60,4800,,,0,", 240, 0},  // iterations
		{"x,LM,,v100-16,4,,,20,80,dp,,0.5,,2,160,,,0,", 8, 0},   // and a step time
		{"x,LM,,v100-16,4,,,20,80,dp,,0.5,,,,,,0,", 8, 0},       // only that
		{"x,LM,,v100-16,4,,,20,80,dp,,,,240,,,,0,", 240, 0},     // only steps: taken as they are
		{"x,LM,,v100-16,4,,,20,80,dp,,0.5,,2,1600,,,0,", 80, 1}, // two that disagree
		{"x,LM,,v100-16,4,,,,,,,0.5,,2,,,,,", 8, 0},             // no batch, no plan
	} {
		table, report := importText(t, head+test.row+"\n")
		if got := table.Rows[0].StepsPerSecond; got != test.want || importertest.Counts(report.Warnings)[warnRates] != test.warn {
			t.Errorf("%s: got %v steps/s, warnings %v, want %v", test.row, got, report.Warnings, test.want)
		}
	}
}

// The trap of the data: in Gavel's files 0 is out of memory, in ElasticFlow's
// and Shockwave's it is not measured.
func TestZeros(t *testing.T) {
	const rest = ",LM,,v100-16,2,,,20,40,dp,,,,0.0,0.0,,1,1,\n"
	for source, oom := range map[string]bool{"gavel-phys": true, "gavel-sim": true, "mine": true, "elasticflow": false, "shockwave-actual": false} {
		table, report := importText(t, head+"gavel-phys,LM,,v100-16,1,,,20,20,dp,,,,60,1200,,1,0,\n"+source+rest)
		if oom && (len(table.Rows) != 2 || !table.Rows[1].OutOfMemory) || !oom && (len(table.Rows) != 1 || importertest.Counts(report.Dropped)[importers.DropNotMeasured] != 1) {
			t.Errorf("%s: got %+v, %v", source, table.Rows, report)
		}
	}
	// Nothing says why there is none.
	_, report := importText(t, head+"gavel-phys,LM,,v100-16,1,,,20,20,dp,,,,60,1200,,1,0,\nmine,LM,,v100-16,2,,,20,40,dp,,,,,,,1,,\n")
	if importertest.Counts(report.Dropped)[importers.DropNotMeasured] != 1 {
		t.Errorf("a row without a speed: got %v", report)
	}
}

func TestImportChecks(t *testing.T) {
	if err := importertest.CheckTable(Format(), t.TempDir(), file); err != nil {
		t.Error(err)
	}
}

func TestImportRefusesBadValues(t *testing.T) {
	tests := []struct {
		row  string
		want datasets.RowError
	}{
		{",LM,,v100-16,4,,,20,80,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "source", Fix: "256 bytes"}},
		{"x,,,v100-16,4,,,20,80,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "model", Fix: "256 bytes"}},
		{"x,LM,," + strings.Repeat("g", 300) + ",4,,,20,80,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "gpu_type", Fix: "256 bytes"}},
		{"x,LM,,v100-16,0,,,20,80,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "gpus", Value: "0", Fix: "from 1"}},
		{"x,LM,,v100-16,4,8,,20,80,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "nodes", Value: "8", Fix: "1 to gpus"}},
		{"x,LM,,v100-16,4,2,3+3,20,80,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "placement", Fix: "4 in all"}},
		{"x,LM,,v100-16,16,4,4444,20,320,dp,,,,240,4800,,,0,", datasets.RowError{Column: "placement", Value: "4444", Fix: "16 in all"}},
		{"x,LM,,v100-16,4,,,20,90,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "batch_global", Value: "90", Fix: "batch_local × gpus"}},
		{"x,LM,,v100-16,4,,,1.5,6,dp,,,,240,4800,,1,0,", datasets.RowError{Column: "batch_local", Value: "1.5", Fix: "whole number"}},
		{"x,LM,,v100-16,4,,,20,80,ddp,,,,240,4800,,1,0,", datasets.RowError{Column: "strategy", Value: "ddp", Fix: "3d:PTD"}},
		{"x,LM,,v100-16,4,,,20,80,tp8,,,,240,4800,,1,0,", datasets.RowError{Column: "strategy", Value: "tp8", Fix: "tpN"}},
		{"x,LM,,v100-16,4,,,20,80,3d:222,,,,240,4800,,1,0,", datasets.RowError{Column: "strategy", Value: "3d:222", Fix: "GPUs"}},
		{"x,LM,,v100-16,4,,,20,80,dp,,-1,,240,,,1,0,", datasets.RowError{Column: "step_time_s", Value: "-1", Fix: "from 0"}},
		{"x,LM,,v100-16,4,,,20,80,dp,,,,NaN,,,1,0,", datasets.RowError{Column: "steps_per_s", Value: "NaN", Fix: "number"}},
		{"x,LM,,v100-16,4,,,20,80,dp,,,,240,fast,,1,0,", datasets.RowError{Column: "samples_per_s", Value: "fast", Fix: "number"}},
		{"x,LM,,v100-16,4,,,20,80,dp,,,,240,4800,0,1,0,", datasets.RowError{Column: "mem_gib", Value: "0", Fix: "1e-06"}},
		{"x,LM,,v100-16,4,,,20,80,dp,,,,240,4800,,2,0,", datasets.RowError{Column: "consolidated", Value: "2", Fix: "to 1"}},
		{"x,LM,,v100-16,4,,,20,80,dp,,,,240,4800,,1,1,", datasets.RowError{Column: "oom", Value: "1", Fix: "no speed"}},
		{"x,LM,,v100-16,4", datasets.RowError{Value: "5 values", Fix: "want 19"}},
	}
	for _, test := range tests {
		test.want.Row = 3
		text := head + "gavel-phys,LM,,v100-16,1,,,20,20,dp,,,,60,1200,,1,0,\n" + test.row + "\n"
		_, _, err := Import(importertest.Inputs(importertest.File{Name: "t.csv", Text: []byte(text)})...)
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%.80s: %v", test.row, err)
		}
	}
}

// Whatever is imported can be written and read back.
func TestAnyTableRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(head)
		for range rapid.IntRange(1, 10).Draw(t, "rows") {
			gpus, batch := rapid.IntRange(1, 1000).Draw(t, "gpus"), rapid.IntRange(1, 1<<20).Draw(t, "batch")
			fmt.Fprintf(&b, "%s,%s,,%s,%d,,,%d,%d,%s,,,,%v,,%s,,0,\n", rapid.SampledFrom([]string{"gavel-sim", "mine", "elasticflow"}).Draw(t, "source"),
				rapid.SampledFrom([]string{"LM", "A3C", "größe"}).Draw(t, "model"), rapid.SampledFrom([]string{"v100-16", "a100", "xpu"}).Draw(t, "gpu"),
				gpus, batch, batch*gpus, rapid.SampledFrom([]string{"", "dp", "dp+gc", "zero-offload", fmt.Sprintf("tp%d", gpus)}).Draw(t, "strategy"),
				rapid.Float64Range(1e-9, 1e9).Draw(t, "rate"), rapid.SampledFrom([]string{"", "3.5"}).Draw(t, "mem"))
		}
		table, _, err := Import(importertest.Inputs(importertest.File{Name: "t.csv", Text: []byte(b.String())})...)
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.RoundTripTable(table, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(head + "x,LM,,v100-16,1000000,,,16777216,16777216000000,dp,,1e-9,,1,1e15,,1,0,"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(Format(), importertest.File{Name: "t.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

// realTable imports the published table.
func realTable(t *testing.T) (*datasets.ThroughputTable, importers.Report) {
	t.Helper()
	f := importertest.OpenShared(t, "tables", "throughput.csv.gz")
	table, report, err := Import(importers.Input{Name: f.Name(), Reader: f})
	if err != nil {
		t.Fatal(err)
	}
	return table, report
}

// The real table, with counts taken from it by a script.
func TestImportRealTable(t *testing.T) {
	table, report := realTable(t)
	want := datasets.Report{Read: 15_048, Kept: 14_619, Dropped: []datasets.Count{
		{Reason: dropCopy, Rows: 249}, {Reason: dropSpread, Rows: 156}, {Reason: importers.DropNotMeasured, Rows: 24},
	}}
	if diff := cmp.Diff(want, report.Report); diff != "" || report.Compression != "gzip" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if n := importertest.Counts(report.Warnings)[warnRecommendation]; n != 5 {
		t.Errorf("%d rows of gavel-sim's Recommendation on V100, want 5", n)
	}
	bySource := make(map[string]int)
	oom := 0
	for _, r := range table.Rows {
		bySource[r.Source]++
		if r.OutOfMemory {
			oom++
		}
	}
	sources := map[string]int{
		"gavel-sim": 414, "gavel-phys": 414, "shockwave-tacc": 77, "shockwave-wisr": 77, "shockwave-actual": 80,
		"elasticflow": 169, "morphling": 539, "titan": 12_636, "sailor-layers": 213,
	}
	if diff := cmp.Diff(sources, bySource); diff != "" || oom != 11 {
		t.Errorf("%d rows out of memory, want 11; sources (-want +got):\n%s", oom, diff)
	}
	if err := importertest.RoundTripTable(table, t.TempDir()); err != nil {
		t.Error(err)
	}
}

// What env/perf makes of the rows as they are measured is what its own tests
// make of the CSV: the same numbers of rows of Gavel, and errors like those.
func TestRealTableCorrectsPredictions(t *testing.T) {
	table, _ := realTable(t)
	measured, report := table.Measurements(datasets.MeasurementConfig{Sources: []string{"gavel-phys"}})
	if report.Kept != 414 {
		t.Errorf("%v, want 414 measurements", report)
	}
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	compared, err := p.Compare(measured)
	if err != nil {
		t.Fatal(err)
	}
	if c := compared[0]; len(compared) != 1 || c.Median > 0.13 || c.Misfits > 0 || c.Foreseen != c.OutOfMemory || c.Rows+c.OutOfMemory != 414 {
		t.Errorf("got %+v, want a median error of at most 13 %% over 414 rows", compared)
	}
	if _, err := perf.New(perf.Config{Measured: measured}); err != nil {
		t.Error(err)
	}
}

// The look-up agrees with the rows that it is made of, and between and beyond
// them it rises where they do.
func TestRealTableLookup(t *testing.T) {
	table, _ := realTable(t)
	speeds := table.Only("gavel-phys").Speeds()
	q := datasets.SpeedQuery{Model: "ResNet-50", GPUType: "V100", Batch: 32, Nodes: 1}
	before := 0.0
	for q.GPUs = 1; q.GPUs <= 10; q.GPUs++ {
		got, err := speeds.Lookup(q)
		if err != nil {
			t.Fatal(err)
		}
		if got.StepsPerSecond < before {
			t.Errorf("%d GPUs: %v steps/s, one less has %v", q.GPUs, got.StepsPerSecond, before)
		}
		before = got.StepsPerSecond
		if measured := slices.Contains([]int{1, 2, 4, 8}, q.GPUs); measured != (got.Low == q.GPUs && got.High == q.GPUs) {
			t.Errorf("%d GPUs: from %d and %d", q.GPUs, got.Low, got.High)
		}
	}
}

// The table was made of the sources' own files: reading those gives the same
// rows.
func TestRealTableAgreesWithItsSources(t *testing.T) {
	table, _ := realTable(t)
	check := func(source string, other *datasets.ThroughputTable, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
			return
		}
		var want, got []datasets.ThroughputRow
		for _, r := range table.Rows {
			if r.Source == source {
				r.Source = ""
				want = append(want, r)
			}
		}
		for _, r := range other.Rows {
			r.Source = ""
			got = append(got, r)
		}
		for _, rows := range [][]datasets.ThroughputRow{want, got} {
			slices.SortStableFunc(rows, func(a, b datasets.ThroughputRow) int { return strings.Compare(key(&a), key(&b)) })
		}
		if len(want) != len(got) {
			t.Errorf("%s: %d rows of the table, %d of its files", source, len(want), len(got))
			return
		}
		for i := range want {
			if !same(want[i], got[i]) {
				t.Errorf("%s: (-table +files):\n%s", source, cmp.Diff(want[i], got[i]))
				return
			}
		}
	}
	open := func(pattern string, args ...any) importers.Input {
		f := importertest.OpenShared(t, strings.Split(fmt.Sprintf(pattern, args...), "/")...)
		return importers.Input{Name: f.Name(), Reader: f}
	}
	var inputs []importers.Input
	for _, model := range []string{"bert", "deepspeech2", "gpt2", "inception3", "resnet50", "resnet50_cifar10", "vgg16"} {
		inputs = append(inputs, open("elasticflow/throughputs_A100/%s.csv", model))
	}
	for _, model := range []string{"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"} {
		inputs = append(inputs, open("elasticflow/throughputs_T4/%s.csv", model))
	}
	other, _, err := elasticflow.ImportThroughput(inputs...)
	check("elasticflow", other, err)

	inputs = nil
	for _, model := range []string{"bert", "gpt2", "llama30", "llama7", "llama7b_bsz16", "roberta", "t5", "t5_3B", "vit"} {
		inputs = append(inputs, open("rubick/profiles/%s/placements.csv", model))
	}
	other, _, err = rubick.ImportProfiles(inputs...)
	check("morphling", other, err)

	inputs = nil
	for _, gpu := range []string{"A100", "V100"} {
		for _, model := range []string{"roberta-base", "roberta-large", "vit", "vit-large"} {
			inputs = append(inputs, open("titan/fminfo/%s/%s_placements.csv", gpu, model), open("titan/fminfo/%s/%s_memory.csv", gpu, model))
		}
	}
	other, _, err = titan.Import(inputs...)
	check("titan", other, err)

	other, _, err = sailor.Import(open("sailor/profiles_tmp.json"))
	check("sailor-layers", other, err)
}

// same reports whether rows are equal but for the rounding of figures that were
// divided and multiplied on their way.
func same(a, b datasets.ThroughputRow) bool {
	near := math.Abs(a.StepsPerSecond-b.StepsPerSecond) <= 1e-9*a.StepsPerSecond && math.Abs(a.MemGiB-b.MemGiB) <= 1e-9*a.MemGiB
	a.StepsPerSecond, a.MemGiB = b.StepsPerSecond, b.MemGiB
	return near && a == b
}

// key orders rows by all but their speed, in full, and by that roughly.
func key(r *datasets.ThroughputRow) string {
	return fmt.Sprintf("%s %s %06d %s %d %d %+v %v %v %.6e", r.Model, r.GPUType, r.GPUs, r.Placement, r.GlobalBatch, r.Batch, r.Plan, r.Offload, r.OutOfMemory, r.StepsPerSecond)
}
