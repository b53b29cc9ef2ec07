package catalogue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
)

const (
	phillyText = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,3600,2,7200.0,a\n2017-10-09 06:01:55,1800,4,7200.0,b\n"
	csvText    = "job_id,submit_s,gpus,duration_s\n1,0,2,3600\n2,5,4,1800\n"
)

func importText(text, path string) (catalogue.Outcome, error) {
	return catalogue.ImportTo(catalogue.Request{Inputs: []importers.Input{{Name: "in", Reader: strings.NewReader(text)}}}, path)
}

func TestImportTo(t *testing.T) {
	for _, text := range []string{phillyText, csvText} {
		path := filepath.Join(t.TempDir(), "t.parquet")
		o, err := importText(text, path)
		if err != nil {
			t.Fatal(err)
		}
		j, err := datasets.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kept != 2 || o.GPUHours != 4 || o.Hash != j.Hash() || j.Meta.RowsIn != 2 || len(j.Rows) != 2 {
			t.Errorf("%s: got %+v, %d rows", o.Name, o, len(j.Rows))
		}
		dry, err := importText(text, "")
		if err != nil || dry.Hash != o.Hash || dry.GPUHours != o.GPUHours {
			t.Errorf("%s: without a file: got %+v (%v)", o.Name, dry, err)
		}
	}
}

func TestImportToLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.parquet")
	for _, text := range []string{phillyText + "2017-10-09 07:01:55,-1,2,7200.0,a\n", csvText + "2,6,4,1800\n", "a,b\n", "job_id,jct_s\n"} {
		if o, err := importText(text, path); err == nil {
			t.Errorf("%q: got %+v, want an error", text, o)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%q: left %v (%v)", text, entries, err)
		}
	}
	if _, err := importText(phillyText, filepath.Join(dir, "none", "t.parquet")); err == nil {
		t.Error("a file was written to a folder that is not there")
	}
}
