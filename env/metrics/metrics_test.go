package metrics

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// example has three jobs on two GPUs, small enough to work out by hand.
func example() Schedule {
	return Schedule{
		Jobs: []Job{
			{ID: 1, Submit: 0, Start: 0, Finish: 100 * time.Second, GPUs: 1, Service: 100, Isolated: 200 * time.Second, Ideal: 100 * time.Second, Weight: 1},
			{ID: 2, Submit: 10 * time.Second, Start: 100 * time.Second, Finish: 210 * time.Second, GPUs: 2, Service: 200, Restarts: 1, Isolated: 100 * time.Second, Ideal: 50 * time.Second, Weight: 3, Deadline: 200 * time.Second},
			{ID: 5, Submit: 20 * time.Second, Start: 20 * time.Second, Finish: 60 * time.Second, GPUs: 1, Service: 40, Restarts: 2, Isolated: 80 * time.Second, Ideal: 40 * time.Second, Weight: 1, Deadline: 60 * time.Second},
		},
		GPUs: 2, Start: 0, End: 210 * time.Second,
		BusyGPUSeconds: 340, Cost: 1.25, Rounds: 4,
	}
}

func TestSummarizeByHand(t *testing.T) {
	s := example()
	got, err := s.Summarize()
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{
		Jobs:        3,
		MeanJCT:     (100. + 200 + 40) / 3,
		MedianJCT:   100,
		P99JCT:      100 + 0.98*100, // h = 2·0.99 = 1.98, between 100 and 200
		WeightedJCT: (100. + 3*200 + 40) / 5,
		MeanDelay:   (0. + 150 + 0) / 3,
		Makespan:    210,
		MeanRho:     (0.5 + 2 + 0.5) / 3,
		MaxRho:      2,
		Utilization: 340. / 420,
		Cost:        1.25,
		Restarts:    3,
		Late:        1,
		Tardiness:   (10. + 0) / 2,

		WeightedTardiness: (3 * 10.) / (3 + 1),
		MissedWeight:      3,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// Figures of groups are those of their jobs, and every job is in one.
func TestGroupsByHand(t *testing.T) {
	s := example()
	got := s.Groups(func(id int64) string { return map[int64]string{1: "Pass", 5: "Pass"}[id] })
	want := []Group{
		{Name: "", Jobs: 1, MeanJCT: 200, MedianJCT: 200, P99JCT: 200, MeanDelay: 150, GPUHours: 200. / 3600},
		{Name: "Pass", Jobs: 2, MeanJCT: 70, MedianJCT: 70, P99JCT: 40 + 0.99*60, MeanDelay: 0, GPUHours: 140. / 3600},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	whole, err := s.Summarize()
	if err != nil {
		t.Fatal(err)
	}
	if all := s.Groups(func(int64) string { return "all" }); len(all) != 1 || all[0].Jobs != whole.Jobs ||
		math.Abs(all[0].MeanJCT-whole.MeanJCT) > 1e-9 || all[0].MedianJCT != whole.MedianJCT || all[0].P99JCT != whole.P99JCT {
		t.Errorf("one group of all jobs is %+v, the summary %+v", all, whole)
	}
}

// TestSummarizeOutcomes: a job that failed counts like one that finished, one
// that was withdrawn, here before it started, has no ρ.
func TestSummarizeOutcomes(t *testing.T) {
	s := example()
	s.Jobs[0].Outcome, s.Jobs[0].Interruptions = Failed, 2
	s.Jobs[2].Outcome, s.Jobs[2].Start, s.Jobs[2].Service = Cancelled, s.Jobs[2].Finish, 0
	got, err := s.Summarize()
	if err != nil {
		t.Fatal(err)
	}
	if got.Jobs != 3 || got.Failed != 1 || got.Cancelled != 1 || got.Interruptions != 2 {
		t.Errorf("got %d jobs, %d failed, %d cancelled, %d interruptions, want 3, 1, 1, 2", got.Jobs, got.Failed, got.Cancelled, got.Interruptions)
	}
	if want := (0.5 + 2) / 2; got.MeanRho != want || got.MaxRho != 2 {
		t.Errorf("mean and largest ρ are %v and %v, want %v and 2", got.MeanRho, got.MaxRho, want)
	}
	if want := (100. + 200 + 40) / 3; math.Abs(got.MeanJCT-want) > 1e-9 {
		t.Errorf("mean JCT is %v, want %v", got.MeanJCT, want)
	}
	s.Jobs[2].Outcome = Completed
	if _, err := s.Summarize(); err == nil {
		t.Error("a job that finished without having run: got no error")
	}
}

func TestQuantile(t *testing.T) {
	four := []float64{10, 20, 30, 40}
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{four, 0, 10},
		{four, 1, 40},
		{four, 0.5, 25},
		{four, 0.25, 17.5},
		{four, 0.99, 39.7},
		{[]float64{7}, 0.99, 7},
		{[]float64{1, 2, 3}, 0.5, 2},
	} {
		if got := Quantile(c.values, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.values, c.p, got, c.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile of nothing = %v, want NaN", got)
	}
}

func TestQuantileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 50).Draw(t, "values")
		slices.Sort(v)
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		q := rapid.Float64Range(p, 1).Draw(t, "q")
		low, high := Quantile(v, p), Quantile(v, q)
		if low < v[0] || high > v[len(v)-1]+1e-9 || low > high+1e-9 {
			t.Errorf("quantiles %v at %v and %v at %v of values in %v to %v", low, p, high, q, v[0], v[len(v)-1])
		}
	})
}

// TestTimeScale checks that stretching time by 3 stretches every time by 3 and
// leaves every ratio as it was.
func TestTimeScale(t *testing.T) {
	a, b := example(), example()
	for i := range b.Jobs {
		j := &b.Jobs[i]
		for _, d := range []*time.Duration{&j.Submit, &j.Start, &j.Finish, &j.Isolated, &j.Ideal, &j.Deadline} {
			*d *= 3
		}
	}
	b.End *= 3
	b.BusyGPUSeconds *= 3
	sa, errA := a.Summarize()
	sb, errB := b.Summarize()
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*float64{&sa.MeanJCT, &sa.MedianJCT, &sa.P99JCT, &sa.WeightedJCT, &sa.MeanDelay, &sa.Makespan, &sa.Tardiness, &sa.WeightedTardiness} {
		*x *= 3
	}
	if diff := cmp.Diff(sa, sb, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("stretched (-want +got):\n%s", diff)
	}
}

func TestSummarizeRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Schedule)
		want  string
	}{
		{"no jobs", func(s *Schedule) { s.Jobs = nil }, "no finished jobs"},
		{"order", func(s *Schedule) { s.Jobs[1].ID = 1 }, "ascending IDs"},
		{"finish before submission", func(s *Schedule) { s.Jobs[0].Finish = -1 }, "job 1: submit 0s"},
		{"isolated", func(s *Schedule) { s.Jobs[2].Isolated = 0 }, "job 5: isolated 0s"},
		{"weight", func(s *Schedule) { s.Jobs[2].Weight = math.NaN() }, "weight NaN"},
		{"service", func(s *Schedule) { s.Jobs[2].Service = math.Inf(1) }, "service +Inf"},
		{"capacity", func(s *Schedule) { s.GPUs = 0 }, "0 GPUs"},
		{"span", func(s *Schedule) { s.End = s.Start }, "end after start"},
		{"busy", func(s *Schedule) { s.BusyGPUSeconds = math.NaN() }, "NaN busy"},
	} {
		s := example()
		c.spoil(&s)
		_, err := s.Summarize()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := (&Schedule{}).Summarize(); !errors.Is(err, ErrNoJobs) {
		t.Errorf("empty schedule: got %v, want ErrNoJobs", err)
	}
}
