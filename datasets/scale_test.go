package datasets

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

func TestScaleStretchesTimesBetweenSubmissions(t *testing.T) {
	j := sliceable()
	got, err := j.Scale(0.5)
	if err != nil {
		t.Fatal(err)
	}
	var submits []time.Duration
	for i := range got.Rows {
		submits = append(submits, got.Rows[i].Submit)
	}
	if diff := cmp.Diff([]time.Duration{60 * time.Minute, 90 * time.Minute, 120 * time.Minute, 150 * time.Minute}, submits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if slack := got.Rows[1].Deadline - got.Rows[1].Submit; slack != 3*time.Hour {
		t.Errorf("a job has %v to its deadline, want 3h as before", slack)
	}
	if diff := cmp.Diff([]string{"before", "multiplied the times between submissions by 0.5"}, got.Meta.Filters); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sliceable(), j); diff != "" {
		t.Errorf("Scale changed its table:\n%s", diff)
	}
}

// A scaled table is valid, and scaling back gives the times back to half a
// nanosecond times the factor.
func TestScaleAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := tables(30).Draw(t, "table")
		for i := range j.Rows {
			j.Rows[i].Submit /= 1 << 20 // within 53 bits, so that float64 is exact
			if j.Rows[i].Deadline != 0 {
				j.Rows[i].Deadline = j.Rows[i].Submit + 1
			}
		}
		j.Sort()
		factor := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		scaled, err := j.Scale(factor)
		if err != nil {
			t.Fatal(err)
		}
		if err := scaled.Validate(); err != nil {
			t.Fatal(err)
		}
		submit := make(map[int64]time.Duration)
		for _, r := range j.Rows {
			submit[r.ID] = r.Submit
		}
		for _, r := range scaled.Rows {
			back := float64(r.Submit-j.Rows[0].Submit) / factor
			if want := float64(submit[r.ID] - j.Rows[0].Submit); math.Abs(back-want) > 0.5/factor+1e-6*want {
				t.Fatalf("job %d: scaled to %v by %v, was %v", r.ID, r.Submit, factor, submit[r.ID])
			}
		}
	})
}

func TestScaleToLoadReachesIt(t *testing.T) {
	performance, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=4,K80=4", 4)
	if err != nil {
		t.Fatal(err)
	}
	j := &Jobs{Name: "t"}
	for i := range 200 {
		j.Rows = append(j.Rows, Row{ID: int64(i), Submit: time.Duration(i*i) * time.Second, GPUs: int32(1 + i%4), Duration: time.Duration(1+i%13) * time.Minute, Model: []string{"", "LM"}[i%2], Batch: int32(20 * (i % 2))})
	}
	cfg := ResolveConfig{Cluster: cluster, Models: []ModelChoice{{Model: "ResNet-18", Batch: 32}, {Model: "LM", Batch: 20}}}
	for _, want := range []float64{0.25, 1, 7.5} {
		scaled, before, err := j.ScaleToLoad(want, performance, cfg)
		if err != nil {
			t.Fatal(err)
		}
		after, report, err := scaled.OfferedLoad(performance, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(after.Offered-want) > 1e-9*want || report.Kept != len(j.Rows) || before.Offered == after.Offered {
			t.Errorf("load %v (of %d jobs) became %v, want %v", before.Offered, report.Kept, after.Offered, want)
		}
		if f := scaled.Meta.Filters; len(f) != 1 || !strings.Contains(f[0], "of V100=4,K80=4") {
			t.Errorf("got filters %q", f)
		}
	}
}

func TestScaleRefuses(t *testing.T) {
	for name, factor := range map[string]float64{"zero": 0, "negative": -1, "NaN": math.NaN(), "infinite": math.Inf(1), "beyond 100 years": 1e9} {
		if _, err := sliceable().Scale(factor); err == nil || !strings.Contains(err.Error(), "factor") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	performance, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=1", 1)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ResolveConfig{Cluster: cluster, Models: []ModelChoice{{Model: "LM", Batch: 20}}}
	once := &Jobs{Name: "t", Rows: []Row{{ID: 1, GPUs: 1, Duration: time.Hour}}}
	large := &Jobs{Name: "t", Rows: []Row{{ID: 1, GPUs: 64, Duration: time.Hour}}}
	for name, test := range map[string]struct {
		j    *Jobs
		load float64
		want string
	}{
		"no load":     {once, 0, "load is 0"},
		"all at once": {once, 1, "at once"},
		"none fits":   {large, 1, "no job can run"},
	} {
		if _, _, err := test.j.ScaleToLoad(test.load, performance, cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q", name, err, test.want)
		}
	}
	if _, _, err := once.ScaleToLoad(1, performance, ResolveConfig{Cluster: env.Cluster{}}); err == nil || errors.Is(err, perf.ErrNoStrategy) {
		t.Errorf("no cluster: got error %v", err)
	}
}
