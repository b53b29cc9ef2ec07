package perf

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

func mustNew(t testing.TB, cfg Config) *Performance {
	t.Helper()
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustParse(t testing.TB, spec string, perNode int) *env.Cluster {
	t.Helper()
	c, err := Default().ParseCluster(spec, perNode)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// shape is the part of a strategy that does not depend on the catalogue's figures.
type shape struct{ Type, GPUs, Nodes int }

func shapes(s []env.Strategy) []shape {
	var all []shape
	for _, x := range s {
		all = append(all, shape{x.Type, x.GPUs, x.Nodes})
	}
	return all
}

func TestStrategiesShapes(t *testing.T) {
	uneven := &env.Cluster{
		Types: []env.GPUType{{Name: "V100"}},
		Nodes: []env.Node{{GPUs: 2}, {GPUs: 8}, {GPUs: 4}, {GPUs: 4}},
	}
	tests := []struct {
		name    string
		job     env.Job
		cluster *env.Cluster
		want    []shape
	}{
		{
			"half, once and twice",
			env.Job{Model: "ResNet-50", Batch: 128, GPUs: 2},
			mustParse(t, "V100=8,P100=8", 4),
			[]shape{{0, 1, 1}, {0, 2, 1}, {0, 4, 1}, {1, 1, 1}, {1, 2, 1}, {1, 4, 1}},
		},
		{"one GPU", env.Job{Model: "ResNet-50", Batch: 128, GPUs: 1}, mustParse(t, "V100=8", 4), []shape{{0, 1, 1}, {0, 2, 1}}},
		{"odd number", env.Job{Model: "ResNet-50", Batch: 128, GPUs: 3}, mustParse(t, "V100=8", 8), []shape{{0, 1, 1}, {0, 3, 1}, {0, 6, 1}}},
		{"only the half fits", env.Job{Model: "ResNet-50", Batch: 32, GPUs: 16}, mustParse(t, "V100=8", 8), []shape{{0, 8, 1}}},
		{
			"by type's capacity",
			env.Job{Model: "ResNet-50", Batch: 64, GPUs: 4},
			mustParse(t, "V100=2,P100=8", 8),
			[]shape{{0, 2, 1}, {1, 2, 1}, {1, 4, 1}, {1, 8, 1}},
		},
		{"fewest nodes", env.Job{Model: "BERT-base", Batch: 16, GPUs: 8}, uneven, []shape{{0, 4, 1}, {0, 8, 1}}},
		{"one GPU at most", env.Job{Model: "A3C", Batch: 4, GPUs: 2}, mustParse(t, "V100=8", 4), []shape{{0, 1, 1}}},
		{"not worth a second GPU", env.Job{Model: "LM", Batch: 5, GPUs: 1}, mustParse(t, "K80=8", 4), []shape{{0, 1, 1}}},
		{"a batch of one cannot be divided", env.Job{Model: "CycleGAN", Batch: 1, GPUs: 1}, mustParse(t, "V100=8", 4), []shape{{0, 1, 1}}},
		{
			"too large for one GPU",
			env.Job{Model: "LLaMA-7B", Batch: 1, GPUs: 4},
			mustParse(t, "A800=8,K80=8", 8),
			[]shape{{0, 2, 1}, {0, 4, 1}, {0, 8, 1}},
		},
	}
	p := mustNew(t, Config{})
	for _, tt := range tests {
		got, err := p.Strategies(&tt.job, tt.cluster)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, shapes(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestNodesFor(t *testing.T) {
	h := typeHardware{nodes: []int{8, 4, 4, 2}}
	for n, want := range map[int]int{1: 1, 8: 1, 9: 2, 12: 2, 13: 3, 16: 3, 17: 4, 18: 4} {
		if got := h.nodesFor(n); got != want {
			t.Errorf("%d GPUs need %d nodes of 8, 4, 4 and 2, want %d", n, got, want)
		}
	}
}

func TestStrategiesErrors(t *testing.T) {
	tests := []struct {
		job     env.Job
		cluster *env.Cluster
		is      error
		want    string
	}{
		{
			env.Job{ID: 7, Model: "ResNet-50", Batch: 32, GPUs: 32},
			mustParse(t, "V100=8,K80=4", 4), ErrNoStrategy,
			"job 7: perf: no strategy for ResNet-50 with batch 32 on 32 GPUs: the largest GPU type has 8",
		},
		{env.Job{ID: 8, Model: "LLaMA-7B", Batch: 1, GPUs: 1}, mustParse(t, "K80=8", 8), ErrNoStrategy, "no plan fits the memory"},
		{env.Job{ID: 9, Model: "A3C", Batch: 4, GPUs: 4}, mustParse(t, "V100=8", 8), ErrNoStrategy, "the model uses at most 1"},
		{env.Job{ID: 10, Model: "AlexNet", Batch: 4, GPUs: 4}, mustParse(t, "V100=8", 8), ErrUnknownModel, `job 10: perf: unknown model "AlexNet", have A3C, `},
		{env.Job{ID: 11, Model: "LM", Batch: 4, GPUs: 4}, &env.Cluster{Types: []env.GPUType{{Name: "TPU"}}, Nodes: []env.Node{{GPUs: 1}}}, ErrUnknownGPU, `unknown GPU type "TPU", have A10, `},
		{env.Job{ID: 12, Model: "LM", Batch: 0, GPUs: 4}, mustParse(t, "V100=8", 8), nil, "batch 0"},
		{env.Job{ID: 13, Model: "LM", Batch: 1, GPUs: 0}, mustParse(t, "V100=8", 8), nil, "0 GPUs"},
		{env.Job{ID: 14, Model: "LM", Batch: 1 << 40, GPUs: 2}, mustParse(t, "V100=8", 8), nil, "samples per iteration"},
		{env.Job{ID: 15, Model: "LM", Batch: 1, GPUs: 1<<63 - 1}, mustParse(t, "V100=8", 8), nil, "samples per iteration"},
		{env.Job{ID: 16, Model: "LM", Batch: 1, GPUs: 1}, &env.Cluster{Types: []env.GPUType{{Name: "V100"}}, Nodes: []env.Node{{Type: 1, GPUs: 1}}}, nil, "nodes[0]"},
	}
	p := mustNew(t, Config{})
	for _, tt := range tests {
		s, err := p.Strategies(&tt.job, tt.cluster)
		if err == nil || s != nil {
			t.Errorf("job %d: got %v, %v, want an error alone", tt.job.ID, s, err)
			continue
		}
		if tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("job %d: got %q, want one line with %q", tt.job.ID, err, tt.want)
		}
	}
}

// What a cluster says of its memory wins over the catalogue, and clusters that
// differ only in it are kept apart.
func TestStrategiesUseTheClustersMemory(t *testing.T) {
	p := mustNew(t, Config{})
	c := mustParse(t, "V100=1", 1)
	job := env.Job{Model: "BERT-large", Batch: 1, GPUs: 1}
	if _, err := p.Strategies(&job, c); err != nil {
		t.Fatal(err)
	}
	small := *c
	small.Types = []env.GPUType{{Name: "V100", MemoryGiB: 1}}
	if _, err := p.Strategies(&job, &small); !errors.Is(err, ErrNoStrategy) {
		t.Errorf("with 1 GiB got %v, want ErrNoStrategy", err)
	}
	unknown := *c
	unknown.Types = []env.GPUType{{Name: "V100"}}
	if _, err := p.Strategies(&job, &unknown); err != nil {
		t.Errorf("without its memory got %v, want the catalogue's", err)
	}
}

func drawCluster(t *rapid.T) *env.Cluster {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(builtin().GPUNames()), 1, 4, rapid.ID[string]).Draw(t, "types")
	c := &env.Cluster{}
	for i, name := range names {
		g, _ := builtin().GPU(name)
		c.Types = append(c.Types, g.Type())
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 8), 1, 5).Draw(t, "nodes") {
			c.Nodes = append(c.Nodes, env.Node{Type: i, GPUs: n})
		}
	}
	return c
}

func drawJob(t *rapid.T) *env.Job {
	m, _ := builtin().Model(rapid.SampledFrom(builtin().ModelNames()).Draw(t, "model"))
	return &env.Job{
		ID: 1, Model: m.Name, Batch: rapid.SampledFrom(m.Batches).Draw(t, "batch"),
		GPUs: rapid.IntRange(1, 20).Draw(t, "gpus"), Work: 1, Weight: 1,
	}
}

// Every strategy is valid, within its type's capacity, of a size that was
// asked for, in order, not dominated, and equally fast alone.
func TestStrategiesProperties(t *testing.T) {
	p := mustNew(t, Config{})
	rapid.Check(t, func(t *rapid.T) {
		c, j := drawCluster(t), drawJob(t)
		if err := errors.Join(c.Validate(), j.Validate()); err != nil {
			t.Fatal(err)
		}
		s, err := p.Strategies(j, c)
		if err != nil {
			if !errors.Is(err, ErrNoStrategy) {
				t.Fatal(err)
			}
			return
		}
		capacity := c.Capacity()
		for i := range s {
			x := &s[i]
			if err := x.Validate(c); err != nil {
				t.Fatalf("strategy %d: %v", i, err)
			}
			if x.GPUs > capacity[x.Type] || x.GPUs != j.GPUs/2 && x.GPUs != j.GPUs && x.GPUs != 2*j.GPUs {
				t.Fatalf("strategy %d has %d GPUs of %d for a job of %d", i, x.GPUs, capacity[x.Type], j.GPUs)
			}
			if x.Plan.Data*x.Plan.Tensor*x.Plan.Pipeline != x.GPUs {
				t.Fatalf("strategy %d: plan %+v for %d GPUs", i, x.Plan, x.GPUs)
			}
			if i > 0 && x.Type == s[i-1].Type && (x.GPUs <= s[i-1].GPUs || x.Throughput <= s[i-1].Throughput) {
				t.Fatalf("strategies %d and %d of one type: %+v does not beat %+v", i-1, i, *x, s[i-1])
			}
			if i > 0 && x.Type < s[i-1].Type {
				t.Fatalf("strategy %d is out of order", i)
			}
			if x.Restart < 25*time.Second {
				t.Fatalf("strategy %d restarts in %v", i, x.Restart)
			}
			if x.GPUs != j.GPUs {
				continue
			}
			alone, err := p.Throughput(j.Model, j.Batch, c.Types[x.Type].Name, x.GPUs, x.Nodes)
			if err != nil || !near(alone, x.Throughput) {
				t.Fatalf("strategy %d has %v steps/s, Throughput says %v, %v", i, x.Throughput, alone, err)
			}
		}
	})
}

// The global batch is kept: on half the GPUs each has twice the samples.
func TestStepIsTheSameWork(t *testing.T) {
	p := mustNew(t, Config{})
	s, err := p.Strategies(&env.Job{Model: "ResNet-50", Batch: 32, GPUs: 4}, mustParse(t, "V100=8", 8))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range s {
		local := 128 / x.GPUs
		steps, err := p.Throughput("ResNet-50", local, "V100", x.GPUs, x.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := x.Throughput*32, steps*float64(local); !near(got, want) {
			t.Errorf("%d GPUs: %v samples/s as a strategy, %v with batch %d", x.GPUs, got, want, local)
		}
	}
}

// Answers do not depend on what was asked before, nor on who asks at once.
func TestStrategiesAreCachedAndConcurrent(t *testing.T) {
	shared := mustNew(t, Config{})
	clusters := []*env.Cluster{mustParse(t, "V100=16,P100=16,K80=16", 4), mustParse(t, "A100-80=16,L4=8", 8)}
	jobs := func(i int) *env.Job {
		names := builtin().ModelNames()
		m, _ := builtin().Model(names[i%len(names)])
		return &env.Job{Model: m.Name, Batch: m.Batches[0], GPUs: 1 << (i % 4)}
	}
	var wg sync.WaitGroup
	got := make([][]env.Strategy, 200)
	for i := range got {
		wg.Go(func() {
			got[i], _ = shared.Strategies(jobs(i), clusters[i%2])
			_, _ = shared.Throughput(jobs(i).Model, jobs(i).Batch, "V100", 1, 1)
		})
	}
	wg.Wait()
	for i := range got {
		want, err := mustNew(t, Config{}).Strategies(jobs(i), clusters[i%2])
		if errors.Is(err, ErrNoStrategy) {
			want = nil
		}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("job %d (-alone +shared):\n%s", i, diff)
		}
	}
	a, err := shared.Strategies(jobs(1), clusters[0])
	b, _ := shared.Strategies(jobs(1), clusters[0])
	if err != nil || &a[0] != &b[0] {
		t.Errorf("a class was computed twice (%v)", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	p := mustNew(t, Config{})
	for n := 1; n <= 3*maxHardware; n++ {
		if _, err := p.Strategies(&env.Job{Model: "LM", Batch: 5, GPUs: 1}, mustParse(t, fmt.Sprintf("K80=%d", n), 4)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.cache.known); n > maxHardware {
		t.Errorf("the cache holds %d kinds of clusters, want at most %d", n, maxHardware)
	}
	h := p.cache.current
	for n := range maxClasses {
		h.strategies[class{gpus: n}] = nil
	}
	if _, err := p.Strategies(&env.Job{Model: "LM", Batch: 10, GPUs: 1}, &p.cache.last); err != nil {
		t.Fatal(err)
	}
	if n := len(h.strategies); n != 1 {
		t.Errorf("a full cache holds %d classes after another one, want 1", n)
	}
}

func TestRigid(t *testing.T) {
	p := mustNew(t, Config{Rigid: true})
	s, err := p.Strategies(&env.Job{Model: "ResNet-50", Batch: 64, GPUs: 4}, mustParse(t, "V100=16,K80=16", 4))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]shape{{0, 4, 1}, {1, 4, 1}}, shapes(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMaxStrategies(t *testing.T) {
	c := mustParse(t, "P100=16,K80=16", 4)
	job := env.Job{Model: "ResNet-50", Batch: 64, GPUs: 4}
	all, err := mustNew(t, Config{}).Strategies(&job, c)
	if err != nil || len(all) != 6 {
		t.Fatalf("got %d strategies, %v, want 6", len(all), err)
	}
	some, err := mustNew(t, Config{MaxStrategies: 2}).Strategies(&job, c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]env.Strategy{all[1], all[2]}, some); diff != "" {
		t.Errorf("the two fastest in order (-want +got):\n%s", diff)
	}
}

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := New(Config{MaxStrategies: -1, Measured: []Measurement{{Model: "AlexNet"}, {Model: "LM", GPUType: "V100"}}})
	for _, part := range []string{"MaxStrategies is -1", "Measured[0]: perf: unknown model", "Measured[1]: perf: batch 0"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it to mention %q", err, part)
		}
	}
}

func TestThroughputErrors(t *testing.T) {
	p := mustNew(t, Config{})
	tests := []struct {
		model       string
		batch       int
		gpu         string
		gpus, nodes int
		is          error
	}{
		{"AlexNet", 1, "V100", 1, 1, ErrUnknownModel},
		{"LM", 1, "TPU", 1, 1, ErrUnknownGPU},
		{"A3C", 4, "V100", 2, 1, ErrNoStrategy},
		{"LLaMA-7B", 1, "K80", 1, 1, ErrNoStrategy},
		{"LM", 0, "V100", 1, 1, nil},
		{"LM", 1, "V100", 0, 1, nil},
		{"LM", 1, "V100", 1, 2, nil},
		{"LM", 1, "V100", 1, 0, nil},
		{"LM", 1 << 62, "V100", 4, 1, nil},
	}
	for _, tt := range tests {
		x, err := p.Throughput(tt.model, tt.batch, tt.gpu, tt.gpus, tt.nodes)
		if err == nil || x != 0 || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%+v: got %v, %v", tt, x, err)
		}
	}
}
