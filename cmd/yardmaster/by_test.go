package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/train/eval"
)

// endedTrace writes a trace of 120 jobs, every third of which was killed; the status of
// every fifth is not known.
func endedTrace(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("job_id,submit_s,gpus,duration_s,model,batch,status\n")
	for i := range 120 {
		status := "Pass"
		switch {
		case i%5 == 0:
			status = ""
		case i%3 == 0:
			status = "Killed"
		}
		b.WriteString(strconv.Itoa(i+1) + "," + strconv.Itoa(300*i) + "," + strconv.Itoa(1+i%4) + "," + strconv.Itoa(600+37*i) + ",ResNet-18,32," + status + "\n")
	}
	dir := t.TempDir()
	writeAs(t, filepath.Join(dir, "jobs.csv"), b.String())
	trace := filepath.Join(dir, "jobs.parquet")
	mustRun(t, "trace", "import", filepath.Join(dir, "jobs.csv"), "--out", trace)
	return trace
}

// What became of jobs can be told apart by how they ended in the trace, and the schedule
// is the same as where that is not known.
func TestResultsByStatus(t *testing.T) {
	trace := endedTrace(t)
	blind := filepath.Join(filepath.Dir(trace), "blind.csv")
	mustRun(t, "trace", "convert", trace, blind)
	text := strings.NewReplacer(",Killed\n", ",\n", ",Pass\n", ",\n").Replace(read(t, blind))
	writeAs(t, blind, text)
	other := filepath.Join(filepath.Dir(trace), "blind.parquet")
	mustRun(t, "trace", "convert", blind, other)

	jobs, without := filepath.Join(filepath.Dir(trace), "jobs-out.csv"), filepath.Join(filepath.Dir(trace), "blind-out.csv")
	args := []string{"simulate", "--policy", "srtf", "--cluster", "V100=4,K80=4", "--knowledge", "oracle", "--json"}
	var got, bare simulated
	if err := json.Unmarshal([]byte(mustRun(t, append(args, "--trace", trace, "--by", "status", "--jobs", jobs)...)), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(mustRun(t, append(args, "--trace", other, "--jobs", without)...)), &bare); err != nil {
		t.Fatal(err)
	}
	if got.Summary != bare.Summary || bare.Groups != nil {
		t.Errorf("with statuses %+v, without them %+v and groups %+v", got.Summary, bare.Summary, bare.Groups)
	}
	counts, mean := map[string]int{}, 0.0
	for _, g := range got.Groups {
		counts[g.Name] = g.Jobs
		mean += g.MeanJCT * float64(g.Jobs) / 120
	}
	if counts[""] != 24 || counts["Killed"] != 32 || counts["Pass"] != 64 || got.By != "status" {
		t.Errorf("got %v by %q, want 24 unknown, 32 killed and 64 that passed", counts, got.By)
	}
	if diff := mean/got.Summary.MeanJCT - 1; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("the groups' mean JCT is %v s, that of all jobs %v s", mean, got.Summary.MeanJCT)
	}
	killed := 0
	for path, want := range map[string]int{jobs: 32, without: 0} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		killed = 0
		last := len(records[0]) - 1
		for _, r := range records {
			if r[last] == "Killed" {
				killed++
			}
		}
		if records[0][last] != "status" || killed != want {
			t.Errorf("%s: column %s has %d killed jobs, want %d", path, records[0][last], killed, want)
		}
	}
	if out := mustRun(t, append(args[:len(args)-1], "--trace", trace, "--by", "status")...); !strings.Contains(out, "status   jobs") || !strings.Contains(out, "Killed   32") || !strings.Contains(out, "unknown  24") {
		t.Errorf("the table by status is missing:\n%s", out)
	}

	var table eval.Table
	bench := []string{"bench", "--trace", trace, "--cluster", "V100=4,K80=4", "--jobs", "9", "--seeds", "2", "--policies", "fifo,srtf", "--by", "status", "--json"}
	if err := json.Unmarshal([]byte(mustRun(t, bench...)), &table); err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		n := 0
		for _, g := range r.Groups {
			n += g.Jobs
		}
		if n != 18 || table.By != "status" {
			t.Errorf("%s: %d jobs by %q, want 18 by status", r.Policy, n, table.By)
		}
	}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no such column": {[]string{"bench", "--trace", trace, "--by", "gpus"}, exitUsage, `--by is "gpus", want status, tenant, reference_gpu`},
		"none has one":   {[]string{"bench", "--trace", other, "--by", "status"}, exitFailure, "column status is null in every row"},
		"simulate":       {[]string{"simulate", "--trace", other, "--by", "status"}, exitFailure, "column status is null in every row"},
	} {
		if code, _, stderr := command(t, test.args...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", name, code, stderr, test.code, test.want)
		}
	}
}
