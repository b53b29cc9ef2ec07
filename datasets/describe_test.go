package datasets

import (
	"encoding/json"
	goflag "flag" // a function of this package has its name
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env/perf"
)

var rewrite = goflag.Bool("rewrite", false, "write what the tests get to the files in testdata")

// described is a table of two weeks with tenants, models, more sizes than a
// histogram has lines, a name that would move a cursor, and nulls.
func described() *Jobs {
	j := &Jobs{Name: "jobs.parquet", Meta: Meta{
		Source: "made up", Licence: "CC0-1.0", RowsIn: 420, Filters: []string{"dropped 20 rows: made up", "and more"},
		Epoch: time.Date(2020, 3, 1, 0, 0, 0, 0, time.UTC), Zone: "Europe/Berlin (assumed)",
	}}
	for i := range 400 {
		r := Row{
			ID: int64(i), Submit: time.Duration(i*i*8) * time.Second, GPUs: int32(1 + i%20*(i%3)), Tenant: fmt.Sprintf("team %d", i%17*(i%2)),
			Duration: time.Duration(1+i*i*i%999_983) * time.Second, Status: []string{"done", "failed\x1b[31m", ""}[i%3],
		}
		if i%5 == 0 {
			r.Model, r.Steps = "LM", float64(1000*i+1)
		}
		if i%50 == 0 {
			r.Duration, r.Model, r.Steps, r.Weight, r.Deadline = 0, "ResNet-18", 100, 2, r.Submit+1
		}
		j.Rows = append(j.Rows, r)
	}
	return j
}

// To change the text: go test ./datasets -run Golden -rewrite, and read the diff.
func TestDescribeGolden(t *testing.T) {
	const path = "testdata/describe.txt"
	j := described()
	d := j.Describe()
	performance, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=64,K80=64", 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.AddLoad(j, performance, ResolveConfig{Cluster: cluster, Models: []ModelChoice{{Model: "LM", Batch: 20}, {Model: "ResNet-18", Batch: 32}}}); err != nil {
		t.Fatal(err)
	}
	d.Load.Offered = 0.5 // follows the performance model, which is not this test's
	got := d.String()
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(got) {
		if n := len([]rune(line)); n > 110 || strings.ContainsRune(line, '\x1b') {
			t.Errorf("a line of %d columns, or one that moves the cursor: %q", n, line)
		}
	}
}

func TestDescribe(t *testing.T) {
	d := example().Describe()
	got := fmt.Sprintln(d.Jobs, d.NoModel, d.NoDuration, d.WithWeight, d.WithDeadline, d.First, d.Last, d.Sizes[3].GPUs, d.Sizes[0].GPUHours, d.Duration.Max, d.Duration.P50, d.Steps.N)
	want := "4 1 1 1 1 2017-10-01T00:00:00-07:00 2017-10-01T00:01:00-07:00 1000000 1 3600 60 2\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	groups := []Group{{Name: "LM", Jobs: 2, GPUHours: 8. / 60, MeanGPUs: 5, MedianS: 60}, {Name: "ResNet-18", Jobs: 1, GPUHours: 1e6 * 1e-9 / 3600, MeanGPUs: 1e6, MedianS: 1e-9}}
	if diff := cmp.Diff(groups, d.Models, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(a+b) })); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if empty := (&Jobs{}).Describe(); !strings.Contains(empty.String(), "table: 0 jobs\n") {
		t.Errorf("an empty table is described as\n%s", empty)
	}
	one := (&Jobs{Rows: []Row{{ID: 1, GPUs: 1, Duration: 1}}}).Describe()
	if text := one.String(); !strings.Contains(text, "table: 1 jobs in 0s") || strings.Contains(text, "NaN") {
		t.Errorf("one job is described as\n%s", text)
	}
}

// A model that nobody knows leaves the demand, and says what is unknown.
func TestDescribeLoadOfAnUnknownModel(t *testing.T) {
	performance, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=2", 2)
	if err != nil {
		t.Fatal(err)
	}
	j := &Jobs{Name: "t", Rows: []Row{{ID: 1, GPUs: 1, Duration: time.Hour, Model: "Nonesuch", Batch: 1}, {ID: 2, Submit: time.Hour, GPUs: 1, Duration: time.Hour}}}
	d := j.Describe()
	if err := d.AddLoad(j, performance, ResolveConfig{Cluster: cluster}); err != nil {
		t.Fatal(err)
	}
	if text := d.String(); d.Load.Demand != 1 || !strings.Contains(text, "demand     1.000") || !strings.Contains(text, `offered    unknown: datasets: t: row 1: column model is "Nonesuch"`) {
		t.Errorf("got load %+v in\n%s", d.Load, text)
	}
	if err := d.AddLoad(j, performance, ResolveConfig{}); err == nil {
		t.Error("a load on no cluster was no error")
	}
}

func TestDescribeCountsHoursInTheTablesZone(t *testing.T) {
	j := &Jobs{Meta: Meta{Epoch: time.Date(2017, 11, 5, 0, 0, 0, 0, time.FixedZone("", -7*3600)), Zone: "America/Los_Angeles (assumed)"}}
	// 30 hours after midnight of the day on which the clocks go back it is 5:00.
	j.Rows = []Row{{ID: 1, GPUs: 1, Duration: 1}, {ID: 2, Submit: 30 * time.Hour, GPUs: 1, Duration: 1}}
	d := j.Describe()
	if d.ByHour[0] != 1 || d.ByHour[5] != 1 || d.ByWeekday[time.Sunday] != 1 || d.ByWeekday[time.Monday] != 1 {
		t.Errorf("got arrivals by hour %v, by weekday %v, want one at 0 on Sunday and one at 5 on Monday", d.ByHour, d.ByWeekday)
	}
	// That Sunday has 25 hours, two of them from 1:00; Monday counts 5 of 24.
	if want := [2]float64{1 / (25. / 24), 1 / (5. / 24)}; math.Abs(d.WeekdayRate[0]-want[0]) > 1e-12 || math.Abs(d.WeekdayRate[1]-want[1]) > 1e-12 {
		t.Errorf("got %v jobs per weekday, want %v", d.WeekdayRate[:2], want)
	}
	if d.HourRate[0] != 0.5 || d.HourRate[5] != 1 {
		t.Errorf("got %v jobs per hour, want 1/2 at 0 and 1 at 5", d.HourRate)
	}
}

// Every count sums to the number of jobs, GPU-hours to their sum, and rates
// times exposure to the counts.
func TestDescribeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := tables(30).Draw(t, "table")
		for i := range j.Rows {
			j.Rows[i].Submit /= 1000 // within 36 days
			if j.Rows[i].Deadline != 0 {
				j.Rows[i].Deadline = j.Rows[i].Submit + 1
			}
		}
		j.Sort()
		d := j.Describe()
		byHour, timeline, sizes, hours, binned := 0, 0, 0, 0.0, d.NoDuration
		for _, n := range d.ByHour {
			byHour += n
		}
		for _, n := range d.Timeline {
			timeline += n
		}
		for _, s := range d.Sizes {
			sizes, hours = sizes+s.Jobs, hours+s.GPUHours
		}
		for _, b := range d.Durations {
			binned += b.Jobs
		}
		tenants := d.NoTenant
		for _, g := range d.Tenants {
			tenants += g.Jobs
		}
		for what, got := range map[string]int{"by hour": byHour, "timeline": timeline, "sizes": sizes, "durations": binned, "tenants": tenants} {
			if got != len(j.Rows) {
				t.Errorf("%s: %d jobs, want %d", what, got, len(j.Rows))
			}
		}
		if math.Abs(hours-d.GPUHours) > 1e-9*hours {
			t.Errorf("sizes have %v GPU-hours, want %v", hours, d.GPUHours)
		}
		if text, err := json.Marshal(d); err != nil || strings.Contains(d.String(), "NaN") {
			t.Errorf("got %s, %v", text, err)
		}
	})
}

func TestSizesBeyondAHistogramArePutInPowersOfTwo(t *testing.T) {
	var sizes []Size
	for gpus := int32(1); gpus <= 40; gpus++ {
		sizes = append(sizes, Size{gpus, 1, 2})
	}
	want := []barOf{{"1", 1, 2}, {"2", 1, 2}, {"3–4", 2, 4}, {"5–8", 4, 8}, {"9–16", 8, 16}, {"17–32", 16, 32}, {"33–64", 8, 16}}
	if diff := cmp.Diff(want, sizeBars(sizes), cmp.AllowUnexported(barOf{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNumbersAreShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "1", 1.3041: "1.304", 24.188: "24.19", 674.53: "674.5", 973093.7: "973,094", 1e12: "1e+12", 0.0001: "0.0001"} {
		if got := short(x); got != want {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0s", 0.25: "250ms", 1: "1s", 59.96: "60s", 90: "1.5m", 86400 * 3: "3d"} {
		if got := shortSeconds(x); got != want {
			t.Errorf("%v s: got %s, want %s", x, got, want)
		}
	}
	if got := bar(1, 1000, 10) + "|" + bar(0, 1, 10) + "|" + bar(5, 10, 2) + "|" + bar(1, 2, 3); got != "▏||█|█▌" {
		t.Errorf("got bars %s", got)
	}
	for n, want := range map[int]string{0: "0", -1234: "-1,234", 999: "999", 1000: "1,000", 1234567: "1,234,567", -123456: "-123,456"} {
		if got := thousands(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPercentilesAgainstSortedRanks(t *testing.T) {
	x := []float64{5, 1, 4, 2, 3}
	got := percentiles(slices.Clone(x))
	want := Percentiles{N: 5, Min: 1, P10: 1.4, P50: 3, P90: 4.6, P99: 4.96, Max: 5, Mean: 3}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
