package eval

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
)

// constant is a contestant whose jobs all take so many hours, plus the seed.
func constant(name string, hours int) Contestant {
	return Contestant{Name: name, Play: func(_ context.Context, seed uint64) (Episode, error) {
		took := time.Duration(hours)*time.Hour + time.Duration(seed)*time.Minute
		return Episode{Decisions: 1, Schedule: metrics.Schedule{
			GPUs: 1, End: took,
			Jobs: []metrics.Job{{ID: 1, Finish: took, GPUs: 1, Isolated: time.Hour, Ideal: time.Hour, Weight: 1}},
		}}, nil
	}}
}

func TestCompareWithTheReference(t *testing.T) {
	table, err := Compare(context.Background(), Config{
		Contestants: []Contestant{constant("slow", 4), constant("fast", 2)},
		Seeds:       []uint64{0, 60, 120},
		Reference:   "fast",
	})
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := table.Row("slow"), table.Row("fast")
	if slow.MeanJCT.Mean != 5*3600 || fast.MeanJCT.Mean != 3*3600 {
		t.Errorf("mean JCT %v and %v s, want 5 h and 3 h", slow.MeanJCT.Mean, fast.MeanJCT.Mean)
	}
	if fast.Versus != nil {
		t.Error("the reference is compared with itself")
	}
	v := slow.Versus
	if v == nil || v.Difference != (Interval{-7200, -7200, -7200}) || v.Wins != 3 {
		t.Errorf("fast against slow: %+v, want a difference of exactly -2 h and 3 wins", v)
	}
	if want := (2.0/4 + 3.0/5 + 4.0/6) / 3; v != nil && v.Ratio.Mean != want {
		t.Errorf("ratio is %v, want %v", v.Ratio.Mean, want)
	}
}

// Jobs split by a name are all there, and a name that only some episodes have is averaged
// over those.
func TestCompareSplitsJobs(t *testing.T) {
	jobs := func(_ context.Context, seed uint64) (Episode, error) {
		s := metrics.Schedule{GPUs: 1, End: 10 * time.Hour}
		for id := range int64(2 + seed) {
			s.Jobs = append(s.Jobs, metrics.Job{ID: id, Finish: time.Duration(1+id) * time.Hour, GPUs: 1, Service: 3600, Isolated: time.Hour, Ideal: time.Hour, Weight: 1})
		}
		return Episode{Schedule: s}, nil
	}
	table, err := Compare(context.Background(), Config{
		Contestants: []Contestant{{Name: "p", Play: jobs}}, Seeds: []uint64{0, 1},
		By: "status", Of: func(id int64) string { return []string{"", "Pass", "Failed"}[id] },
	})
	if err != nil {
		t.Fatal(err)
	}
	even := func(hours float64) Interval { return Interval{3600 * hours, 3600 * hours, 3600 * hours} }
	want := []Group{
		{Name: "", Seeds: 2, Jobs: 2, GPUHours: 2, MeanJCT: even(1), P99JCT: even(1)},
		{Name: "Failed", Seeds: 1, Jobs: 1, GPUHours: 1, MeanJCT: even(3), P99JCT: even(3), Delay: even(2)},
		{Name: "Pass", Seeds: 2, Jobs: 2, GPUHours: 2, MeanJCT: even(2), P99JCT: even(2), Delay: even(1)},
	}
	if diff := cmp.Diff(want, table.Rows[0].Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	if err := table.Render(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"policy  status   jobs  GPU-hours", "p       unknown  2", "p       Failed   1     1.0        3.00        3.00–3.00"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestCompareReportsTheFaultNotItsConsequences(t *testing.T) {
	boom := errors.New("boom")
	broken := Contestant{Name: "broken", Play: func(context.Context, uint64) (Episode, error) { return Episode{}, boom }}
	waiting := Contestant{Name: "waiting", Play: func(ctx context.Context, _ uint64) (Episode, error) {
		<-ctx.Done()
		return Episode{}, ctx.Err()
	}}
	_, err := Compare(context.Background(), Config{Contestants: []Contestant{waiting, broken}, Seeds: []uint64{1}})
	if runtime.GOMAXPROCS(0) > 1 && !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the broken contestant", err)
	}
	if _, err := Compare(context.Background(), Config{Contestants: []Contestant{constant("a", 1)}, Seeds: []uint64{1}, Reference: "b"}); err == nil {
		t.Error("unknown reference: got no error")
	}
	if _, err := Compare(context.Background(), Config{}); err == nil {
		t.Error("no seeds: got no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Compare(ctx, Config{Contestants: []Contestant{constant("a", 1)}, Seeds: []uint64{1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// contestants plays fifo and srtf on generated jobs.
func contestants(t *testing.T) []Contestant {
	t.Helper()
	table, err := synth.Generate(synth.Config{Jobs: 300, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	performance, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=8,K80=8", 4)
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := datasets.Resolve(table, performance, datasets.ResolveConfig{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	windows, err := datasets.NewWindows(jobs, 30, 1, cluster, performance)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Cluster: cluster, Workload: windows.Jobs, Candidates: performance, Knowledge: env.Estimate}
	var registry agent.Registry
	heuristic.Register(&registry)
	var all []Contestant
	for _, name := range []string{"fifo", "srtf"} {
		p, err := registry.New(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Contestant{Name: name, Play: func(ctx context.Context, seed uint64) (Episode, error) {
			return Play(ctx, cfg, p, seed)
		}})
	}
	return all
}

func TestCompareDoesNotDependOnTheNumberOfCores(t *testing.T) {
	run := func(cores int) *Table {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		var mu sync.Mutex
		last := 0
		table, err := Compare(context.Background(), Config{
			Contestants: contestants(t), Seeds: []uint64{1, 2, 3, 4, 5}, Reference: "srtf",
			Progress: func(done, total int) {
				mu.Lock()
				defer mu.Unlock()
				last = max(last, done)
				if total != 10 {
					t.Errorf("total is %d, want 10", total)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if last != 10 {
			t.Errorf("progress ended at %d, want 10", last)
		}
		for i := range table.Rows {
			table.Rows[i].DecisionMicros = 0 // wall time
		}
		return table
	}
	if diff := cmp.Diff(run(1), run(4)); diff != "" {
		t.Errorf("one core and four differ (-one +four):\n%s", diff)
	}
}

func TestRenderHasOneRowPerPolicy(t *testing.T) {
	table, err := Compare(context.Background(), Config{Contestants: []Contestant{constant("slow", 4), constant("fast", 2)}, Seeds: []uint64{0, 60}, Reference: "fast"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Render(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 6 {
		t.Fatalf("got %d lines, want a header, two of each policy and a footnote:\n%s", len(lines), b.String())
	}
	if !strings.HasPrefix(lines[1], "slow") || !strings.Contains(lines[1], "4.50") || !strings.Contains(lines[1], "2/2") {
		t.Errorf("row of slow is %q, want its mean of 4.50 h and two seeds won against it", lines[1])
	}
}

// TestCompareShowsTheObjective: the cost of a job is what rewards took for it.
func TestCompareShowsTheObjective(t *testing.T) {
	late := func(name string, reward float64) Contestant {
		return Contestant{Name: name, Play: func(ctx context.Context, seed uint64) (Episode, error) {
			e, err := constant(name, 1).Play(ctx, seed)
			e.Reward = reward
			return e, err
		}}
	}
	cfg := Config{Contestants: []Contestant{late("early", 0), late("late", -2.5)}, Seeds: []uint64{0, 1}, Objective: "tardiness"}
	table, err := Compare(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if early, late := table.Row("early").Cost, table.Row("late").Cost; early == nil || late == nil || early.Mean != 0 || late.Mean != 2.5 {
		t.Errorf("costs are %v and %v, want 0 and 2.5", early, late)
	}
	var text bytes.Buffer
	if err := table.Render(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "tardiness / job") || !strings.Contains(text.String(), "2.500–2.500") {
		t.Errorf("the table does not show the objective:\n%s", text.String())
	}
	cfg.Objective = ""
	if table, err = Compare(context.Background(), cfg); err != nil || table.Row("late").Cost != nil {
		t.Errorf("without an objective the cost is %v (%v), want none", table.Row("late").Cost, err)
	}
}
