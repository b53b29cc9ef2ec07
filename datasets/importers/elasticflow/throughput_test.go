package elasticflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/env"
)

// tables are written by hand after the schema: a row that ends in a comma, one
// that ends early, 0 and nan, a batch that does not divide, DOS line ends.
var tables = []importertest.File{
	{Name: "elasticflow/throughputs_A100/resnet50.csv", Text: []byte("global_batch_size,1,2,4,16\n" +
		"64,6.5,12.25,18,\n" +
		"24,10,0,nan,30\n" +
		"128,3.5\n")},
	{Name: "elasticflow/throughputs_A100/bert.csv", Text: []byte("global_batch_size,1,2\n64,6.03,0\n")},
	{Name: "elasticflow/throughputs_T4/bert.csv", Text: []byte("global_batch_size,1,2,64\r\n384,0.034,0.072,0.469\r\n")},
}

func importTables(t *testing.T, files ...importertest.File) (*datasets.ThroughputTable, importers.Report) {
	t.Helper()
	table, report, err := ImportThroughput(importertest.Inputs(files...)...)
	if err != nil {
		t.Fatal(err)
	}
	return table, report
}

func TestImportTables(t *testing.T) {
	table, report := importTables(t, tables...)
	row := func(model, gpu string, gpus, nodes, batch int32, global int64, rate float64) datasets.ThroughputRow {
		return datasets.ThroughputRow{
			Source: "elasticflow", Model: model, GPUType: gpu, GPUs: gpus, Nodes: nodes, Batch: batch, GlobalBatch: global,
			Plan: env.Plan{Data: int(gpus), Tensor: 1, Pipeline: 1}, StepsPerSecond: rate, Quality: datasets.Measured,
		}
	}
	want := []datasets.ThroughputRow{
		row("bert", "A100-40", 1, 1, 64, 64, 6.03),
		row("ResNet-50", "A100-40", 1, 1, 64, 64, 6.5),
		row("ResNet-50", "A100-40", 2, 1, 32, 64, 24.5),
		row("ResNet-50", "A100-40", 4, 1, 16, 64, 72),
		row("ResNet-50", "A100-40", 1, 1, 24, 24, 10),
		row("ResNet-50", "A100-40", 16, 2, 0, 24, 480),
		row("ResNet-50", "A100-40", 1, 1, 128, 128, 3.5),
		row("BERT-base", "T4", 1, 1, 384, 384, 0.034),
		row("BERT-base", "T4", 2, 1, 192, 384, 0.144),
		row("BERT-base", "T4", 64, 16, 6, 384, 0.469*64),
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantReport := importers.Report{
		Report:      datasets.Report{Read: 17, Kept: 10, Dropped: []datasets.Count{{Reason: importers.DropNotMeasured, Rows: 7}}},
		Compression: "none",
		Warnings:    []datasets.Count{{Reason: `model "bert" is not in the performance catalogue: kept by the source's name`, Rows: 1}},
	}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// The trap of the data: 0 is not a speed, and not out of memory either.
func TestZeroIsNotMeasured(t *testing.T) {
	table, report := importTables(t, tables[0])
	for _, r := range table.Rows {
		if r.OutOfMemory || r.GPUs == 2 && r.GlobalBatch == 24 {
			t.Errorf("a value of 0 became %+v", r)
		}
	}
	if n := importertest.Counts(report.Dropped)[importers.DropNotMeasured]; n != 6 {
		t.Errorf("%d values were not measured, want 6", n)
	}
}

// The trap of the data: some rows end in a comma.
func TestRowsMayEndInAComma(t *testing.T) {
	const head = "global_batch_size,1,2,4\n"
	path := tables[0].Name
	want, _ := importTables(t, importertest.File{Name: path, Text: []byte(head + "64,1,2\n")})
	for _, text := range []string{head + "64,1,2,\n", head + "64,1,2", "global_batch_size,1,2,4,\n64,1,2,\n"} {
		got, report := importTables(t, importertest.File{Name: path, Text: []byte(text)})
		if got.Hash() != want.Hash() || report.Read != 3 {
			t.Errorf("%q: got %+v of %d values", text, got.Rows, report.Read)
		}
	}
}

func TestThroughputChecks(t *testing.T) {
	if err := importertest.CheckTable(ThroughputFormat(), t.TempDir(), tables...); err != nil {
		t.Error(err)
	}
}

func TestImportTablesRefusesBadInput(t *testing.T) {
	tests := []struct {
		name, text string
		want       datasets.RowError
	}{
		{"bert.csv", "global_batch_size,1\n64,1\n", datasets.RowError{Value: "folder", Fix: "throughputs_A100"}},
		{"throughputs_H100/bert.csv", "global_batch_size,1\n64,1\n", datasets.RowError{Value: "folder", Fix: "throughputs_T4"}},
		{"throughputs_A100/bert.csv", "batch,1\n64,1\n", datasets.RowError{Row: 1, Value: "no header", Fix: "global_batch_size"}},
		{"throughputs_A100/bert.csv", "global_batch_size\n64\n", datasets.RowError{Row: 1, Value: "no header", Fix: "1,2,4"}},
		{"throughputs_A100/bert.csv", "global_batch_size,one\n64,1\n", datasets.RowError{Row: 1, Value: `"one"`, Fix: "number of GPUs"}},
		{"throughputs_A100/bert.csv", "global_batch_size,0\n64,1\n", datasets.RowError{Row: 1, Value: `"0"`, Fix: "from 1"}},
		{"throughputs_A100/bert.csv", "global_batch_size,1\n64,1,2\n", datasets.RowError{Row: 2, Value: "3 values", Fix: "at most 2"}},
		{"throughputs_A100/bert.csv", "global_batch_size,1\n0.5,1\n", datasets.RowError{Row: 2, Column: "global_batch_size", Value: "0.5", Fix: "whole number"}},
		{"throughputs_A100/bert.csv", "global_batch_size,1,2\n64,1,-2\n", datasets.RowError{Row: 2, Column: "2", Value: "-2", Fix: "iterations/s"}},
		{"throughputs_A100/bert.csv", "global_batch_size,1,2\n64,1,fast\n", datasets.RowError{Row: 2, Column: "2", Value: "fast", Fix: "nan"}},
		{"throughputs_A100/bert.csv", "global_batch_size,1\n64,1e300\n", datasets.RowError{Row: 2, Column: "steps_per_s", Fix: "1e12"}},
		{"throughputs_A100/bert.csv", "global_batch_size,1\n64,0\n", datasets.RowError{Value: "no row is left", Fix: "check"}},
		{"throughputs_A100/" + strings.Repeat("x", 300), "global_batch_size,1\n64,1\n", datasets.RowError{Row: 2, Column: "model", Fix: "256 bytes"}},
	}
	for _, test := range tests {
		_, _, err := ImportThroughput(importertest.Inputs(importertest.File{Name: test.name, Text: []byte(test.text)})...)
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%s with %q: %v", test.name, test.text, err)
		}
	}
}

// Whatever is imported can be written and read back.
func TestAnyTableRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		gpus := rapid.SliceOfNDistinct(rapid.IntRange(1, 1_000_000), 1, 8, rapid.ID).Draw(t, "gpus")
		var b strings.Builder
		b.WriteString("global_batch_size")
		for _, n := range gpus {
			fmt.Fprintf(&b, ",%d", n)
		}
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			fmt.Fprintf(&b, "\n%d,%v", rapid.IntRange(1, 1<<40).Draw(t, "global"), rapid.Float64Range(1e-9, 1e6).Draw(t, "first"))
			for range gpus[1:] {
				fmt.Fprintf(&b, ",%v", rapid.SampledFrom([]string{"0", "nan", "", "0.5", "1e5"}).Draw(t, "value"))
			}
		}
		table, _, err := ImportThroughput(importertest.Inputs(importertest.File{Name: "throughputs_T4/ncf.csv", Text: []byte(b.String())})...)
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.RoundTripTable(table, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImportThroughput(f *testing.F) {
	for _, file := range tables {
		f.Add(file.Text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(ThroughputFormat(), importertest.File{Name: tables[0].Name, Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

// The real tables, with counts taken from them by a script.
func TestImportRealTables(t *testing.T) {
	var inputs []importers.Input
	for folder, names := range map[string][]string{
		"throughputs_A100": {"bert", "deepspeech2", "gpt2", "inception3", "resnet50", "resnet50_cifar10", "vgg16"},
		"throughputs_T4":   {"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"},
	} {
		for _, name := range names {
			f := importertest.OpenShared(t, "elasticflow", folder, name+".csv")
			inputs = append(inputs, importers.Input{Name: f.Name(), Reader: f})
		}
	}
	table, report, err := ImportThroughput(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	want := datasets.Report{Read: 182, Kept: 169, Dropped: []datasets.Count{{Reason: importers.DropNotMeasured, Rows: 13}}}
	if diff := cmp.Diff(want, report.Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	// 256 images on 64 A100s: 18.845304488737906 iterations/s.
	got, err := table.Speeds().Lookup(datasets.SpeedQuery{Model: "ResNet-50", GPUType: "A100-40", Batch: 4, GPUs: 64})
	if err != nil || got.StepsPerSecond != 18.845304488737906*64 {
		t.Errorf("got %v steps/s, %v", got, err)
	}
	if err := importertest.RoundTripTable(table, t.TempDir()); err != nil {
		t.Error(err)
	}
}
