package pai

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// The fixtures are written by hand after the description of the tables: jobs of
// several roles and of parts of a GPU, one of each kind that is dropped. The
// files have no header.
const (
	jobs = "j1,i1,u1,Terminated,100000.0,103700.0\n" + // 4 GPUs, a parameter server without
		"j2,i2,u2,Failed,100010.0,100100.0\n" + // half a GPU
		"j3,i3,u2,Terminated,100020.0,100100.0\n" + // two halves
		"j4,i4,u2,Terminated,100030.0,100100.0\n" + // no GPU
		"j5,i5,u2,Waiting,100040.0,\n" +
		"j6,i6,u2,Running,100050.0,\n" +
		"j7,i7,u2,Terminated,100060.0,100100.0\n" + // no task
		"j1,i1,u1,Terminated,100000.0,103700.0\n" + // its name again
		"j8,i8,u3,Terminated,90000.0,90050.0\n" + // no time
		"j9,i9,u3,Failed,95000.0,95100.0\n" // its task has no end
	tasks = "j1,worker,4.0,Terminated,100060.0,103660.0,600.0,29.296875,100.0,V100M32\n" +
		"j1,ps,2.0,Terminated,100050.0,103670.0,600.0,29.296875,,CPU\n" +
		"j2,tensorflow,1.0,Failed,100010.0,100100.0,600.0,29.296875,50.0,T4\n" +
		"j3,worker,2.0,Terminated,100030.0,100090.0,600.0,29.296875,50.0,MISC\n" +
		"j4,worker,2.0,Terminated,100030.0,100090.0,600.0,29.296875,,\n" +
		"j5,worker,1.0,Waiting,,,600.0,29.296875,100.0,P100\n" +
		"j6,worker,1.0,Running,100055.0,,600.0,29.296875,100.0,P100\n" +
		"j8,worker,1.0,Terminated,90050.0,90050.0,600.0,29.296875,100.0,P100\n" +
		"j9,worker,1.0,Failed,95010.0,,600.0,29.296875,100.0,P100\n" +
		"jX,worker,1.0,Failed,95010.0,,600.0,29.296875,100.0,P100\n" + // no such job
		"j1,worker,4.0,Terminated,100060.0,103660.0,600.0,29.296875,100.0,V100M32\n" // again
	instances = "j1,worker,n1,w1,i1,Terminated,100070.0,103650.0,m1\n" +
		"j1,worker,n2,w2,i1,Terminated,100080.0,103655.0,m2\n" +
		"j1,worker,n3,w3,i1,Terminated,100065.0,,m3\n" + // no end
		"j1,ps,n4,w4,i1,Terminated,100000.0,200000.0,m3\n" + // its task uses no GPU
		"jX,ps,n4,w4,i1,Terminated,100000.0,200000.0,m3\n" // no such job
)

func inputs(texts ...string) []importers.Input {
	var in []importers.Input
	for i, text := range texts {
		in = append(in, importers.Input{Name: fmt.Sprintf("t%d.csv", i), Reader: strings.NewReader(text)})
	}
	return in
}

func join(t *testing.T, cfg Config, texts ...string) (*datasets.Jobs, Report) {
	t.Helper()
	j, report, err := cfg.Join(inputs(texts...))
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

// clock is the time since the epoch of the fixtures: midnight of 1970-01-02 in
// Shanghai is at 57600 s, and 90000 s is the first submission.
func clock(seconds int) time.Duration { return time.Duration(seconds-57600) * time.Second }

func TestJoinFixture(t *testing.T) {
	j, report := join(t, Config{}, jobs, tasks, instances)
	want := []datasets.Row{
		{ID: 10, Submit: clock(95000), GPUs: 1, Duration: 90 * time.Second, ReferenceGPU: "P100", Tenant: "u3", Status: "Failed"},
		{ID: 1, Submit: clock(100000), GPUs: 4, Duration: 3585 * time.Second, ReferenceGPU: "V100-32", Tenant: "u1", Status: "Terminated"},
		{ID: 3, Submit: clock(100020), GPUs: 1, Duration: 60 * time.Second, Tenant: "u2", Status: "Terminated"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantDropped := map[string]int{
		dropName: 1, dropNoTask: 1, importers.DropNoGPU: 1, importers.DropNoStart: 1, importers.DropRunning: 1, importers.DropShared: 1, importers.DropNoTime: 1,
	}
	if diff := cmp.Diff(wantDropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 10 {
		t.Errorf("read %d, dropped (-want +got):\n%s", report.Read, diff)
	}
	wantWarnings := map[string]int{warnAddUp: 1, warnGPUType: 1, warnNoInstance: 3, warnJobEnd: 1}
	if diff := cmp.Diff(wantWarnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	wantTasks := datasets.Report{Read: 11, Kept: 9, Dropped: []datasets.Count{{Reason: dropTaskName, Rows: 1}, {Reason: dropNoJob, Rows: 1}}}
	if diff := cmp.Diff(wantTasks, report.Tasks); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	wantInstances := map[string]int{dropNoJob: 1, dropNoGPUTask: 1, dropNoTimes: 1}
	if diff := cmp.Diff(wantInstances, importertest.Counts(report.Instances.Dropped)); diff != "" || report.Instances.Read != 5 || report.Instances.Kept != 2 {
		t.Errorf("instances %v (-want +got):\n%s", report.Instances, diff)
	}
	if len(j.Meta.Filters) < 2 || !strings.HasPrefix(j.Meta.Filters[0], "joined with the task table of SHA-256 ") {
		t.Errorf("got filters %v", j.Meta.Filters)
	}
}

// Without the instance table the tasks' own times are taken.
func TestInstancesMayBeLeftOut(t *testing.T) {
	j, report := join(t, Config{}, jobs, tasks)
	if got := j.Rows[1]; got.ID != 1 || got.Duration != time.Hour {
		t.Errorf("got %+v, want an hour", got)
	}
	if got := importertest.Counts(report.Warnings)[warnNoInstance]; got != 0 || report.Instances.Read != 0 {
		t.Errorf("got %+v", report)
	}
}

func TestTablesInAnyOrder(t *testing.T) {
	want, _ := join(t, Config{}, jobs, tasks, instances)
	for _, order := range [][]string{{tasks, jobs, instances}, {instances, tasks, jobs}} {
		if got, _ := join(t, Config{}, order...); got.Hash() != want.Hash() {
			t.Error("another order gives other rows")
		}
	}
}

// Trap: the files have no header; one that was added changes nothing.
func TestHeaders(t *testing.T) {
	want, _ := join(t, Config{}, jobs, tasks, instances)
	head := func(k int) string { return strings.Join(kinds[k].columns, ",") + "\n" }
	got, _ := join(t, Config{}, head(jobTable)+jobs, head(taskTable)+tasks, head(instanceTable)+instances)
	if got.Hash() != want.Hash() {
		t.Error("headers give other rows")
	}
}

// The columns are those of the trace's own headers.
func TestColumnsAreThoseOfTheRealHeaders(t *testing.T) {
	for file, columns := range map[string][]string{
		"pai_job_table.header": kinds[jobTable].columns, "pai_task_table.header": kinds[taskTable].columns, "pai_instance_table.header": kinds[instanceTable].columns,
		"pai_machine_spec.header": machineTable.columns, "pai_sensor_table.header": sensorTable.columns,
	} {
		text, err := io.ReadAll(importertest.OpenShared(t, "pai", file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(text)), ","), columns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// oneJob joins a job with these tasks, given as inst_num,plan_gpu,gpu_type.
func oneJob(t *testing.T, cfg Config, roles ...string) (*datasets.Jobs, Report, error) {
	t.Helper()
	var b strings.Builder
	for i, role := range roles {
		f := strings.Split(role, ",")
		fmt.Fprintf(&b, "j1,role%d,%s,Terminated,100.0,200.0,600.0,29.3,%s,%s\n", i, f[0], f[1], f[2])
	}
	return cfg.Join(inputs("j1,i1,u1,Terminated,50.0,250.0\n", b.String()))
}

// Trap: plan_gpu is per instance and in percent, empty for roles without GPUs;
// a job's GPUs are Σ inst_num × plan_gpu / 100.
func TestGPUsOfAJob(t *testing.T) {
	for _, test := range []struct {
		roles    []string
		whole    int32 // 0: dropped as a part of a GPU
		rounded  int32
		warnings map[string]int
	}{
		{[]string{"4.0,100.0,T4"}, 4, 4, nil},
		{[]string{"4.0,100.0,T4", "2.0,,CPU"}, 4, 4, nil},
		{[]string{"1.0,800.0,T4", "2.0,200.0,T4"}, 12, 12, nil},
		{[]string{"1.0,50.0,T4"}, 0, 1, nil},
		{[]string{"3.0,50.0,T4"}, 0, 2, nil},
		{[]string{"4.0,25.0,T4"}, 1, 1, map[string]int{warnAddUp: 1}},
		{[]string{"3.0,33.0,T4", "1.0,1.0,T4"}, 1, 1, map[string]int{warnAddUp: 1}},
		{[]string{",100.0,T4"}, 1, 1, map[string]int{warnOneInstance: 1}},
		{[]string{"2.0,0.0,T4", "1.0,100.0,T4"}, 1, 1, nil},
	} {
		j, report, err := oneJob(t, Config{}, test.roles...)
		switch {
		case test.whole == 0:
			if err := importertest.Refusal(err, datasets.RowError{Value: importers.DropShared, Fix: "check"}); err != nil {
				t.Errorf("%v: %v", test.roles, err)
			}
		case err != nil || j.Rows[0].GPUs != test.whole:
			t.Errorf("%v: got %+v, %v, want %d GPUs", test.roles, j, err, test.whole)
		case len(report.Warnings) != len(test.warnings) || len(test.warnings) > 0 && !cmp.Equal(test.warnings, importertest.Counts(report.Warnings)):
			t.Errorf("%v: got warnings %v, want %v", test.roles, report.Warnings, test.warnings)
		}
		j, report, err = oneJob(t, Config{RoundUp: true}, test.roles...)
		if err != nil || j.Rows[0].GPUs != test.rounded {
			t.Errorf("%v, rounded up: got %+v, %v, want %d GPUs", test.roles, j, err, test.rounded)
		}
		if got := importertest.Counts(report.Warnings)[importers.WarnRounded] == 1; got != (test.whole == 0) {
			t.Errorf("%v, rounded up: got warnings %v", test.roles, report.Warnings)
		}
	}
}

// Trap: Terminated is success; Failed jobs ran, too; Waiting and Running did
// not end; others are suspicious.
func TestStatuses(t *testing.T) {
	for status, want := range map[string]string{"Terminated": "", "Failed": "", "Interrupted": "", "Running": importers.DropRunning, "Waiting": importers.DropNoStart} {
		j, report, err := Join(inputs("j1,i1,u1,"+status+",50.0,250.0\n", "j1,w,1.0,Terminated,100.0,200.0,600.0,29.3,100.0,T4\n"))
		if want != "" {
			if err := importertest.Refusal(err, datasets.RowError{Value: want, Fix: "check"}); err != nil {
				t.Errorf("%s: %v", status, err)
			}
			continue
		}
		if err != nil || j.Rows[0].Status != status || (len(report.Warnings) == 1) != (status == "Interrupted") {
			t.Errorf("%s: got %+v, %v, warnings %v", status, j, err, report.Warnings)
		}
	}
}

// Trap: times are seconds less a constant, of which the hour of the day and
// the day of the week are kept in the time zone of China.
func TestTimesKeepTheHourOfTheDay(t *testing.T) {
	j, report, err := oneJob(t, Config{}, "1.0,100.0,T4")
	if err != nil {
		t.Fatal(err)
	}
	// 50 s after 1970-01-01 00:00:00 UTC it was a Thursday, 08:00:50 in Shanghai.
	if got := report.First.Format("Mon 2006-01-02 15:04:05 -0700"); got != "Thu 1970-01-01 08:00:50 +0800" || j.Rows[0].Submit != 8*time.Hour+50*time.Second {
		t.Errorf("got %s, submission %v", got, j.Rows[0].Submit)
	}
	if !strings.HasPrefix(j.Meta.Zone, "Asia/Shanghai (") {
		t.Errorf("got zone %q", j.Meta.Zone)
	}
}

func TestGPUTypesOfTasks(t *testing.T) {
	for _, test := range []struct {
		roles   []string
		want    string
		warning string
	}{
		{[]string{"1.0,100.0,P100", "1.0,,CPU"}, "P100", ""},
		{[]string{"1.0,100.0,V100M32", "1.0,100.0,V100M32"}, "V100-32", ""},
		{[]string{"1.0,100.0,P100", "1.0,100.0,T4"}, "", warnGPUTypes},
		{[]string{"1.0,100.0,MISC"}, "", warnGPUType},
		{[]string{"1.0,100.0,"}, "", ""},
	} {
		j, report, err := oneJob(t, Config{}, test.roles...)
		if err != nil || j.Rows[0].ReferenceGPU != test.want || test.warning != "" && report.Warnings[0].Reason != test.warning {
			t.Errorf("%v: got %+v, %v, warnings %v", test.roles, j, err, report.Warnings)
		}
	}
}

// Trap: utilisation can exceed 100.
func TestSensorsMayExceedAHundredPercent(t *testing.T) {
	const text = "j1,worker,w1,i1,m1,/dev/nvidia0,140.1,250.5,1.4,2.3,1.2,2.3,1,1,1,1\n" +
		"j1,worker,w2,i1,m1,/dev/nvidia0,140.1,16.0,1.4,2.3,,2.3,1,1,1,1\n" +
		"j1,ps,w3,i1,m1,,140.1,,1.4,2.3,,,1,1,1,1\n"
	var got []Sensor
	report, err := ReadSensors(strings.NewReader(text), "s.csv", func(s Sensor) { got = append(got, s) })
	if err != nil {
		t.Fatal(err)
	}
	want := []Sensor{{"j1", "worker", "w1", 250.5, 1.2}, {"j1", "worker", "w2", 16, 0}}
	if diff := cmp.Diff(want, got); diff != "" || report.Read != 3 || report.Kept != 2 {
		t.Errorf("report %+v, sensors (-want +got):\n%s", report, diff)
	}
	_, err = ReadSensors(strings.NewReader("j1,worker,w1,i1,m1,/dev/nvidia0,140.1,-1,1.4,2.3,1.2,2.3,1,1,1,1\n"), "s.csv", func(Sensor) {})
	if err := importertest.Refusal(err, datasets.RowError{Row: 1, Column: "gpu_wrk_util", Fix: "from 0"}); err != nil {
		t.Error(err)
	}
}

func TestSniff(t *testing.T) {
	for _, text := range []string{jobs, tasks, instances, strings.Join(kinds[taskTable].columns, ",")} {
		if !Sniff([]byte(text)) {
			t.Errorf("%.40q is not recognised", text)
		}
	}
	for _, text := range []string{"", "a,b,c,d,e,f\n", "j1,i1,u1,terminated,1,2\n", "j1,i1,u1,Terminated,soon,2\n", "7399a758eb02bae1a3621236,CPU,96,512,0\n"} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

func TestJoinRefusesBadInput(t *testing.T) {
	var many strings.Builder
	for i := range maxTasks + 1 {
		fmt.Fprintf(&many, "j1,w%d,1.0,Terminated,100.0,200.0,600.0,29.3,,\n", i)
	}
	for _, test := range []struct {
		name   string
		inputs []string
		want   datasets.RowError
	}{
		{"nothing", nil, datasets.RowError{Value: "job table is missing", Fix: "together"}},
		{"jobs alone", []string{jobs}, datasets.RowError{Value: "task table is missing", Fix: "together"}},
		{"tasks alone", []string{tasks, instances}, datasets.RowError{Value: "job table is missing", Fix: "together"}},
		{"jobs twice", []string{jobs, jobs, tasks}, datasets.RowError{Value: "a second job table beside t0.csv", Fix: "together"}},
		{"another file", []string{jobs, tasks, "a,b\n"}, datasets.RowError{Value: "none of the tables", Fix: "job_name,inst_id"}},
		{"empty", []string{jobs, ""}, datasets.RowError{Value: "0 bytes", Fix: "name the file"}},
		{"few values", []string{jobs, tasks + "j1,x\n"}, datasets.RowError{Row: 12, Fix: "want 10"}},
		{"bad start", []string{jobs + "j10,i,u,Failed,soon,1.0\n", tasks}, datasets.RowError{Row: 11, Column: "start_time", Fix: "seconds"}},
		{"no name", []string{jobs + ",i,u,Failed,1.0,1.0\n", tasks}, datasets.RowError{Row: 11, Column: "job_name", Fix: "name of the job"}},
		{"half an instance", []string{jobs, tasks + "j7,x,1.5,Failed,1.0,1.0,1,1,100.0,T4\n"}, datasets.RowError{Row: 12, Column: "inst_num", Fix: "whole number"}},
		{"negative GPUs", []string{jobs, tasks + "j7,x,1.0,Failed,1.0,1.0,1,1,-100.0,T4\n"}, datasets.RowError{Row: 12, Column: "plan_gpu", Fix: "from 0"}},
		{"too many GPUs", []string{jobs, tasks + "j7,x,1e6,Failed,1.0,1.0,1,1,200.0,T4\n"}, datasets.RowError{Row: 12, Column: "plan_gpu", Fix: "1000000 GPUs"}},
		{"too many tasks", []string{jobs, many.String()}, datasets.RowError{Row: maxTasks + 1, Column: "job_name", Fix: "1000 tasks"}},
		{"bad instance", []string{jobs, tasks, instances + "j1,worker,n1,w1,i1,Terminated,x,103650.0,m1\n"}, datasets.RowError{Row: 6, Column: "start_time", Fix: "seconds"}},
		{"nothing left", []string{"j5,i5,u2,Waiting,100040.0,\n", tasks}, datasets.RowError{Value: importers.DropNoStart, Fix: "check"}},
	} {
		_, _, err := Join(inputs(test.inputs...))
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestImportOfOneTableNamesTheOthers(t *testing.T) {
	for name, text := range map[string]string{"job": jobs, "task": tasks, "instance": instances} {
		if err := importertest.Refused(Format(), text, datasets.RowError{Value: name + " table alone", Fix: "together"}); err != nil {
			t.Error(err)
		}
	}
	if err := importertest.Refused(Format(), "a,b\n", datasets.RowError{Value: "none of the tables", Fix: "want job"}); err != nil {
		t.Error(err)
	}
}

// joined is the format with all tables but that of the jobs given.
func joined(others ...string) importers.Format {
	f := Format()
	f.Import = func(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
		return f.Join(append(inputs(others...), importers.Input{Name: name, Reader: r}))
	}
	return f
}

func TestFormatKeepsTheRules(t *testing.T) {
	if err := importertest.Check(joined(tasks, instances), []byte(jobs), t.TempDir()); err != nil {
		t.Error(err)
	}
}

// The other tables may be cut or damaged anywhere, too.
func TestDamagedTables(t *testing.T) {
	for at := range len(tasks) {
		flipped := []byte(tasks)
		flipped[at] ^= 1 << (at % 8)
		for _, text := range []string{tasks[:at], string(flipped)} {
			j, report, err := Join([]importers.Input{{Name: "trace under test", Reader: strings.NewReader(jobs)}, {Name: "trace under test", Reader: strings.NewReader(text)}})
			if err := importertest.Outcome(j, report.Report, err); err != nil {
				t.Fatalf("damaged at byte %d: %v", at, err)
			}
		}
	}
}

// Any jobs come out of the tables as they went in, and through the table's file.
func TestJoinKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var jobs, tasks, instances strings.Builder
		var want []datasets.Row
		withInstances := rapid.Bool().Draw(t, "instances")
		submit := rapid.IntRange(0, 57599).Draw(t, "first") // before the first midnight in Shanghai
		for i := range rapid.IntRange(1, 20).Draw(t, "jobs") {
			r := datasets.Row{
				ID: int64(i + 1), Submit: time.Duration(submit)*time.Second + 8*time.Hour, Tenant: rapid.StringMatching(`[a-f0-9]{0,8}`).Draw(t, "user"),
				Status: rapid.SampledFrom([]string{"Terminated", "Failed"}).Draw(t, "status"), ReferenceGPU: rapid.SampledFrom([]string{"T4", "P100", "V100"}).Draw(t, "type"),
			}
			first, last := math.MaxInt, 0
			for role := range rapid.IntRange(1, 3).Draw(t, "roles") {
				count, percent := rapid.IntRange(1, 9).Draw(t, "instances of the role"), 100*rapid.IntRange(1, 8).Draw(t, "GPUs of each")
				r.GPUs += int32(count * percent / 100)
				start := submit + rapid.IntRange(0, 1e5).Draw(t, "wait")
				end := start + rapid.IntRange(1, 1e6).Draw(t, "run")
				first, last = min(first, start), max(last, end)
				if withInstances { // whose times differ from the task's
					for n, at := range []int{start, end - 1} {
						fmt.Fprintf(&instances, "j%d,r%d,n%d,w%d,i%d,Terminated,%d.0,%d.0,m\n", i, role, n, n, i, at, at+1)
					}
					start, end = start+7, end+7
				}
				fmt.Fprintf(&tasks, "j%d,r%d,%d.0,Terminated,%d.0,%d.0,600.0,29.3,%d.0,%s\n", i, role, count, start, end, percent, r.ReferenceGPU)
			}
			r.Duration = time.Duration(last-first) * time.Second
			fmt.Fprintf(&jobs, "j%d,i%d,%s,%s,%d.0,%d.0\n", i, i, r.Tenant, r.Status, submit, last+100)
			want = append(want, r)
			submit += rapid.IntRange(0, 1e5).Draw(t, "gap")
		}
		texts := []string{tasks.String(), jobs.String()}
		if withInstances {
			texts = append(texts, instances.String())
		}
		j, report, err := Join(inputs(texts...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" || len(report.Warnings) > 0 {
			t.Fatalf("warnings %v, jobs (-want +got):\n%s", report.Warnings, diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzJoin(f *testing.F) {
	f.Add([]byte(jobs), []byte(tasks), []byte(instances), true)
	f.Add([]byte(jobs), importertest.Gzip([]byte(tasks)), []byte{}, false)
	f.Add([]byte("j,,,A,3153600000,\n"), []byte("j,,1,A,0,3153600000,,,100,\n"), []byte("j,,,,,A,,,\n"), true)
	f.Fuzz(func(t *testing.T, jobs, tasks, instances []byte, roundUp bool) {
		const name = "trace under test"
		in := []importers.Input{{Name: name, Reader: bytes.NewReader(jobs)}, {Name: name, Reader: bytes.NewReader(tasks)}}
		if len(instances) > 0 {
			in = append(in, importers.Input{Name: name, Reader: bytes.NewReader(instances)})
		}
		j, report, err := Config{RoundUp: roundUp}.Join(in)
		if err := importertest.Outcome(j, report.Report, err); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReadSensors(f *testing.F) {
	f.Add([]byte("j1,worker,w1,i1,m1,/dev/nvidia0,140.1,250.5,1.4,2.3,1.2,2.3,1,1,1,1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		kept := 0
		report, err := ReadSensors(bytes.NewReader(text), "t", func(s Sensor) {
			if !(s.GPUPercent >= 0) {
				t.Fatalf("got %+v", s)
			}
			kept++
		})
		if err == nil && report.Kept != kept {
			t.Fatalf("report %+v, %d sensors", report, kept)
		}
	})
}
