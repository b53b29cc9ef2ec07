package lp

import (
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// plain returns a state of jobs that each run at the given steps/s on one GPU of
// each type, 0 where they cannot, and have 100 steps left.
func plain(gpus []int, rates ...[]float64) *env.State {
	s := &env.State{Now: 1000 * time.Second, RoundLen: 100 * time.Second}
	for t, n := range gpus {
		s.Cluster.Types = append(s.Cluster.Types, env.GPUType{Name: string(rune('a' + t))})
		for range n {
			s.Cluster.Nodes = append(s.Cluster.Nodes, env.Node{Type: t, GPUs: 1})
		}
	}
	for i, job := range rates {
		j := env.JobState{ID: int64(i), Batch: 1, GPUs: 1, Weight: 1, Submit: s.Now, Remaining: 100, Current: env.Idle}
		for t, rate := range job {
			if rate > 0 {
				j.Strategies = append(j.Strategies, env.Strategy{Type: t, GPUs: 1, Nodes: 1, Throughput: rate})
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func solved(t *testing.T, name string, s *env.State) Solution {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := New(name, Config{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Solve(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 2e-6*math.Abs(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// timeOf returns the share of its time that each job gets.
func timeOf(s *env.State, shares []Share) []float64 {
	total := make([]float64, len(s.Jobs))
	for _, x := range shares {
		total[x.Job] += x.Weight
	}
	return total
}

// One GPU, one job as old as its fair finish would take from now: with z = 1/ρ,
// z/2 / (1 - z/2) + z/2 = 1, so that z = 3 - √5.
func TestFinishTimeByHand(t *testing.T) {
	s := plain([]int{1}, []float64{1}, []float64{1})
	wantNear(t, "two new jobs", solved(t, "lp:gavel-ftf", s).Objective, 1)
	s.Jobs[0].Submit = s.Now - 100*time.Second
	wantNear(t, "one has waited", solved(t, "lp:gavel-ftf", s).Objective, 3-math.Sqrt(5))
}

// 100 and 300 steps at 1 step/s on one GPU take 400 s.
func TestMakespanByHand(t *testing.T) {
	s := plain([]int{1}, []float64{1}, []float64{1})
	s.Jobs[1].Remaining = 300
	wantNear(t, "1/T", solved(t, "lp:gavel-makespan", s).Objective, 1./400)
}

// 100/x + 400/(1-x) is least at x = √100 / (√100 + √400), where it is (√100 + √400)².
func TestTotalByHand(t *testing.T) {
	s := plain([]int{1}, []float64{1}, []float64{1})
	s.Jobs[1].Remaining = 400
	got := solved(t, "lp:gavel-total", s)
	wantNear(t, "sum of times", got.Objective, 900)
	if x := timeOf(s, got.Shares); math.Abs(x[0]-1./3) > 1e-3 {
		t.Errorf("shares %v, want 1/3 and 2/3", x)
	}
}

// Of equal jobs the first comes first; on the type it is fastest on.
func TestFIFOByHand(t *testing.T) {
	s := plain([]int{1, 1}, []float64{1, 5}, []float64{1, 5}, []float64{1, 5})
	got := solved(t, "lp:gavel-fifo", s)
	wantNear(t, "objective", got.Objective, 3+2./5)
	if a := got.Allocation; a[0] != 1 || a[1] != 0 || a[2] != env.Idle {
		t.Errorf("allocation %v, want [1 0 -1]", a)
	}
}

// A type that is twice as fast and costs four times as much is for nobody who has
// the choice.
func TestCostByHand(t *testing.T) {
	s := plain([]int{1, 1}, []float64{1, 2}, []float64{0, 2})
	s.Cluster.Types[0].PricePerHour, s.Cluster.Types[1].PricePerHour = 1, 4
	if a := solved(t, "lp:gavel-cost", s).Allocation; a[0] != 0 || a[1] != 0 {
		t.Errorf("allocation %v, want each on the GPU that is worth its price", a)
	}
}

// Deadlines that need 0.6 and 0.8 of one GPU are met to 1/1.4 each; with 0.3 they
// are met, and the rest goes where it is worth most.
func TestSLOByHand(t *testing.T) {
	s := plain([]int{1}, []float64{1}, []float64{1}, []float64{8})
	for i, need := range []float64{0.6, 0.8} {
		s.Jobs[i].Deadline = s.Now + time.Duration(100/need*float64(time.Second))
	}
	x := timeOf(s, solved(t, "lp:gavel-slo", s).Shares)
	if math.Abs(x[0]-0.6/1.4) > 1e-5 || math.Abs(x[1]-0.8/1.4) > 1e-5 {
		t.Errorf("shares %v, want 0.43 and 0.57", x)
	}
	s.Jobs[1].Deadline = s.Now + 100*time.Second*10/3
	x = timeOf(s, solved(t, "lp:gavel-slo", s).Shares)
	if x[0] < 0.6-1e-5 || x[1] < 0.3-1e-5 || x[0]+x[1]+x[2] < 1-1e-5 {
		t.Errorf("shares %v, want at least 0.6 and 0.3, and 1 in all", x)
	}
}

// Five GPUs, a tenant of six jobs and one of a single job: the latter cannot use
// its half, so that the others share what it leaves.
func TestWaterFillByHand(t *testing.T) {
	var rates [][]float64
	for range 7 {
		rates = append(rates, []float64{1})
	}
	s := plain([]int{5}, rates...)
	for i := range s.Jobs {
		s.Jobs[i].Tenant = "many"
	}
	s.Jobs[3].Tenant = "one"
	for i, x := range timeOf(s, solved(t, "lp:gavel-waterfill", s).Shares) {
		want := 4. / 6
		if i == 3 {
			want = 1
		}
		if math.Abs(x-want) > 1e-5 {
			t.Errorf("job %d has %v, want %v", i, x, want)
		}
	}
	s.Cluster.Nodes = s.Cluster.Nodes[:1] // one GPU: half for each tenant
	for i, x := range timeOf(s, solved(t, "lp:gavel-waterfill", s).Shares) {
		want := 0.5 / 6
		if i == 3 {
			want = 0.5
		}
		if math.Abs(x-want) > 1e-5 {
			t.Errorf("job %d has %v of the one GPU, want %v", i, x, want)
		}
	}
}

// Two jobs on one GPU that lose a fifth of their speed by sharing it share it.
func TestPackedByHand(t *testing.T) {
	s := plain([]int{1}, []float64{10}, []float64{10})
	for i := range s.Jobs {
		s.Jobs[i].Strategies = append(s.Jobs[i].Strategies, env.Strategy{Type: 0, GPUs: 1, Nodes: 1, Throughput: 8, Share: 2})
	}
	wantNear(t, "shared", solved(t, "lp:gavel-packed", s).Objective, 0.8)
	wantNear(t, "in turns", solved(t, "lp:gavel-maxmin", s).Objective, 0.5)
	if a := solved(t, "lp:gavel-packed", s).Allocation; a[0] != 1 || a[1] != 1 {
		t.Errorf("allocation %v, want both on half of it", a)
	}
}

// Blind to rates, time is divided equally; with eyes open, each goes where it is
// fast.
func TestAgnosticByHand(t *testing.T) {
	s := plain([]int{1, 1}, []float64{10, 1}, []float64{1, 10})
	wantNear(t, "blind", solved(t, "lp:gavel-maxmin-agnostic", s).Objective, 1)
	wantNear(t, "aware", solved(t, "lp:gavel-maxmin", s).Objective, 10/5.5)
}

// A tenant's quota binds, and its price says what one more GPU would be worth.
func TestQuotaByHand(t *testing.T) {
	s := plain([]int{4}, []float64{1}, []float64{1}, []float64{1}, []float64{1})
	for i := range 3 {
		s.Jobs[i].Tenant = "a"
	}
	s.Quotas = []env.Quota{{Tenant: "a", Type: env.AnyType, GPUs: 2}, {Tenant: "nobody", Type: 0, GPUs: 1}}
	e, err := Explain(t.Context(), s, "lp:throughput")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Rows) != 2 || e.Rows[0].Binds() || !e.Rows[1].Binds() || e.Rows[1].Kind != QuotaRow || e.Rows[1].Index != 0 || e.Rows[1].Used != 2 {
		t.Errorf("rows %+v, want the quota of a to bind at 2 GPUs", e.Rows)
	}
	running := 0
	for i := range 3 {
		if e.Allocation[i] != env.Idle {
			running++
		}
	}
	if running != 2 || e.Allocation[3] == env.Idle {
		t.Errorf("allocation %v, want two jobs of a and the other one", e.Allocation)
	}
}

// Branch and bound finds what trying everything finds.
func TestSiaIsBest(t *testing.T) {
	p, err := New("lp:sia", Config{Nodes: 5000})
	if err != nil {
		t.Fatal(err)
	}
	r := rng.New(1, "sia")
	odd := 0
	for range 120 {
		s := agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(5)})
		got, err := p.Solve(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		want := bestWhole(siaProgram(s, &p.config), s.Cluster.Capacity(), 0)
		if math.Abs(got.Objective-want) > 1e-9*(1+want) || got.Status != simplex.Optimal {
			t.Errorf("%v with %v, best %v, gap %v", got.Status, got.Objective, want, got.Gap)
		}
		if got.Pivots > 0 {
			odd++
		}
	}
	if odd < 20 {
		t.Errorf("only %d states took a search", odd)
	}
}

// Pricing candidates in gives the objective of all of them at once.
func TestLazilyIsExact(t *testing.T) {
	for lazy, eager := range map[string]string{"lp:hetero-throughput": "lp:throughput", "lp:hetero-srpt": "lp:srpt", "lp:hetero-maxmin": "lp:maxmin"} {
		a, err := New(lazy, Config{Columns: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(eager, Config{})
		if err != nil {
			t.Fatal(err)
		}
		randomStates(40, func(s *env.State) {
			got, err := a.Solve(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			want, err := b.Solve(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			wantNear(t, lazy, got.Objective, want.Objective)
		})
	}
}

// The second objective leaves the first 95 %, and is better than without.
func TestLexicographic(t *testing.T) {
	randomStates(30, func(s *env.State) {
		p, err := New("lp:hetero-lex", Config{})
		if err != nil {
			t.Fatal(err)
		}
		stages, err := p.Stages(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(stages) < 2 {
			return
		}
		first, second := stages[0], stages[1]
		least, i := math.Inf(1), 0
		for j := range s.Jobs {
			rate := 0.0
			for ; i < len(second.Result.Shares) && second.Result.Shares[i].Candidate < first.Problem.Offsets[j+1]; i++ {
				x := second.Result.Shares[i]
				rate += x.Weight * first.Problem.Rate[x.Candidate]
			}
			if first.Problem.Offsets[j] < first.Problem.Offsets[j+1] {
				least = min(least, rate/first.Problem.Target[j])
			}
		}
		before := 0.0
		for _, x := range first.Result.Shares {
			before += x.Weight * second.Problem.Value[x.Candidate]
		}
		if least < 0.95*first.Result.Objective*(1-1e-8) || second.Result.Objective < before*(1-1e-8) {
			t.Errorf("level %v of %v, throughput %v, before %v", least, first.Result.Objective, second.Result.Objective, before)
		}
	})
}

// Solving in parts is certified by the whole problem's bound, and loses little.
func TestPartitioned(t *testing.T) {
	s := busyState(1000, 9)
	p, err := New("lp:hetero-pop", Config{Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Solve(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := solved(t, "lp:throughput", s)
	if got.Objective > want.Objective*(1+1e-9) || got.Bound < want.Objective*(1-1e-9) || got.Gap > 0.02 || got.Gap <= 0 {
		t.Errorf("%v to %v, gap %v; the whole %v", got.Objective, got.Bound, got.Gap, want.Objective)
	}
}
