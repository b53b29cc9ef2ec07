package throughputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

const clusterHead = "source,cluster,gpu_type,nodes,gpus_per_node,gpus,mem_mib,cpu_milli,note\n"

var clusterList = importertest.File{Name: "clusters.csv", Text: []byte(clusterHead + `gavel,sim,v100-16,36,1,36,,,
gavel,physical,k80-12,24,1,24,,,"counts of GPUs, not nodes"
openb,openb,none,10,0,0,65536,32000,
spot,spot,A800-SXM4-80GB,22,8,176,,128000,
pai,pai,CPU,83,0,0,524288,96000,
`)}

func TestImportClusters(t *testing.T) {
	table, report, err := ImportClusters(importertest.Inputs(clusterList)...)
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.NodeRow{
		{Source: "gavel", Cluster: "sim", GPUType: "V100", Nodes: 36, GPUs: 36},
		{Source: "gavel", Cluster: "physical", GPUType: "K80", Nodes: 24, GPUs: 24},
		{Source: "openb", Cluster: "openb", Nodes: 10, CPUs: 32, MemGiB: 64},
		{Source: "spot", Cluster: "spot", GPUType: "A800", Nodes: 22, GPUs: 176, CPUs: 128},
		{Source: "pai", Cluster: "pai", Nodes: 83, CPUs: 96, MemGiB: 512},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{warnNote: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if err := importertest.CheckTable(ClustersFormat(), t.TempDir(), clusterList); err != nil {
		t.Error(err)
	}
}

func TestImportClustersRefusesBadInput(t *testing.T) {
	for text, want := range map[string]datasets.RowError{
		"gavel,sim,v100-16,36,2,36,,,\n": {Row: 2, Column: "gpus", Value: "36", Fix: "nodes × gpus_per_node"},
		"gavel,sim,v100-16,0,1,0,,,\n":   {Row: 2, Column: "nodes", Fix: "from 1"},
		",sim,v100-16,1,1,1,,,\n":        {Row: 2, Column: "source", Fix: "name"},
		"gavel,sim,v100-16,1,1,1,x,,\n":  {Row: 2, Column: "mem_mib", Fix: "number"},
	} {
		_, _, err := ImportClusters(importertest.Inputs(importertest.File{Name: "c.csv", Text: []byte(clusterHead + text)})...)
		if err := importertest.Refusal(err, want); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Every cluster of the real table that has GPUs of known types on known nodes.
func TestImportRealClusters(t *testing.T) {
	f := importertest.OpenShared(t, "tables", "clusters.csv")
	table, report, err := ImportClusters(importers.Input{Name: f.Name(), Reader: f})
	if err != nil || report.Kept != 53 {
		t.Fatalf("got %s (%v), want 53 rows", report.Report, err)
	}
	gpus := make(map[string]int)
	for _, name := range table.Clusters() {
		cluster, err := table.Cluster(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gpus[name] = cluster.GPUs()
	}
	want := map[string]int{
		"sim-36:36:36": 108, "physical-8:16:24": 48, "homog-64": 64, "a800-64": 64, "tacc-32": 32, "openb": 6212, "spot": 10412, "pai": 6742,
	}
	if diff := cmp.Diff(want, gpus); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
}

const pairHead = "source,gpu_type,gpus,consolidated,model_a,batch_a,model_b,batch_b,steps_per_s_a,steps_per_s_b,solo_a,solo_b,note\n"

var pairList = importertest.File{Name: "colocation.csv.gz", Text: []byte(pairHead + `gavel-sim,k80-12,1,1,ResNet-18,16,A3C,,2.5,3.1,4.8,7.2,gpu
gavel-sim,v100-16,2,0,LM,5,Recommendation,2048,0.0,0.0,12.5,7.4,gpu
gavel-sim,v100-16,2,1,LM,5,LM,80,3.0,0.0,12.5,0.0,gpu
gavel-sim,p100-16,1,0,LM,5,LM,5,1,1,2,2,gpu
`)}

// Traps: 0 steps/s is out of memory; Recommendation on V100 looks too slow; one
// GPU cannot be spread.
func TestImportColocation(t *testing.T) {
	table, report, err := ImportColocation(importertest.Inputs(pairList)...)
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.ColocationRow{
		{
			Source: "gavel-sim", GPUType: "K80", GPUs: 1, Nodes: 1, Quality: datasets.Measured,
			A: datasets.Tenancy{Model: "ResNet-18", Batch: 16, StepsPerSecond: 2.5, Isolated: 4.8}, B: datasets.Tenancy{Model: "A3C", Batch: 4, StepsPerSecond: 3.1, Isolated: 7.2},
		},
		{
			Source: "gavel-sim", GPUType: "V100", GPUs: 2, Nodes: 2, Quality: datasets.Measured,
			A: datasets.Tenancy{Model: "LM", Batch: 5, Isolated: 12.5}, B: datasets.Tenancy{Model: "Recommendation", Batch: 2048, Isolated: 7.4},
		},
		{
			Source: "gavel-sim", GPUType: "V100", GPUs: 2, Nodes: 1, Quality: datasets.Measured,
			A: datasets.Tenancy{Model: "LM", Batch: 5, StepsPerSecond: 3, Isolated: 12.5}, B: datasets.Tenancy{Model: "LM", Batch: 80},
		},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if importertest.Counts(report.Dropped)[dropSpread] != 1 || importertest.Counts(report.Warnings)[warnRecommendation] != 1 {
		t.Errorf("got %+v", report)
	}
	if err := importertest.CheckTable(ColocationFormat(), t.TempDir(), pairList); err != nil {
		t.Error(err)
	}
}

func TestImportColocationRefusesBadInput(t *testing.T) {
	good := "gavel-sim,k80-12,1,1,ResNet-18,16,A3C,,2.5,3.1,4.8,7.2,gpu\n"
	for edit, want := range map[[2]string]datasets.RowError{
		{"k80-12", ""}:     {Row: 2, Column: "gpu_type", Fix: "name"},
		{",1,1,", ",0,1,"}: {Row: 2, Column: "gpus", Fix: "from 1"},
		{",1,1,", ",1,2,"}: {Row: 2, Column: "consolidated", Fix: "0 to 1"},
		{"2.5", "fast"}:    {Row: 2, Column: "steps_per_s_a", Fix: "number"},
		{"3.1", "-3.1"}:    {Row: 2, Column: "steps_per_s_b", Fix: "number"},
		{"A3C", ""}:        {Row: 2, Column: "model_b", Fix: "name"},
	} {
		text := pairHead + strings.Replace(good, edit[0], edit[1], 1)
		_, _, err := ImportColocation(importertest.Inputs(importertest.File{Name: "p.csv", Text: []byte(text)})...)
		if err := importertest.Refusal(err, want); err != nil {
			t.Errorf("%v: %v", edit, err)
		}
	}
}

// The real pairs: 10,338, of which 1,952 are of one GPU said to be spread.
func TestImportRealColocation(t *testing.T) {
	f := importertest.OpenShared(t, "tables", "colocation.csv.gz")
	_, report, err := ImportColocation(importers.Input{Name: f.Name(), Reader: f})
	if err != nil || report.Read != 10_338 || report.Kept != 10_338-3*676 {
		t.Fatalf("got %s (%v)", report.Report, err)
	}
}

func FuzzImportClusters(f *testing.F) {
	f.Add(clusterList.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(ClustersFormat(), importertest.File{Name: "c.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImportColocation(f *testing.F) {
	f.Add(pairList.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(ColocationFormat(), importertest.File{Name: "p.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}
