package titan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

var sharing = importertest.File{
	Name: "fminfo/V100/roberta-base_sharing.csv",
	Text: []byte("left_bsz,left_step_time,left_gpu_memory,right_bsz,right_step_time,right_gpu_memory\n24,0.5,12.75,28,0.625,15\n"),
}

func TestImportSharing(t *testing.T) {
	table, _, err := ImportSharing(importertest.Inputs(sharing)...)
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.ColocationRow{{
		Source: "titan", GPUType: "V100-32", GPUs: 1, Nodes: 1, Quality: datasets.Measured,
		A: datasets.Tenancy{Model: "BERT-base", Batch: 24, StepsPerSecond: 2, MemGiB: 12.75},
		B: datasets.Tenancy{Model: "BERT-base", Batch: 28, StepsPerSecond: 1.6, MemGiB: 15},
	}}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if err := importertest.CheckTable(ColocationFormat(), t.TempDir(), sharing); err != nil {
		t.Error(err)
	}
}

func TestImportSharingRefusesBadInput(t *testing.T) {
	const head = "left_bsz,left_step_time,left_gpu_memory,right_bsz,right_step_time,right_gpu_memory\n"
	for _, test := range []struct {
		name, text string
		want       datasets.RowError
	}{
		{"vit.csv", head + "24,0.5,12.75,28,0.625,15\n", datasets.RowError{Value: "does not say that it holds two jobs", Fix: "MODEL_sharing.csv"}},
		{"H100/vit_sharing.csv", head + "24,0.5,12.75,28,0.625,15\n", datasets.RowError{Value: "folder", Fix: "A100 or V100"}},
		{"V100/_sharing.csv", head + "24,0.5,12.75,28,0.625,15\n", datasets.RowError{Value: "which model", Fix: "MODEL"}},
		{"V100/vit_sharing.csv", head + "24,0,12.75,28,0.625,15\n", datasets.RowError{Row: 2, Column: "left_step_time", Fix: "number"}},
		{"V100/vit_sharing.csv", head + "24,1,12.75,0,0.625,15\n", datasets.RowError{Row: 2, Column: "right_bsz", Fix: "from 1"}},
	} {
		_, _, err := ImportSharing(importertest.Inputs(importertest.File{Name: test.name, Text: []byte(test.text)})...)
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestImportRealSharing(t *testing.T) {
	rows := 0
	for _, model := range []string{"vit", "roberta-base"} {
		f := importertest.OpenShared(t, "titan", "fminfo", "V100", model+"_sharing.csv")
		_, report, err := ImportSharing(importers.Input{Name: f.Name(), Reader: f})
		if err != nil {
			t.Fatal(err)
		}
		rows += report.Kept
	}
	if rows != 116 {
		t.Errorf("got %d pairs, want 116", rows)
	}
}

func FuzzImportSharing(f *testing.F) {
	f.Add(sharing.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(ColocationFormat(), importertest.File{Name: sharing.Name, Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}
