package openb

import (
	"errors"
	"io"
	"testing"

	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// Trap: pods without a GPU, 1,088 of the real list.
func TestPodsWithoutAGPUAreDropped(t *testing.T) {
	_, report := importText(t, fixture, Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropNoGPU]; got != 1 {
		t.Errorf("got %s", report.Report)
	}
	f := importertest.OpenShared(t, "openb", "openb_pod_list_gpuspec33.csv.gz")
	_, report, err := Import(f, f.Name())
	if err != nil || importertest.Counts(report.Dropped)[importers.DropNoGPU] != 1088 {
		t.Errorf("the real list: got %s (%v), want 1,088 without a GPU", report.Report, err)
	}
}

// Trap: a part of a GPU is asked for with num_gpu 1 only. Of several GPUs each
// would be shared, which a row cannot say either.
func TestPartsAreOfOneGPU(t *testing.T) {
	text := head + "a,1,1,2,500,,LS,Failed,0,200,100\nb,1,1,2,1000,,LS,Failed,0,300,100\n"
	_, report := importText(t, text, Config{From: -1})
	if report.Kept != 1 || importertest.Counts(report.Dropped)[importers.DropShared] != 1 {
		t.Errorf("got %s, want the pod with parts of two GPUs dropped", report.Report)
	}
	for _, name := range []string{"openb_pod_list_default.csv.gz", "openb_pod_list_gpuspec33.csv.gz"} {
		f := importertest.OpenShared(t, "openb", name)
		source, err := importers.Open(f, f.Name())
		if err != nil {
			t.Fatal(err)
		}
		columns, err := importers.NewColumns(source, layout)
		if err != nil {
			t.Fatal(err)
		}
		parts := 0
		for {
			values, err := columns.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if values[colMilli] != "1000" && values[colGPUs] != "0" {
				parts++
				if values[colGPUs] != "1" {
					t.Errorf("%s: a pod asks for %s thousandths of %s GPUs", name, values[colMilli], values[colGPUs])
				}
			}
		}
		source.Close()
		if parts == 0 {
			t.Errorf("%s: no pod asks for a part of a GPU", name)
		}
	}
}
