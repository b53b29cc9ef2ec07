package acme

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

const (
	serenHead = "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
	kalosHead = "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"
)

// seren is written by hand after the description of the columns: jobs of two
// sizes, one of each kind that is dropped, a copy.
const seren = serenHead +
	"50,u1,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,936.0\n" +
	"51,u2,4,32.0,512,Pretrain,COMPLETED,2023-03-01 00:10:00+08:00,2023-03-01 00:10:00+08:00,2023-03-02 00:10:00+08:00,86400,0,2764800.0\n" +
	"52,u2,1,0,4,CPU,COMPLETED,2023-03-01 00:19:00+08:00,2023-03-01 00:19:00+08:00,2023-03-01 00:20:00+08:00,60,0,0.0\n" +
	"53,u2,1,1,4,Debug,CANCELLED,2023-03-01 00:19:00+08:00,,2023-03-01 00:20:00+08:00,,,\n" +
	"54,u2,1,1,4,Debug,RUNNING,2023-03-01 00:19:00+08:00,2023-03-01 00:20:00+08:00,,,,\n" +
	"55,u2,1,1,4,Debug,CANCELLED,2023-03-01 00:19:00+08:00,2023-03-01 00:20:00+08:00,2023-03-01 00:20:00+08:00,0,60,0.0\n" +
	"50,u1,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,936.0\n"

// kalos has ids that are text, UTC and durations that include the queue.
const kalos = kalosHead +
	"dlcaaaa,uf1,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n" +
	"dlcbbbb,uf1,8,64,960,1000,100.0,Pretrain,CANCELLED,2023-05-17 11:00:00+00:00,2023-05-17 11:00:12+00:00,2023-05-17 11:01:22+00:00,,2023-05-17 11:01:22+00:00,82,12.0,5248.0\n" +
	"dlccccc,uf2,1,8,96,100,10.0,Evaluation,COMPLETED,2023-05-17 12:00:00+00:00,2023-05-17 12:00:00+00:00,2023-05-17 13:00:00+00:00,,,3600,0.0,28800.0\n" +
	"dlcaaaa,uf1,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n"

func importText(t *testing.T, text string, cfg Config) (*datasets.Jobs, Report) {
	t.Helper()
	j, report, err := cfg.Import(strings.NewReader(text), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func TestImportSeren(t *testing.T) {
	j, report := importText(t, seren, Config{})
	want := []datasets.Row{
		{ID: 51, Submit: 10 * time.Minute, GPUs: 32, Duration: 24 * time.Hour, ReferenceGPU: "A100-80", Tenant: "u2", Status: "COMPLETED"},
		{ID: 50, Submit: 18*time.Minute + 22*time.Second, GPUs: 8, Duration: 117 * time.Second, ReferenceGPU: "A100-80", Tenant: "u1", Status: "FAILED"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantDropped := map[string]int{importers.DropNoGPU: 1, importers.DropNoStart: 1, importers.DropRunning: 1, importers.DropNoTime: 1, importers.DropDuplicate: 1}
	if diff := cmp.Diff(wantDropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 7 || len(report.Warnings) != 0 {
		t.Errorf("read %d, warnings %v, dropped (-want +got):\n%s", report.Read, report.Warnings, diff)
	}
	if !strings.Contains(j.Meta.Source, "Seren") {
		t.Errorf("got source %q", j.Meta.Source)
	}
}

// Trap: Seren's times carry +08:00, Kalos' +00:00.
func TestZones(t *testing.T) {
	for _, test := range []struct{ text, epoch, zone, cluster string }{
		{seren, "2023-03-01T00:00:00+08:00", "Asia/Shanghai (as the times carry +08:00)", "Seren"},
		{kalos, "2023-05-17T00:00:00Z", "UTC (as the times carry +00:00)", "Kalos"},
		{strings.ReplaceAll(seren, "+08:00", "-03:30"), "2023-03-01T00:00:00-03:30", "-03:30 (as the times carry)", "Seren"},
	} {
		j, _ := importText(t, test.text, Config{})
		if got := j.Meta.Epoch.Format(time.RFC3339); got != test.epoch || j.Meta.Zone != test.zone || !strings.Contains(j.Meta.Source, test.cluster) {
			t.Errorf("got epoch %s, zone %q, source %q, want %+v", got, j.Meta.Zone, j.Meta.Source, test)
		}
	}
	// 00:18:22+08:00 and 16:18:22+00:00 of the day before are one instant.
	mixed := seren + "56,u9,1,1,4,Debug,FAILED,2023-02-28 16:18:22+00:00,2023-02-28 16:18:54+00:00,2023-02-28 16:20:51+00:00,117,32,117\n"
	j, report := importText(t, mixed, Config{})
	if diff := cmp.Diff(map[string]int{warnOffset: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if j.Rows[1].Submit != j.Rows[2].Submit {
		t.Errorf("got submissions %v and %v of one instant", j.Rows[1].Submit, j.Rows[2].Submit)
	}
}

// Trap: the durations of Kalos include the queue; the times do not.
func TestKalosDurationsAreRecomputed(t *testing.T) {
	j, report := importText(t, kalos, Config{})
	got := map[int64]time.Duration{}
	for _, r := range j.Rows {
		got[r.ID] = r.Duration
	}
	want := map[int64]time.Duration{1: 8 * time.Second, 2: 70 * time.Second, 3: time.Hour}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("durations by row (-want +got):\n%s", diff)
	}
	// The copy of row 1 is warned about, too.
	if diff := cmp.Diff(map[string]int{warnIncludesQueue: 3}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestKalosIDsAreRowNumbers(t *testing.T) {
	j, report := importText(t, kalos, Config{})
	var got []int64
	for _, r := range j.Rows {
		got = append(got, r.ID)
	}
	if diff := cmp.Diff([]int64{2, 1, 3}, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{importers.DropDuplicate: 1}, importertest.Counts(report.Dropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestOtherDisagreements(t *testing.T) {
	_, report := importText(t, serenHead+"50,u1,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:00+08:00,2023-03-01 00:20:51+08:00,5,32,936.0\n", Config{})
	want := map[string]int{importers.WarnDuration: 1, importers.WarnQueue: 1, importers.WarnEarly: 1}
	if diff := cmp.Diff(want, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestTenantByType(t *testing.T) {
	if j, _ := importText(t, seren, Config{ByType: true}); j.Rows[0].Tenant != "Pretrain" {
		t.Errorf("got tenant %q", j.Rows[0].Tenant)
	}
}

func TestFormatKeepsTheRules(t *testing.T) {
	for _, trace := range []string{seren, kalos} {
		if err := importertest.Check(Format(), []byte(trace), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	row := func(s string) string { return seren + s + "\n" }
	for _, test := range []struct {
		name, text  string
		line        int64
		column, fix string
	}{
		{"no rows", serenHead, 0, "", "check the file"},
		{"Helios", "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n", 1, "type", "want the columns"},
		{"no offset", row("1,u,1,1,1,Other,FAILED,2023-03-01 00:18:22,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,936.0"), 9, "submit_time", "offset"},
		{"no submission", row("1,u,1,1,1,Other,FAILED,,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,936.0"), 9, "submit_time", "offset"},
		{"bad end", row("1,u,1,1,1,Other,FAILED,2023-03-01 00:18:54+08:00,2023-03-01 00:18:54+08:00,tomorrow,117,32,936.0"), 9, "end_time", "offset"},
		{"half a GPU", row("1,u,1,0.5,1,Other,FAILED,,,,,,"), 9, "gpu_num", "whole number"},
		{"duration in words", row("1,u,1,1,1,Other,FAILED,2023-03-01 00:18:54+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:18:54+08:00,long,32,936.0"), 9, "duration", "want seconds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Import(strings.NewReader(test.text), "t.csv")
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.csv" || got.Row != test.line || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %#v, want line %d, column %q, fix with %q", err, test.line, test.column, test.fix)
			}
		})
	}
}

// Any jobs come out of a trace as they went in, and through the table's file.
func TestImportKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, want := kalosHead, []datasets.Row{}
		zone := time.FixedZone("", rapid.SampledFrom([]int{0, 8 * 3600, -3600 * 7 / 2}).Draw(t, "offset"))
		start := time.Date(2023, 5, 17, 0, 0, 0, 0, zone)
		show := func(d time.Duration) string { return start.Add(d).Format("2006-01-02 15:04:05-07:00") }
		submit := time.Duration(rapid.IntRange(0, 86399).Draw(t, "first")) * time.Second
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			r := datasets.Row{
				ID: int64(i + 1), Submit: submit, GPUs: rapid.Int32Range(1, 2416).Draw(t, "gpus"), ReferenceGPU: "A100-80",
				Duration: time.Duration(rapid.IntRange(1, 1e7).Draw(t, "duration")) * time.Second,
				Tenant:   rapid.StringMatching(`u[a-f0-9]{0,4}`).Draw(t, "user"),
				Status:   rapid.SampledFrom([]string{"COMPLETED", "CANCELLED", "FAILED"}).Draw(t, "state"),
			}
			queue := time.Duration(rapid.IntRange(0, 1e6).Draw(t, "queue")) * time.Second
			text += fmt.Sprintf("dlc%x,%s,1,%d,1,1,1,Other,%s,%s,%s,%s,,,%v,%v,0\n", i, r.Tenant, r.GPUs, r.Status,
				show(submit), show(submit+queue), show(submit+queue+r.Duration), (queue + r.Duration).Seconds(), queue.Seconds())
			want = append(want, r)
			submit += time.Duration(rapid.IntRange(0, 1e5).Draw(t, "gap")) * time.Second
		}
		j, _, err := Import(strings.NewReader(text), "t")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" {
			t.Fatalf("jobs (-want +got):\n%s", diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(seren))
	f.Add([]byte(kalos))
	f.Add(importertest.Gzip([]byte(kalos)))
	f.Add([]byte(serenHead + "9,u,1,1,1,T,S,1970-01-01 00:00:00+00:00,1970-01-01 00:00:00-12:00,2200-01-01 00:00:00Z,1e300,-1,x\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}
