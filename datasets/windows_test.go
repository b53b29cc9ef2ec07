package datasets

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// jobsEvery returns n jobs of one GPU and the given work, one every gap.
func jobsEvery(n int, gap time.Duration, work float64) []env.Job {
	jobs := make([]env.Job, n)
	for i := range jobs {
		jobs[i] = env.Job{ID: int64(i + 1), Model: "small", Batch: 1, GPUs: 1, Work: work, Submit: time.Hour + time.Duration(i)*gap, Weight: 1}
	}
	return jobs
}

func TestMeasureLoadByHand(t *testing.T) {
	// small does 20 steps/s on one fast GPU: 10 s on the reference type. large
	// does 2·4 on four: 25 s × 4 GPUs.
	jobs := []env.Job{
		{ID: 1, Model: "small", Batch: 1, GPUs: 1, Work: 200, Weight: 1},
		{ID: 2, Model: "large", Batch: 1, GPUs: 4, Work: 200, Submit: 22 * time.Second, Weight: 1},
	}
	c := testCluster()
	got, err := MeasureLoad(jobs, &c, speeds())
	if err != nil {
		t.Fatal(err)
	}
	// Capacity: 4 fast and 8 slow at half the speed.
	want := Load{Service: 110, Span: 22 * time.Second, Capacity: 8, Offered: 110.0 / (22 * 8), TopShare: 100.0 / 110}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeasureLoadWithoutTheReferenceType(t *testing.T) {
	c := testCluster()
	f := onlySlow{speeds()}
	got, err := MeasureLoad(jobsEvery(2, time.Second, 10), &c, f)
	if err != nil {
		t.Fatal(err)
	}
	// On slow: 10 steps/s, so 1 s each; the slow type's speed stands in for the
	// fast one's: 4 + 8 GPUs.
	if got.Service != 2 || got.Capacity != 12 {
		t.Errorf("got %+v, want service 2 and capacity 12", got)
	}
}

// onlySlow fits nothing on the fast type.
type onlySlow struct{ fixedSpeeds }

func (o onlySlow) Throughput(model string, batch int, gpuType string, gpus, nodes int) (float64, error) {
	if gpuType == "fast" {
		return o.fixedSpeeds.Throughput("single", batch, gpuType, 2, nodes) // does not fit
	}
	return o.fixedSpeeds.Throughput(model, batch, gpuType, gpus, nodes)
}

func TestWindowsStretchToTheLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := jobsEvery(rapid.IntRange(2, 50).Draw(t, "n"), time.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "gap")), rapid.Float64Range(1, 1e6).Draw(t, "work"))
		load := rapid.Float64Range(0.1, 4).Draw(t, "load")
		w, err := NewWindows(jobs, len(jobs), load, testCluster(), speeds())
		if err != nil {
			t.Fatal(err)
		}
		whole, err := w.Window(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		c := testCluster()
		got, err := MeasureLoad(whole, &c, speeds())
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Offered-load) > 1e-6*load { // submissions are whole nanoseconds
			t.Fatalf("the stretched table has load %v, want %v", got.Offered, load)
		}
	})
}

// However it is stretched, a window is a valid workload: from time 0, ordered,
// distinct IDs, the same jobs with the same slack.
func TestWindowsAreValidWorkloads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "n")
		jobs := make([]env.Job, n)
		at := time.Duration(0)
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(0, 1000), n, n, rapid.ID).Draw(t, "ids")
		for i := range jobs {
			at += time.Duration(rapid.Int64Range(0, 3).Draw(t, "gap"))
			jobs[i] = env.Job{ID: ids[i], Model: "small", Batch: 1, GPUs: 1, Work: 1e9, Submit: at, Weight: 1}
			if i%3 == 0 {
				jobs[i].Deadline = at + time.Duration(1+i)
				jobs[i].Cancel = at + time.Duration(2+i)
			}
		}
		jobs[n-1].Submit += 2
		if jobs[n-1].Deadline != 0 {
			jobs[n-1].Deadline += 2
			jobs[n-1].Cancel += 2
		}
		slices.SortFunc(jobs, compareJobs)
		w, err := NewWindows(jobs, rapid.IntRange(1, n).Draw(t, "size"), rapid.Float64Range(1e6, 1e13).Draw(t, "load"), testCluster(), speeds())
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.Jobs(rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkJobs(got); err != nil {
			t.Fatal(err)
		}
		if len(got) != w.Size() || got[0].Submit != 0 {
			t.Fatalf("got %d jobs from %v, want %d from 0", len(got), got[0].Submit, w.Size())
		}
		for i := range got {
			k := slices.IndexFunc(jobs, func(j env.Job) bool { return j.ID == got[i].ID })
			if c := jobs[k].Cancel; (c == 0) != (got[i].Cancel == 0) || c != 0 && c-jobs[k].Submit != got[i].Cancel-got[i].Submit {
				t.Fatalf("job %d is withdrawn %v after its submission, want %v", got[i].ID, got[i].Cancel-got[i].Submit, c-jobs[k].Submit)
			}
			if d := jobs[k].Deadline; (d == 0) != (got[i].Deadline == 0) || d != 0 && d-jobs[k].Submit != got[i].Deadline-got[i].Submit {
				t.Fatalf("job %+v became %+v: another slack", jobs[k], got[i])
			}
		}
	})
}

func TestWindowsBySeed(t *testing.T) {
	jobs := jobsEvery(100, time.Second, 10)
	w, err := NewWindows(jobs, 10, 1, testCluster(), speeds())
	if err != nil {
		t.Fatal(err)
	}
	starts := make(map[int64]bool)
	for seed := range uint64(2000) {
		a, err := w.Jobs(seed)
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.Jobs(seed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("seed %d gave two windows:\n%s", seed, diff)
		}
		starts[a[0].ID] = true
		a[0].ID = -1 // the caller owns it
	}
	if len(starts) != 91 {
		t.Errorf("2000 seeds gave %d starts, want all 91", len(starts))
	}
	if jobs[0].ID != 1 {
		t.Error("a caller's change reached the table")
	}
}

func TestEvenlySpacedWindowsShareNoJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "n")
		w, err := NewWindows(jobsEvery(n, time.Second, 10), rapid.IntRange(1, n).Draw(t, "size"), 0, testCluster(), speeds())
		if err != nil {
			t.Fatal(err)
		}
		k := rapid.IntRange(1, w.Disjoint()).Draw(t, "k")
		seen := make(map[int64]bool)
		for i := range k {
			jobs, err := w.Window(i, k)
			if err != nil {
				t.Fatal(err)
			}
			if len(jobs) != w.Size() {
				t.Fatalf("window %d of %d has %d jobs, want %d", i, k, len(jobs), w.Size())
			}
			for _, j := range jobs {
				if seen[j.ID] {
					t.Fatalf("job %d is in two of %d windows", j.ID, k)
				}
				seen[j.ID] = true
			}
		}
		if _, err := w.Window(0, w.Disjoint()+1); err == nil {
			t.Fatal("one window too many was given")
		}
	})
}

func TestWindowsRefuseBadInput(t *testing.T) {
	jobs := jobsEvery(10, time.Second, 10)
	swapped := slices.Clone(jobs)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	twice := slices.Clone(jobs)
	twice[5].ID = 1
	atOnce := jobsEvery(10, 0, 10)
	tests := map[string]struct {
		jobs []env.Job
		size int
		load float64
	}{
		"no jobs": {nil, 1, 1}, "size 0": {jobs, 0, 1}, "size 11": {jobs, 11, 1}, "negative load": {jobs, 5, -1}, "NaN load": {jobs, 5, math.NaN()},
		"infinite load": {jobs, 5, math.Inf(1)}, "out of order": {swapped, 5, 1}, "id twice": {twice, 5, 1}, "all at once": {atOnce, 5, 1}, "tiny load": {jobs, 5, 1e-12},
	}
	for name, test := range tests {
		if _, err := NewWindows(test.jobs, test.size, test.load, testCluster(), speeds()); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, err := NewWindows(atOnce, 5, 0, testCluster(), speeds()); err != nil {
		t.Errorf("all at once with load 0: %v", err)
	}
}

func TestWindowLoadsAverageToTheTables(t *testing.T) {
	w, err := NewWindows(jobsEvery(1000, time.Second, 10), 100, 0.8, testCluster(), speeds())
	if err != nil {
		t.Fatal(err)
	}
	loads, err := w.Loads(10)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range loads {
		if math.Abs(l-0.8) > 0.01 { // 100 jobs have 99 gaps
			t.Errorf("window %d has load %v, want 0.8", i, l)
		}
	}
}
