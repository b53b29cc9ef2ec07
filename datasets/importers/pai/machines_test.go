package pai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// Trap: the table has no header row.
var machineList = importertest.File{Name: "pai_machine_spec.csv", Text: []byte("75c536d5ba60,CPU,96,512,0\nfc6921f2af20,V100M32,96,384,8\n0a1b2c,MISC,96,512,8\n")}

func TestImportMachines(t *testing.T) {
	table, report, err := ImportMachines(importertest.Inputs(machineList)...)
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.NodeRow{
		{Source: "pai", Cluster: "pai", Node: "75c536d5ba60", Nodes: 1, CPUs: 96, MemGiB: 512},
		{Source: "pai", Cluster: "pai", Node: "fc6921f2af20", GPUType: "V100-32", Nodes: 1, GPUs: 8, CPUs: 96, MemGiB: 384},
		{Source: "pai", Cluster: "pai", Node: "0a1b2c", GPUType: "MISC", Nodes: 1, GPUs: 8, CPUs: 96, MemGiB: 512},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" || len(report.Warnings) != 1 {
		t.Errorf("warnings %v, machines (-want +got):\n%s", report.Warnings, diff)
	}
	if err := importertest.CheckTable(MachinesFormat(), t.TempDir(), machineList); err != nil {
		t.Error(err)
	}
	headed := importertest.File{Name: "m.csv", Text: append([]byte("machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n"), machineList.Text...)}
	if again, _, err := ImportMachines(importertest.Inputs(headed)...); err != nil || again.Hash() != table.Hash() {
		t.Errorf("a header that was added: %v", err)
	}
}

func TestImportMachinesRefusesBadInput(t *testing.T) {
	for text, want := range map[string]datasets.RowError{
		"m1,V100M32,96,512,eight\n":                  {Row: 1, Column: "cap_gpu", Fix: "whole number"},
		"m1,V100M32,96,,8\n":                         {Row: 1, Column: "cap_mem", Fix: "number"},
		"machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n": {Value: "no row is left of 0 values", Fix: "check"},
		"m1,V100M32,96,512\n":                        {Row: 1, Value: "4 values", Fix: "want 5"},
	} {
		_, _, err := ImportMachines(importertest.Inputs(importertest.File{Name: "m.csv", Text: []byte(text)})...)
		if err := importertest.Refusal(err, want); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The real machines; figures counted by a script.
func TestImportRealMachines(t *testing.T) {
	f := importertest.OpenShared(t, "pai", "pai_machine_spec.csv")
	table, _, err := ImportMachines(importers.Input{Name: f.Name(), Reader: f})
	if err != nil {
		t.Fatal(err)
	}
	got, gpus := map[string]int{}, 0
	for _, m := range table.Rows {
		got[m.GPUType]++
		gpus += int(m.GPUs)
	}
	want := map[string]int{"P100": 798, "T4": 497, "MISC": 280, "V100": 104, "V100-32": 135, "": 83}
	if diff := cmp.Diff(want, got); diff != "" || gpus != 6742 {
		t.Errorf("%d GPUs, machines (-want +got):\n%s", gpus, diff)
	}
}

func FuzzImportMachines(f *testing.F) {
	f.Add(machineList.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(MachinesFormat(), importertest.File{Name: "m.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}
