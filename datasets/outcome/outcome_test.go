package outcome

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

func example() []Row {
	s := metrics.Schedule{Jobs: []metrics.Job{
		{ID: 3, Submit: time.Second, Start: 2 * time.Second, Finish: 11 * time.Second, GPUs: 2, Service: 18, Isolated: 5 * time.Second, Ideal: 4 * time.Second, Weight: 1},
		{ID: 8, Submit: 1500 * time.Millisecond, Start: 2 * time.Second, Finish: 10*time.Second + 1, GPUs: 1, Service: 8, Restarts: 2, Isolated: 8 * time.Second, Ideal: time.Second, Weight: 0.5, Deadline: 9 * time.Second, Outcome: metrics.Failed, Interruptions: 3},
	}}
	return Of(&s, []env.Job{{ID: 8, Model: `LM, "big"`, Batch: 20, Tenant: "t"}, {ID: 3, Model: "A3C", Batch: 1}}, func(id int64) string { return map[int64]string{8: "Killed"}[id] })
}

func TestOf(t *testing.T) {
	want := []Row{
		{ID: 3, Model: "A3C", Batch: 1, GPUs: 2, Weight: 1, Submit: 1, Start: 2, Finish: 11, JCT: 10, Ideal: 4, Isolated: 5, Rho: 2, Service: 18, Outcome: "completed"},
		{ID: 8, Model: `LM, "big"`, Batch: 20, GPUs: 1, Tenant: "t", Weight: 0.5, Submit: 1.5, Start: 2, Finish: 10.000000001, JCT: 8.500000001, Ideal: 1, Isolated: 8, Rho: 8.500000001 / 8, Service: 8, Restarts: 2, Deadline: 9, Late: 1.000000001, Outcome: "failed", Interruptions: 3, Status: "Killed"},
	}
	if diff := cmp.Diff(want, example()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestFilesHoldTheRows(t *testing.T) {
	dir := t.TempDir()
	text, binary := filepath.Join(dir, "jobs.csv"), filepath.Join(dir, "jobs.Parquet")
	for _, path := range []string{text, binary} {
		if err := Write(path, example()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := parquet.ReadFile[Row](binary)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), rows); diff != "" {
		t.Errorf("Parquet (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := "8,LM, \"big\",20,1,t,0.5,1.5,2,10.000000001,8.500000001,1,8,1.062500000125,8,2,9,1.000000001,failed,3,Killed"
	if len(records) != 3 || records[0][0] != "job_id" || strings.Join(records[2], ",") != want {
		t.Errorf("CSV is\n%s", data)
	}
	if err := Write(filepath.Join(dir, "no such folder", "jobs.csv"), nil); err == nil {
		t.Error("a folder that is not there: got no error")
	}
}
