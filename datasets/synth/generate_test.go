package synth

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/perf"
)

func generate(t *testing.T, cfg Config) *datasets.Jobs {
	t.Helper()
	j, err := Generate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// ksDistance is the Kolmogorov–Smirnov distance of a sample from a
// distribution function.
func ksDistance(sample []float64, cdf func(float64) float64) float64 {
	x := slices.Sorted(slices.Values(sample))
	n, d := float64(len(x)), 0.0
	for i, v := range x {
		f := cdf(v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// ksLimit is the distance that a true sample of n exceeds with probability
// about 1e-6 (Smirnov's tail: 2·exp(−2nd²)). The seeds are fixed: a test that
// passes once passes always.
func ksLimit(n int) float64 { return math.Sqrt(math.Log(2e6) / 2 / float64(n)) }

// chiSquareP is the probability of a chi-square statistic at least as large.
func chiSquareP(observed []int, expected []float64) float64 {
	x := 0.0
	for i, o := range observed {
		d := float64(o) - expected[i]
		x += d * d / expected[i]
	}
	return distuv.ChiSquared{K: float64(len(observed) - 1)}.Survival(x)
}

const leastP = 1e-6

func TestGavelDurations(t *testing.T) {
	// Written out from the rule, not from the code: 60·10^x seconds.
	rule := func(s float64) float64 {
		x := math.Log10(s / 60)
		return 0.8*min(1, max(0, (x-1.5)/1.5)) + 0.2*min(1, max(0, x-3))
	}
	for seed := range uint64(3) {
		j := generate(t, Config{Jobs: 20_000, Seed: seed})
		var durations []float64
		short := 0
		for _, r := range j.Rows {
			s := r.Duration.Seconds()
			durations = append(durations, s)
			if s < 60_000 {
				short++
			}
		}
		if d := ksDistance(durations, rule); d > ksLimit(len(durations)) {
			t.Errorf("seed %d: KS distance %v, want at most %v", seed, d, ksLimit(len(durations)))
		}
		if p := chiSquareP([]int{short, len(durations) - short}, []float64{16_000, 4000}); p < leastP {
			t.Errorf("seed %d: %d of 20000 durations under 1000 min, want about 16000", seed, short)
		}
		if lo, hi := slices.Min(durations), slices.Max(durations); lo < 60*math.Pow(10, 1.5)-1e-6 || hi > 60*1e4 {
			t.Errorf("seed %d: durations from %v to %v s, want 1897 to 600000", seed, lo, hi)
		}
	}
}

func TestGavelSizesAndTypes(t *testing.T) {
	sizes := []int32{1, 2, 4, 8}
	share := []float64{0.70, 0.10, 0.15, 0.05}
	for seed := range uint64(3) {
		j := generate(t, Config{Jobs: 20_000, Seed: seed})
		counts := make([]int, len(sizes))
		single := make(map[datasets.ModelChoice]int)
		multi := make(map[datasets.ModelChoice]int)
		for _, r := range j.Rows {
			k := slices.Index(sizes, r.GPUs)
			if k < 0 {
				t.Fatalf("seed %d: a job of %d GPUs", seed, r.GPUs)
			}
			counts[k]++
			of := datasets.ModelChoice{Model: r.Model, Batch: int(r.Batch)}
			if r.GPUs > 1 {
				multi[of]++
			} else {
				single[of]++
			}
			if r.ReferenceGPU != "V100" || r.Steps != 0 {
				t.Fatalf("seed %d: row %+v, want a duration on V100", seed, r)
			}
		}
		expected := make([]float64, len(sizes))
		for i := range share {
			expected[i] = share[i] * 20_000
		}
		if p := chiSquareP(counts, expected); p < leastP {
			t.Errorf("seed %d: sizes %v, want about %v (p = %v)", seed, counts, expected, p)
		}
		checkEven(t, seed, single, 26)
		checkEven(t, seed, multi, 19)
	}
}

// checkEven checks that there are n job types, equally often.
func checkEven(t *testing.T, seed uint64, counts map[datasets.ModelChoice]int, n int) {
	t.Helper()
	if len(counts) != n {
		t.Errorf("seed %d: %d job types, want %d", seed, len(counts), n)
		return
	}
	total := 0
	var observed []int
	for _, c := range counts {
		observed = append(observed, c)
		total += c
	}
	expected := slices.Repeat([]float64{float64(total) / float64(n)}, n)
	if p := chiSquareP(observed, expected); p < leastP {
		t.Errorf("seed %d: job types %v, want equally many (p = %v)", seed, counts, p)
	}
}

func TestArrivalsArePoisson(t *testing.T) {
	const mean = 10 * time.Minute
	j := generate(t, Config{Jobs: 20_000, Seed: 4, InterArrival: mean})
	var gaps []float64
	last := time.Duration(0)
	for _, r := range j.Rows {
		gaps = append(gaps, float64(r.Submit-last)/float64(mean))
		last = r.Submit
	}
	if d := ksDistance(gaps, func(x float64) float64 { return 1 - math.Exp(-x) }); d > ksLimit(len(gaps)) {
		t.Errorf("KS distance of the gaps %v, want at most %v", d, ksLimit(len(gaps)))
	}
	// Successive gaps are independent: their correlation has deviation 1/√n.
	sum, square, product := 0.0, 0.0, 0.0
	for i, g := range gaps {
		sum += g
		square += g * g
		if i > 0 {
			product += g * gaps[i-1]
		}
	}
	n := float64(len(gaps))
	if r := (product/n - sum/n*sum/n) / (square/n - sum/n*sum/n); math.Abs(r) > 5/math.Sqrt(n) {
		t.Errorf("correlation of successive gaps %v, want about 0", r)
	}
}

func TestDiurnalArrivals(t *testing.T) {
	const amplitude = 0.8
	j := generate(t, Config{Jobs: 50_000, Seed: 5, InterArrival: time.Minute, Diurnal: amplitude})
	days := j.Rows[len(j.Rows)-1].Submit / day // whole days
	observed := make([]int, 24)
	total := 0
	for _, r := range j.Rows {
		if r.Submit < days*day {
			observed[int(r.Submit/time.Hour)%24]++
			total++
		}
	}
	// ∫ 1 + a·cos(2π(t − 15)/24) over each hour, by the midpoint rule.
	expected := make([]float64, 24)
	for h := range expected {
		for k := range 60 {
			at := float64(h) + (float64(k)+0.5)/60
			expected[h] += (1 + amplitude*math.Cos(2*math.Pi*(at-15)/24)) / 60 / 24 * float64(total)
		}
	}
	if p := chiSquareP(observed, expected); p < leastP {
		t.Errorf("arrivals by hour %v, want about %.0f (p = %v)", observed, expected, p)
	}
	if got := float64(total) / (float64(days) * 24 * 60); math.Abs(got-1) > 5/math.Sqrt(float64(total)) {
		t.Errorf("%v arrivals a minute, want 1 on average", got)
	}
}

// The inverse of the bent clock is an inverse.
func TestDayCycleInverse(t *testing.T) {
	for _, amplitude := range []float64{0.1, 0.9, 1} {
		c := dayCycle{amplitude}
		for x := time.Duration(0); x < 40*day; x += 7919 * time.Second {
			at := c.invert(x)
			if got := c.integral(float64(at)/float64(day)) * float64(day); math.Abs(got-float64(x)) > 1e4 { // 10 µs
				t.Fatalf("amplitude %v: the integral at invert(%v) is off by %v ns", amplitude, x, got-float64(x))
			}
		}
	}
}

func TestMaxDurationCutsTheDistribution(t *testing.T) {
	const longest = 20_000.0
	j := generate(t, Config{Jobs: 20_000, Seed: 6, MaxDuration: time.Duration(longest * float64(time.Second))})
	var durations []float64
	for _, r := range j.Rows {
		durations = append(durations, r.Duration.Seconds())
	}
	if hi := slices.Max(durations); hi > longest {
		t.Errorf("a duration of %v s, want at most %v", hi, longest)
	}
	whole := func(s float64) float64 { return 0.8 * min(1, max(0, (math.Log10(s/60)-1.5)/1.5)) }
	if d := ksDistance(durations, func(s float64) float64 { return whole(s) / whole(longest) }); d > ksLimit(len(durations)) {
		t.Errorf("KS distance %v, want at most %v", d, ksLimit(len(durations)))
	}
}

func TestMaxGPUs(t *testing.T) {
	for most, want := range map[int][]int32{1: {1}, 2: {1, 2}, 3: {1, 2}, 4: {1, 2, 4}, 8: {1, 2, 4, 8}} {
		seen := make(map[int32]bool)
		for _, r := range generate(t, Config{Jobs: 2000, MaxGPUs: most}).Rows {
			seen[r.GPUs] = true
		}
		for _, g := range want {
			if !seen[g] {
				t.Errorf("MaxGPUs %d: no job of %d GPUs", most, g)
			}
		}
		if len(seen) != len(want) {
			t.Errorf("MaxGPUs %d: sizes %v, want %v", most, seen, want)
		}
	}
}

func TestGenerateIsAPureFunctionOfItsConfig(t *testing.T) {
	cfg := Config{Jobs: 300, Seed: 7}
	a, b := generate(t, cfg), generate(t, cfg)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	cfg.Seed = 8
	if generate(t, cfg).Hash() == a.Hash() {
		t.Error("another seed gave the same jobs")
	}
	// A longer table begins with the shorter one.
	longer := generate(t, Config{Jobs: 400, Seed: 7})
	if diff := cmp.Diff(a.Rows, longer.Rows[:300]); diff != "" {
		t.Errorf("400 jobs do not begin with the 300:\n%s", diff)
	}
}

// One seed gives the same draws whatever the settings of the other streams are.
func TestCommonRandomNumbers(t *testing.T) {
	a := generate(t, Config{Jobs: 500, Seed: 9, InterArrival: time.Minute})
	b := generate(t, Config{Jobs: 500, Seed: 9, InterArrival: time.Hour, Diurnal: 0.5, MaxDuration: 5 * time.Hour})
	for i := range a.Rows {
		x, y := a.Rows[i], b.Rows[i]
		if x.GPUs != y.GPUs || x.Model != y.Model || x.Batch != y.Batch {
			t.Fatalf("job %d: %+v and %+v, want the same size and type", i, x, y)
		}
		if i > 0 && (x.Duration < a.Rows[i-1].Duration) != (y.Duration < b.Rows[i-1].Duration) {
			t.Fatalf("job %d: the cut changed the order of durations", i)
		}
	}
}

// Pinned so that a change of the generator is noticed: it changes every
// experiment that names a seed.
func TestGenerateGolden(t *testing.T) {
	j := generate(t, Config{Jobs: 3, Seed: 42})
	type row struct {
		GPUs, Batch int32
		Model       string
		Submit, Run time.Duration
	}
	var got []row
	for _, r := range j.Rows {
		got = append(got, row{r.GPUs, r.Batch, r.Model, r.Submit.Round(time.Second), r.Duration.Round(time.Second)})
	}
	want := []row{
		{4, 80, "LM", 6*time.Minute + 44*time.Second, 44*time.Minute + 20*time.Second},
		{1, 20, "LM", 17*time.Minute + 43*time.Second, 40*time.Minute + 21*time.Second},
		{4, 64, "ResNet-18", 46*time.Minute + 55*time.Second, 84*time.Minute + 21*time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigReportsEverything(t *testing.T) {
	_, err := Generate(Config{Preset: "philly", Jobs: -1, InterArrival: -1, Diurnal: 2, MaxDuration: time.Second, MaxGPUs: -1, Types: []JobType{{}}})
	if err == nil {
		t.Fatal("got no error")
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 8 {
		t.Errorf("got %v, want 8 problems", err)
	}
}

// Every job type of the preset is in the performance catalogue and runs on the
// reference GPU, so that a generated table resolves without loss.
func TestGeneratedTableResolves(t *testing.T) {
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=16,P100=16,K80=16", 4)
	if err != nil {
		t.Fatal(err)
	}
	j := generate(t, Config{Jobs: 2000, Seed: 10})
	jobs, report, err := datasets.Resolve(j, p, datasets.ResolveConfig{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	if report.Kept != report.Read || len(jobs) != 2000 {
		t.Errorf("got %s, want nothing dropped", report)
	}
}
