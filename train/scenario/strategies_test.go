package scenario

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
)

// mixed is a cluster on which plans matter: LLaMA-7B needs tensor parallelism or
// offloading on most of it.
func mixed(t *testing.T) env.Cluster {
	t.Helper()
	c, err := perf.Default().ParseCluster("A800=16,V100=16,RTX3090=16", 8)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func candidatesOf(t *testing.T, x Strategies, j *env.Job, c *env.Cluster) []env.Strategy {
	t.Helper()
	set, err := x.candidates(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := set.Strategies(j, c)
	if err != nil {
		t.Fatalf("%s: %v", x, err)
	}
	return list
}

func TestStrategySets(t *testing.T) {
	c := mixed(t)
	j := &env.Job{ID: 1, Model: "LLaMA-7B", Batch: 1, GPUs: 4, Work: 1, Weight: 1}
	all := candidatesOf(t, All, j, &c)
	var sizes []int
	planned := false
	for _, st := range all {
		sizes = append(sizes, st.GPUs)
		planned = planned || st.Plan.Tensor > 1 || st.Plan.Pipeline > 1
	}
	slices.Sort(sizes)
	if sizes[0] == sizes[len(sizes)-1] || !planned {
		t.Errorf("all: got %+v, want several sizes and some tensor or pipeline parallelism", all)
	}
	for x, elastic := range map[Strategies]bool{Rigid: false, DataParallel: false, DataParallelElastic: true} {
		for _, st := range candidatesOf(t, x, j, &c) {
			if !elastic && st.GPUs != j.GPUs {
				t.Errorf("%s: %d GPUs, want the requested %d", x, st.GPUs, j.GPUs)
			}
			if x != Rigid && (st.Plan.Tensor > 1 || st.Plan.Pipeline > 1) {
				t.Errorf("%s: plan %+v is not data-parallel", x, st.Plan)
			}
		}
	}
	rigid := candidatesOf(t, Rigid, j, &c)
	for _, st := range candidatesOf(t, DataParallel, j, &c) {
		i := slices.IndexFunc(rigid, func(r env.Strategy) bool { return r.Type == st.Type })
		if i < 0 || rigid[i].Throughput < st.Throughput {
			t.Errorf("data-parallel is faster than the best plan: %+v, %+v", st, rigid)
		}
	}
	best := candidatesOf(t, BestFirst, j, &c)
	if want := slices.MaxFunc(rigid, func(a, b env.Strategy) int {
		if a.Throughput < b.Throughput {
			return -1
		}
		return 1
	}); len(best) != 1 || !cmp.Equal(best[0], want) {
		t.Errorf("best-first: got %+v, want %+v alone", best, want)
	}
}

// TestSpreadFirstFollowsCapacity: jobs are spread over the types in proportion to
// what each could do.
func TestSpreadFirstFollowsCapacity(t *testing.T) {
	c := mixed(t)
	j := &env.Job{Model: "GPT-2", Batch: 4, GPUs: 1, Work: 1, Weight: 1}
	set, err := SpreadFirst.candidates(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var weights, got [3]float64
	total := 0.0
	for _, st := range candidatesOf(t, Rigid, j, &c) {
		weights[st.Type] = st.Throughput * 16
		total += weights[st.Type]
	}
	const n = 3000
	for id := range int64(n) {
		j.ID = id
		list, err := set.Strategies(j, &c)
		if err != nil || len(list) != 1 {
			t.Fatalf("got %v, %v, want one strategy", list, err)
		}
		got[list[0].Type]++
	}
	for i := range got {
		if share, want := got[i]/n, weights[i]/total; share < want-0.04 || share > want+0.04 {
			t.Errorf("type %d gets %.3f of the jobs, want about %.3f", i, share, want)
		}
	}
}

// TestDataParallelLeavesTheCatalogue: the caller's models stay what they are.
func TestDataParallelLeavesTheCatalogue(t *testing.T) {
	catalogue := perf.Default()
	before, _ := catalogue.Model("LLaMA-7B")
	if _, err := DataParallel.candidates(perf.Config{Catalogue: catalogue}); err != nil {
		t.Fatal(err)
	}
	after, _ := catalogue.Model("LLaMA-7B")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the model changed (-before +after):\n%s", diff)
	}
}

func TestParseStrategies(t *testing.T) {
	for _, x := range StrategySets() {
		if got, err := ParseStrategies(string(x)); err != nil || got != x {
			t.Errorf("%s: got %s, %v", x, got, err)
		}
	}
	if _, err := ParseStrategies("best"); err == nil || !strings.Contains(err.Error(), "best-first") {
		t.Errorf("got %v, want an error that lists the sets", err)
	}
}

// never has no strategies.
type never struct{}

func (never) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	return nil, perf.ErrNoStrategy
}

func TestJobsRunInEverySet(t *testing.T) {
	c := mixed(t)
	j := &env.Job{ID: 1, Model: "GPT-2", Batch: 4, GPUs: 1, Work: 1, Weight: 1}
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (common{p, []sim.Candidates{p}}).Strategies(j, &c); err != nil {
		t.Error(err)
	}
	if _, err := (common{p, []sim.Candidates{p, never{}}}).Strategies(j, &c); !errors.Is(err, perf.ErrNoStrategy) {
		t.Errorf("got %v, want %v", err, perf.ErrNoStrategy)
	}
}
