package jobscsv_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/datasets/importers/jobscsv"
)

// fixture is a table made by hand: no metadata, unsorted, in seconds.
const fixture = `# jobs of our cluster
job_id,submit_s,gpus,duration_s,tenant,status
3,7200,8,90.5,vision,done
1,0,1,60,,done
2,3600,2,86400,"speech, large",failed
`

func TestImportPassesTheChecksOfAllImporters(t *testing.T) {
	if err := importertest.Check(jobscsv.Format(), []byte(fixture), t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestImportFixture(t *testing.T) {
	j, report, err := jobscsv.Import(strings.NewReader(fixture), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.Row{
		{ID: 1, GPUs: 1, Duration: time.Minute, Status: "done"},
		{ID: 2, Submit: time.Hour, GPUs: 2, Duration: 24 * time.Hour, Tenant: "speech, large", Status: "failed"},
		{ID: 3, Submit: 2 * time.Hour, GPUs: 8, Duration: 90500 * time.Millisecond, Tenant: "vision", Status: "done"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if report.Read != 3 || report.Kept != 3 || report.Span() != 2*time.Hour {
		t.Errorf("got report %+v", report)
	}
}

// What convert wrote is imported with the metadata it had.
func TestImportKeepsMetadata(t *testing.T) {
	want := &datasets.Jobs{
		Name: "t.csv",
		Meta: datasets.Meta{
			SchemaVersion: datasets.SchemaVersion, Source: "Philly", Licence: "CC-BY-4.0", SourceSHA256: strings.Repeat("ab", 32),
			Epoch: time.Date(2017, 10, 1, 0, 0, 0, 0, time.FixedZone("", -7*3600)), Zone: "America/Los_Angeles (assumed)",
			Filters: []string{"dropped 65 rows: duplicate"}, RowsIn: 82_247,
		},
		Rows: []datasets.Row{{ID: 1, GPUs: 1, Duration: 1, Tenant: "\"a\"\r\n"}},
	}
	var text bytes.Buffer
	if err := datasets.EncodeCSV(&text, want); err != nil {
		t.Fatal(err)
	}
	if !jobscsv.Sniff(text.Bytes()) {
		t.Error("not recognised")
	}
	got, report, err := jobscsv.Import(bytes.NewReader(importertest.Zstd(text.Bytes())), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if report.Compression != "zstd" || report.First.Format(time.RFC3339) != "2017-10-01T00:00:00-07:00" {
		t.Errorf("got report %+v", report)
	}
}

func TestSniffTakesNothingElse(t *testing.T) {
	for _, head := range []string{
		"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n",
		"# only comments", "", "job_id,gpus\n", "\n#job_id,submit_ns,gpus\nx\n",
	} {
		if jobscsv.Sniff([]byte(head)) {
			t.Errorf("%q is taken for a jobs table", head)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add(importertest.Gzip([]byte(fixture)))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(jobscsv.Format(), input); err != nil {
			t.Error(err)
		}
	})
}

// Whatever is imported from a table made by hand can be written and read back,
// as Parquet and as CSV.
func TestAnyTableRoundTrips(t *testing.T) {
	dir := t.TempDir()
	name := rapid.SampledFrom([]string{"", "a", `"a, b"`, `"say ""a"""`, "\"x\r\ny\"", "\" a \"", "größe"})
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("tenant,job_id,submit_s,gpus,duration_s,status,weight,batch\n")
		for _, id := range rapid.SliceOfNDistinct(rapid.Int64(), 1, 20, rapid.ID).Draw(t, "ids") {
			fmt.Fprintf(&b, "%s,%d,%d.%09d,%d,%d.5,%s,%v,%d.0\r\n", name.Draw(t, "tenant"), id, rapid.IntRange(0, 1<<31).Draw(t, "submit"), rapid.IntRange(0, 999_999_999).Draw(t, "ns"),
				rapid.IntRange(1, datasets.MaxGPUs).Draw(t, "gpus"), rapid.IntRange(0, 1<<31).Draw(t, "duration"), name.Draw(t, "status"),
				rapid.Float64Range(0.001, 1e9).Draw(t, "weight"), rapid.IntRange(1, datasets.MaxBatch).Draw(t, "batch"))
		}
		j, _, err := jobscsv.Import(strings.NewReader(b.String()), "t.csv")
		if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}
