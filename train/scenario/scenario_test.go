package scenario

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
	"github.com/yardmaster/yardmaster/env"
)

// writeTrace writes n generated jobs and returns the file.
func writeTrace(t testing.TB, n int) string {
	t.Helper()
	jobs, err := synth.Generate(synth.Config{Jobs: n, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	if err := datasets.Write(path, jobs); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadCutsTheTraceByTime(t *testing.T) {
	l, err := Load(Scenario{Trace: writeTrace(t, 1000), Jobs: 50})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]Part{}
	last := int64(-1)
	for p := Train; p <= Test; p++ {
		w := l.parts[p]
		for i := range w.Disjoint() {
			jobs, err := w.Window(i, w.Disjoint())
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range jobs {
				if other, twice := seen[j.ID]; twice {
					t.Fatalf("job %d is in the %v and the %v part", j.ID, other, p)
				}
				if j.ID < last {
					t.Fatalf("job %d of the %v part was submitted before job %d", j.ID, p, last)
				}
				seen[j.ID], last = p, j.ID
			}
		}
	}
	if len(seen) != 1000 {
		t.Errorf("the parts hold %d jobs, want all 1000", len(seen))
	}
	train, test := l.parts[Train].Factor(), l.parts[Test].Factor()
	if d := train/test - 1; d > 1e-9 || d < -1e-9 {
		t.Errorf("arrivals are stretched by %v in training and %v in testing, want one factor", train, test)
	}
}

func TestHeldOutEpisodesAreWholeDisjointAndRepeatable(t *testing.T) {
	s := Scenario{Trace: writeTrace(t, 1000), Jobs: 30}
	l, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	seeds, err := l.Seeds(Test, 5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for _, seed := range seeds {
		jobs, err := l.Sim(Test).Workload(seed)
		if err != nil {
			t.Fatal(err)
		}
		same, err := again.Sim(Test).Workload(seed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(jobs, same); diff != "" {
			t.Errorf("seed %d gives other jobs the second time:\n%s", seed, diff)
		}
		for _, j := range jobs {
			if seen[j.ID] {
				t.Errorf("job %d is in two episodes", j.ID)
			}
			seen[j.ID] = true
		}
	}
	if len(seen) != 150 {
		t.Errorf("five episodes hold %d jobs, want 150", len(seen))
	}
	if _, err := l.Seeds(Test, 6); err == nil || !strings.Contains(err.Error(), "1 to 5") {
		t.Errorf("six episodes of a part for five: got %v", err)
	}
	if _, err := l.Sim(Test).Workload(5); err == nil {
		t.Error("episode 5 of 0 to 4: got no error")
	}
}

// A trace whose jobs arrive at once, as those for makespans, has no load to reach: its
// episodes are as they are.
func TestJobsThatArriveAtOnce(t *testing.T) {
	trace := writeTrace(t, 60)
	table, err := datasets.Read(trace)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		table.Rows[i].Submit = time.Hour
	}
	table.Sort()
	if err := datasets.Write(trace, table); err != nil {
		t.Fatal(err)
	}
	l, err := Load(Scenario{Trace: trace, Jobs: 5, Load: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Part{Train, Validation, Test} {
		jobs, err := l.Sim(p).Workload(0)
		if err != nil || len(jobs) != 5 {
			t.Fatalf("%v: got %d jobs, %v, want 5", p, len(jobs), err)
		}
		for i := range jobs {
			if jobs[i].Submit != 0 {
				t.Errorf("%v: job %d is submitted at %v, want 0", p, jobs[i].ID, jobs[i].Submit)
			}
		}
	}
}

func TestLoadReportsEveryBadField(t *testing.T) {
	_, err := Load(Scenario{GPUsPerNode: -1, Load: -1, Jobs: 1, Round: 1, EstimateSigma: -1, Split: [3]float64{1, 1, 0}})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, field := range []string{"trace", "gpus_per_node", "load", "jobs", "round", "estimate_sigma", "split"} {
		if !strings.Contains(err.Error(), "scenario: "+field+" is") {
			t.Errorf("the error does not name %s:\n%v", field, err)
		}
	}
}

func TestLoadNamesWhatIsMissing(t *testing.T) {
	trace := writeTrace(t, 100)
	tests := map[string]struct {
		s    Scenario
		want string
	}{
		"unknown GPU":     {Scenario{Trace: trace, Cluster: "V1000=3", Jobs: 10}, "V1000"},
		"no such file":    {Scenario{Trace: "nowhere.parquet"}, "nowhere.parquet"},
		"trace too short": {Scenario{Trace: trace, Jobs: 30}, "validation part"},
	}
	for name, tt := range tests {
		if _, err := Load(tt.s); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
	}
}

func TestSpreadIsAPermutation(t *testing.T) {
	for n := 1; n < 60; n++ {
		seen := make([]bool, n)
		for i := range n {
			seen[spread(i, n)] = true
		}
		for i, ok := range seen {
			if !ok {
				t.Errorf("n = %d: nothing maps to %d", n, i)
			}
		}
	}
}

func TestKnowledgeReachesTheSimulator(t *testing.T) {
	l, err := Load(Scenario{Trace: writeTrace(t, 200), Jobs: 20, Knowledge: env.None})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Sim(Train).Knowledge; got != env.None {
		t.Errorf("got %v, want none", got)
	}
}
