package datasets

import (
	"strings"
	"testing"
	"time"
)

func TestBy(t *testing.T) {
	j := &Jobs{Name: "t.parquet", Rows: []Row{
		{ID: 4, GPUs: 1, Duration: time.Hour, Status: "Killed", Tenant: "a"}, {ID: 7, GPUs: 1, Duration: time.Hour, Tenant: "b"},
	}}
	for column, want := range map[string][2]string{"status": {"Killed", ""}, "tenant": {"a", "b"}} {
		of, err := j.By(column)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{of(4), of(7)}; got != want {
			t.Errorf("%s: got %q, want %q", column, got, want)
		}
	}
	if _, err := j.By("gpus"); err == nil || !strings.Contains(err.Error(), "want status, tenant, reference_gpu") {
		t.Errorf("gpus: got %v, want the columns there are", err)
	}
	if _, err := j.By("reference_gpu"); err == nil || !strings.Contains(err.Error(), "t.parquet") || !strings.Contains(err.Error(), "null in every row") {
		t.Errorf("a column without a value: got %v", err)
	}
}
