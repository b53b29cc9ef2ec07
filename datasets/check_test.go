package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// faulty is a table with one problem in each of several rows, as any program may
// write it.
func faulty(t testing.TB) []byte {
	t.Helper()
	return foreign(t, []minimal{
		{1, 10, 1, new(int64(5))},
		{2, 5, 1, new(int64(5))},  // before the row above it
		{3, 20, 0, new(int64(5))}, // no GPU
		{4, 30, 1, new(int64(0))}, // a zero for a null
		{5, 40, 1, nil},           // no work
		{1, 50, 1, new(int64(5))}, // an id as before
		{7, 60, 1, new(int64(5))},
		{7, 70, -1, new(int64(-5))}, // two faults in a row: the first counts
	})
}

var faultyProblems = []string{
	"row 4: column duration_ns is 0: want > 0, or null where it is not known",
	"row 2: column submit_ns is 5 (job_id 2), before the row above it: sort the rows by submit_ns, job_id",
	"row 3: column gpus is 0: want 1 to 1000000; leave out jobs that use no GPU",
	"row 5: column duration_ns is null and so is steps: set one of them: without either the job has no work",
	"row 8: column gpus is -1: want 1 to 1000000; leave out jobs that use no GPU",
	"row 6: column job_id is 1, as in row 1: give every job an id of its own, or drop the copy",
	"row 8: column job_id is 7, as in row 7: give every job an id of its own, or drop the copy",
}

func TestCheckReportsEveryProblem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, faulty(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for most := range len(faultyProblems) + 1 {
		var got []string
		rows, err := Check(path, func(e *RowError) bool {
			got = append(got, strings.TrimPrefix(e.Error(), "datasets: "+path+": "))
			return len(got) != most
		})
		want := faultyProblems
		if most > 0 {
			want = want[:most]
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("at most %d: %v, (-want +got):\n%s", most, err, diff)
		}
		if most == 0 && rows != 8 {
			t.Errorf("got %d rows, want 8", rows)
		}
	}
}

func TestCheckAcceptsWhatReadDoes(t *testing.T) {
	none := func(e *RowError) bool { t.Errorf("got problem %v", e); return true }
	for _, name := range []string{"jobs_v1", "pyarrow", "duckdb", "duckdb_v2"} {
		path := filepath.Join("testdata", name+".parquet")
		j, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := Check(path, none); err != nil || rows != len(j.Rows) {
			t.Errorf("%s: got %d rows, %v, want %d", name, rows, err, len(j.Rows))
		}
	}
	if rows, err := CheckCSV(strings.NewReader(exampleCSV), "t", none); err != nil || rows != 4 {
		t.Errorf("CSV: got %d rows, %v", rows, err)
	}
}

func TestCheckReportsDamageOnce(t *testing.T) {
	whole := encoded(t, example())
	for at := 0; at < len(whole); at += 7 {
		var got []*RowError
		_, err := checkFrom(bytes.NewReader(whole[:at]), int64(at), "t", func(e *RowError) bool { got = append(got, e); return true })
		if err != nil || len(got) != 1 || got[0].File != "t" || got[0].Fix == "" {
			t.Fatalf("cut at %d: got problems %v, error %v, want one problem", at, got, err)
		}
	}
	if _, err := Check(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a missing file was checked")
	}
}

func TestCheckCSVReportsEveryProblem(t *testing.T) {
	const text = "job_id,submit_s,gpus,duration_s,model,steps\n" +
		"1,0,1,5,,\n" +
		"2,0,x,5,,\n" +
		"3,0,1\n" +
		"4,0,1,\"5\"x,,\n" +
		"1,9,1,5,,\n" +
		"6,0,1,5,,100\n" +
		"7,0,1,0,,\n"
	want := []string{
		`row 3: column gpus is "x": want a whole number of 32 bits`,
		`row 4: 3 values in the row: want 6, one for each column`,
		`row 5: bad quotes in "4,0,1,\"5\"x,,": quote values as in RFC 4180`,
		`row 7: column model is null: name the model: steps say nothing without it`,
		`row 8: column duration_s is "0": want > 0, or nothing where it is not known`,
		`row 6: column job_id is 1, as in row 2: give every job an id of its own, or drop the copy`,
	}
	var got []string
	rows, err := CheckCSV(strings.NewReader(text), "t.csv", func(e *RowError) bool {
		got = append(got, strings.TrimPrefix(e.Error(), "datasets: t.csv: "))
		return true
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || rows != 7 {
		t.Errorf("%d rows, %v, (-want +got):\n%s", rows, err, diff)
	}
}
