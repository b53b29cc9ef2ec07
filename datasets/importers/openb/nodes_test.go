package openb

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

var nodeList = importertest.File{Name: "openb/openb_node_list_all_node.csv", Text: []byte(`sn,cpu_milli,memory_mib,gpu,model
openb-node-0000,64000,262144,2,P100
openb-node-0001,96000,393216,8,G2
openb-node-0002,32000,786432,0,nan
`)}

func TestImportNodes(t *testing.T) {
	table, report, err := ImportNodes(importertest.Inputs(nodeList)...)
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.NodeRow{
		{Source: "openb", Cluster: "openb", Node: "openb-node-0000", GPUType: "P100", Nodes: 1, GPUs: 2, CPUs: 64, MemGiB: 256},
		{Source: "openb", Cluster: "openb", Node: "openb-node-0001", GPUType: "G2", Nodes: 1, GPUs: 8, CPUs: 96, MemGiB: 384},
		{Source: "openb", Cluster: "openb", Node: "openb-node-0002", Nodes: 1, CPUs: 32, MemGiB: 768},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{`GPU type "G2" is not in the performance catalogue`: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if err := importertest.CheckTable(NodesFormat(), t.TempDir(), nodeList); err != nil {
		t.Error(err)
	}
}

func TestImportNodesRefusesBadInput(t *testing.T) {
	const head = "sn,cpu_milli,memory_mib,gpu,model\n"
	for text, want := range map[string]datasets.RowError{
		head + "a,64000,262144,some,P100\n":  {Row: 2, Column: "gpu", Fix: "whole number"},
		head + ",64000,262144,2,P100\n":      {Row: 2, Column: "sn", Fix: "name"},
		head + "a,many,262144,2,P100\n":      {Row: 2, Column: "cpu_milli", Fix: "whole number"},
		head + "a,64000,262144.5,2,P100\n":   {Row: 2, Column: "memory_mib", Fix: "whole number"},
		head:                                 {Value: "no row is left", Fix: "check"},
		"sn,cpu_milli,memory_mib,gpu\na,1\n": {Row: 1, Column: "model", Value: "missing", Fix: "want the columns"},
	} {
		_, _, err := ImportNodes(importertest.Inputs(importertest.File{Name: "n.csv", Text: []byte(text)})...)
		if err := importertest.Refusal(err, want); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The real nodes with GPUs; figures counted by a script.
func TestImportRealNodes(t *testing.T) {
	f := importertest.OpenShared(t, "openb", "openb_node_list_gpu_node.csv")
	table, _, err := ImportNodes(importers.Input{Name: f.Name(), Reader: f})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, n := range table.Rows {
		got[n.GPUType]++
	}
	want := map[string]int{"G2": 549, "T4": 404, "P100": 134, "V100": 55, "V100-32": 30, "G3": 39, "A10": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	cluster, err := table.Cluster("")
	if err != nil || cluster.GPUs() != 6212 || len(cluster.Nodes) != 1213 {
		t.Errorf("got %d GPUs on %d nodes (%v), want 6212 on 1213", cluster.GPUs(), len(cluster.Nodes), err)
	}
}

func FuzzImportNodes(f *testing.F) {
	f.Add(nodeList.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(NodesFormat(), importertest.File{Name: "n.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}
