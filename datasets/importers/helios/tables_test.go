package helios

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

var sizes = importertest.File{Name: "helios/Earth_gpu_number.csv", Text: []byte(`date,vcA,vcB,total
2020-04-01,112,0,112
2020-04-02,112,0,112
2020-04-03,100,12,112
`)}

// Trap: the sizes of virtual clusters change by day.
func TestSizesOfVirtualClustersChangeByDay(t *testing.T) {
	table, report, err := ImportQuotas(importertest.Inputs(sizes)...)
	if err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	want := []datasets.QuotaRow{
		{Source: "helios", Cluster: "Earth", Tenant: "vcA", GPUs: 112},
		{Source: "helios", Cluster: "Earth", Tenant: "vcB"},
		{Source: "helios", Cluster: "Earth", Tenant: "vcA", From: 2 * day, GPUs: 100},
		{Source: "helios", Cluster: "Earth", Tenant: "vcB", From: 2 * day, GPUs: 12},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("quotas (-want +got):\n%s", diff)
	}
	if report.Read != 6 || report.Kept != 4 || importertest.Counts(report.Dropped)[dropSame] != 2 {
		t.Errorf("got %s, want 6 values, 2 of them as before", report.Report)
	}
	if got := table.Meta.Epoch.Format(time.RFC3339); got != "2020-04-01T00:00:00+08:00" {
		t.Errorf("got the epoch %s, want midnight in China", got)
	}
	if err := importertest.CheckTable(QuotasFormat(), t.TempDir(), sizes); err != nil {
		t.Error(err)
	}
}

func TestSizesOfSeveralClusters(t *testing.T) {
	venus := importertest.File{Name: "Venus_gpu_number.csv", Text: []byte("date,vcA,vcC,total\n2020-03-31,5,6,11\n")}
	table, report, err := ImportQuotas(importertest.Inputs(sizes, venus)...)
	if err != nil {
		t.Fatal(err)
	}
	if report.Kept != 6 || table.Rows[0].Cluster != "Venus" || table.Rows[0].From != 0 || table.Rows[2].From != 24*time.Hour {
		t.Errorf("got %+v", table.Rows)
	}
	_, _, err = ImportQuotas(importertest.Inputs(sizes, sizes)...)
	if err := importertest.Refusal(err, datasets.RowError{Value: "Earth", Fix: "each once"}); err != nil {
		t.Error(err)
	}
}

func TestImportQuotasRefusesBadInput(t *testing.T) {
	for text, want := range map[string]datasets.RowError{
		"date,vcA,total\n2020-04-01,x,1\n":       {Row: 2, Column: "vcA", Fix: "whole number"},
		"date,vcA,total\n1960-04-01,1,1\n":       {Column: "date", Value: "1960", Fix: "1970"},
		"date,vcA,vcA,total\n2020-04-01,1,1,2\n": {Column: "vcA", Value: "there twice", Fix: "drop"},
		"date,,total\n2020-04-01,1,1\n":          {Column: "tenant", Fix: "name it"},
		"date,vcA,total\n":                       {Value: "no day", Fix: "virtual clusters"},
	} {
		_, _, err := ImportQuotas(importertest.Inputs(importertest.File{Name: "q.csv", Text: []byte(text)})...)
		if err := importertest.Refusal(err, want); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The real sizes of Earth; counted by a script: 25 virtual clusters on 181 days.
func TestImportRealQuotas(t *testing.T) {
	f := importertest.OpenShared(t, "helios", "Earth_gpu_number.csv")
	table, report, err := ImportQuotas(importers.Input{Name: f.Name(), Reader: f})
	if err != nil {
		t.Fatal(err)
	}
	if report.Read != 25*181 {
		t.Errorf("got %s, want 25 × 181 values", report.Report)
	}
	total := int32(0)
	for _, q := range table.At(0) {
		total += q.GPUs
	}
	if total != 784 {
		t.Errorf("the virtual clusters have %d GPUs on the first day, want 784", total)
	}
}

var summary = importertest.File{Name: "helios_cluster_summary.csv", Text: []byte(`id,gpu_num,job_num,cpu_job_num,gpu_job_num,avg_run_time_cpu
Venus,1022,246708,121405,125303,1649.859
Earth,997,872886,445738,427148,162.73
total,2019,1119594,567143,552451,900.5
`)}

func TestImportSummary(t *testing.T) {
	table, report, err := ImportSummary(importertest.Inputs(summary)...)
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.NodeRow{{Source: "helios", Cluster: "Venus", GPUs: 1022}, {Source: "helios", Cluster: "Earth", GPUs: 997}}
	if diff := cmp.Diff(want, table.Rows); diff != "" || importertest.Counts(report.Dropped)[dropTotal] != 1 {
		t.Errorf("%s, clusters (-want +got):\n%s", report.Report, diff)
	}
	if _, err := table.Cluster("Venus"); err == nil {
		t.Error("a cluster without nodes was made")
	}
	if err := importertest.CheckTable(SummaryFormat(), t.TempDir(), summary); err != nil {
		t.Error(err)
	}
}

func TestImportRealSummary(t *testing.T) {
	f := importertest.OpenShared(t, "helios", "helios_cluster_summary.csv")
	table, _, err := ImportSummary(importers.Input{Name: f.Name(), Reader: f})
	if err != nil || len(table.Rows) != 4 {
		t.Fatalf("got %v (%v), want four clusters", table, err)
	}
}

func FuzzImportQuotas(f *testing.F) {
	f.Add(sizes.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(QuotasFormat(), importertest.File{Name: "q.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImportSummary(f *testing.F) {
	f.Add(summary.Text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(SummaryFormat(), importertest.File{Name: "s.csv", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}
