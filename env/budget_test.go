package env

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// limited returns validState with one V100 node more, which is down, tenants,
// quotas, and strategies that share GPUs: of 4 V100 and 2 K80 in service, tenant
// a may hold 3 V100 and 4 GPUs in all.
func limited() *State {
	s := validState()
	s.Cluster.Nodes = append(s.Cluster.Nodes, Node{Type: 0, GPUs: 8})
	s.Down = []int{3}
	s.Quotas = []Quota{{Tenant: "a", Type: AnyType, GPUs: 4}, {Tenant: "a", Type: 0, GPUs: 3}, {Tenant: "c", Type: 1}}
	for i, tenant := range []string{"a", "b"} {
		strategies := append([]Strategy(nil), s.Jobs[i].Strategies...)
		strategies = append(strategies, Strategy{Type: 0, GPUs: 4, Nodes: 1, Throughput: 1, Share: 8}, Strategy{Type: 0, GPUs: 4, Nodes: 1, Throughput: 1})
		s.Jobs[i].Tenant, s.Jobs[i].Strategies = tenant, strategies
	}
	return s
}

func TestAllocationValidateCountsSharesQuotasAndNodesDown(t *testing.T) {
	for _, tt := range []struct {
		a    Allocation
		want string // part of the error, "" is valid
	}{
		{Allocation{0, 0}, ""},
		{Allocation{2, Idle}, ""},                                // half a GPU
		{Allocation{2, 3}, "0.5 GPUs too many of type V100"},     // 4.5 of 4
		{Allocation{3, Idle}, `"a" has 1 GPUs too many of type`}, // 4 of 3
		{Allocation{Idle, 3}, ""},                                // b has no quota
		{Allocation{1, 1}, "2 GPUs too many of type K80"},
	} {
		s := limited()
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		err := tt.a.Validate(s)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v, want %q", tt.a, err, tt.want)
		}
	}
	s := limited()
	s.Quotas[0].GPUs = 1
	if err := (Allocation{0, Idle}).Validate(s); err == nil || !strings.Contains(err.Error(), `"a" has 1 GPUs too many of all types, its quota is 1`) {
		t.Errorf("quota over all types: got %v", err)
	}
}

// TestBudgetAgreesWithValidate builds allocations by Fits and Take and checks
// that they are valid, that Fits says no exactly where Validate would, and that
// Return undoes Take.
func TestBudgetAgreesWithValidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawLimited(t)
		b := NewBudget(s)
		fresh := NewBudget(s)
		a := NewAllocation(len(s.Jobs))
		for range 20 {
			i := rapid.IntRange(0, len(s.Jobs)-1).Draw(t, "job")
			j := &s.Jobs[i]
			if a[i] != Idle {
				b.Return(j, &j.Strategies[a[i]])
				a[i] = Idle
			}
			k := rapid.IntRange(0, len(j.Strategies)-1).Draw(t, "strategy")
			a[i] = k
			if fits, valid := b.Fits(j, &j.Strategies[k]), a.Validate(s) == nil; fits != valid {
				t.Fatalf("Fits is %v, Validate says %v for %v in %+v", fits, valid, a, s)
			}
			alone := NewAllocation(len(s.Jobs))
			alone[i] = k
			if possible, valid := b.Possible(j, &j.Strategies[k]), alone.Validate(s) == nil; possible != valid {
				t.Fatalf("Possible is %v, Validate says %v for %v in %+v", possible, valid, alone, s)
			}
			if !b.Fits(j, &j.Strategies[k]) {
				b.Take(j, &j.Strategies[k])
				if !b.Overdrawn() {
					t.Fatalf("took what does not fit, and it is not overdrawn")
				}
				b.Return(j, &j.Strategies[k])
				a[i] = Idle
				continue
			}
			b.Take(j, &j.Strategies[k])
		}
		if b.Overdrawn() {
			t.Fatalf("overdrawn by %v in %+v", a, s)
		}
		for i, k := range a {
			if k != Idle {
				b.Return(&s.Jobs[i], &s.Jobs[i].Strategies[k])
			}
		}
		for t0 := range s.Cluster.Types {
			if b.FreeParts(t0) != fresh.FreeParts(t0) || b.Free(t0) != s.Capacity()[t0] {
				t.Fatalf("type %d: %d parts and %d GPUs after returning everything, want %d and %d", t0, b.FreeParts(t0), b.Free(t0), fresh.FreeParts(t0), s.Capacity()[t0])
			}
		}
	})
}

// TestPartsPackIntoWholeGPUs is why a Budget can do with sums: what it allows
// fits on GPUs, largest parts first.
func TestPartsPackIntoWholeGPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpus := make([]int, rapid.IntRange(1, 6).Draw(t, "gpus"))
		for i := range gpus {
			gpus[i] = PartsPerGPU
		}
		left := len(gpus) * PartsPerGPU
		var pieces [PartsPerGPU + 1]int // by parts
		for range rapid.IntRange(1, 50).Draw(t, "pieces") {
			parts := rapid.SampledFrom([]int{8, 4, 2, 1}).Draw(t, "parts")
			if parts <= left {
				left -= parts
				pieces[parts]++
			}
		}
		for parts := PartsPerGPU; parts > 0; parts-- {
			for range pieces[parts] {
				g := 0
				for g < len(gpus) && gpus[g] < parts {
					g++
				}
				if g == len(gpus) {
					t.Fatalf("a piece of %d parts does not fit: %v", parts, pieces)
				}
				gpus[g] -= parts
			}
		}
	})
}

func drawLimited(t *rapid.T) *State {
	s := &State{RoundLen: 1, Now: 1}
	types := rapid.IntRange(1, 3).Draw(t, "types")
	for range types {
		s.Cluster.Types = append(s.Cluster.Types, GPUType{Name: string(rune('A' + len(s.Cluster.Types)))})
	}
	for n := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		s.Cluster.Nodes = append(s.Cluster.Nodes, Node{Type: rapid.IntRange(0, types-1).Draw(t, "type"), GPUs: rapid.IntRange(1, 4).Draw(t, "gpus")})
		if rapid.IntRange(0, 3).Draw(t, "down") == 0 {
			s.Down = append(s.Down, n)
		}
	}
	for _, tenant := range []string{"", "a"} {
		for q := AnyType; q < types; q++ {
			if rapid.Bool().Draw(t, "quota") {
				s.Quotas = append(s.Quotas, Quota{Tenant: tenant, Type: q, GPUs: rapid.IntRange(0, 6).Draw(t, "quota gpus")})
			}
		}
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		j := JobState{ID: int64(i), GPUs: 1, Batch: 1, Weight: 1, Remaining: 1, Current: Idle, Tenant: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant")}
		for range rapid.IntRange(1, 3).Draw(t, "strategies") {
			j.Strategies = append(j.Strategies, Strategy{
				Type: rapid.IntRange(0, types-1).Draw(t, "strategy type"), GPUs: rapid.IntRange(1, 4).Draw(t, "strategy gpus"), Nodes: 1, Throughput: 1,
				Share: rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(t, "share"),
			})
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}
