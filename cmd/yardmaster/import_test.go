package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/datasets"
)

// writeText writes files to a new folder and returns it.
func writeText(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	phillyText = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,3600,2,7200.0,a\n2017-10-09 09:01:55,7200,1,7200.0,b\n"
	nodesText  = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,64000,262144,0,nan\n"
	oracleText = `{"v100": {"('LM (batch size 5)', 1)": {"null": 10.0, "('LM (batch size 5)', 1)": [6.0, 6.5]}}}`
	timesText  = "job_id,jct_s\n0,8331.2\n"
)

// Each kind of table is written as what it is.
func TestImportWritesTheTable(t *testing.T) {
	dir := writeText(t, map[string]string{"philly.csv": phillyText, "nodes.csv": nodesText, "o.json": oracleText})
	for _, test := range []struct {
		in, kind string
		args     []string
		want     []string // parts of what is printed
	}{
		{"philly.csv", datasets.KindJobs, nil, []string{"philly: ", "2 rows read, 2 kept", "submitted over 2h0m0s, 2017-10-09T", "load: 4 GPU-hours, 2.0 GPUs busy", "wrote 2 rows"}},
		{"nodes.csv", datasets.KindClusterNodes, nil, []string{"openb: ", "cluster_nodes table: 2 rows read"}},
		{"o.json", datasets.KindThroughput, nil, []string{"dropped 1: two jobs on the same GPUs", "the same input holds a colocation table: --table colocation"}},
		{"o.json", datasets.KindColocation, []string{"--table", "colocation"}, []string{"colocation table: 2 rows read, 1 kept"}},
	} {
		out := filepath.Join(t.TempDir(), "out.parquet")
		printed := mustRun(t, append([]string{"trace", "import", filepath.Join(dir, test.in), "--out", out}, test.args...)...)
		for _, part := range test.want {
			if !strings.Contains(printed, part) {
				t.Errorf("%s: want %q in\n%s", test.in, part, printed)
			}
		}
		table, err := datasets.ReadTable(out)
		if err != nil || table.Kind() != test.kind {
			t.Errorf("%s: got a table %v (%v), want one of kind %s", test.in, table, err, test.kind)
		}
	}
}

func TestImportDryRunWritesNothing(t *testing.T) {
	dir := writeText(t, map[string]string{"philly.csv": phillyText})
	var got struct {
		Format, Table, Hash string
		Read, Kept          int
	}
	if err := json.Unmarshal([]byte(mustRun(t, "trace", "import", "--dry-run", "--json", filepath.Join(dir, "philly.csv"))), &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "philly" || got.Table != "jobs" || got.Read != 2 || got.Kept != 2 || len(got.Hash) != 64 {
		t.Errorf("got %+v", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the input only", entries, err)
	}
}

// What is no trace is refused by name, and nothing is left behind.
func TestImportRefuses(t *testing.T) {
	dir := writeText(t, map[string]string{"times.csv": timesText, "o.json": oracleText, "nodes.csv": nodesText, "x.csv": "a,b\n1,2\n", "philly.csv": phillyText})
	out := filepath.Join(t.TempDir(), "out.parquet")
	for _, test := range []struct {
		in   []string
		args []string
		want string
	}{
		{[]string{"times.csv"}, nil, "completion times of Gavel's simulator, not a trace: yardmaster verify gavel reads them"},
		{[]string{"x.csv"}, nil, "not recognised as any known trace: name its format with --from"},
		{[]string{"o.json"}, []string{"--table", "jobs"}, "want --table throughput or colocation"},
		{[]string{"nodes.csv", "o.json"}, nil, "several formats"},
		{[]string{"philly.csv", "philly.csv"}, nil, "import them one by one"},
		{[]string{"."}, nil, "trace recognise"},
	} {
		args := append([]string{"trace", "import", "--out", out}, test.args...)
		for _, in := range test.in {
			args = append(args, filepath.Join(dir, in))
		}
		code, stdout, stderr := command(t, args...)
		if code != exitFailure || stdout != "" || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 1, nothing and one line with %q", test.in, code, stdout, stderr, test.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v: left a file behind", test.in)
		}
	}
}

func TestRecogniseSaysWhatEveryFileIs(t *testing.T) {
	dir := writeText(t, map[string]string{
		"a/philly.csv": phillyText, "a/times.csv": timesText, "b/o.json": oracleText, "x.csv": "a,b\n1,2\n", ".hidden": phillyText,
	})
	out := mustRun(t, "trace", "recognise", dir)
	for _, want := range []string{"FILE", "philly.csv", "jobs        2   2", "completion times of Gavel's simulator", "colocation", "not recognised as any known trace"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	var all []recognised
	if err := json.Unmarshal([]byte(mustRun(t, "trace", "recognise", "--json", dir)), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 || all[2].Table != "throughput" || all[3].Table != "colocation" || all[1].Format != "gavel" || all[4].Refused == "" {
		t.Errorf("got %+v, want five lines", all)
	}
	if code, _, _ := command(t, "trace", "recognise", filepath.Join(dir, "none")); code != exitFailure {
		t.Errorf("exit code %d of a path that is not there, want 1", code)
	}
	if code, _, _ := command(t, "trace", "recognise"); code != exitUsage {
		t.Errorf("exit code %d without a path, want 2", code)
	}
}
