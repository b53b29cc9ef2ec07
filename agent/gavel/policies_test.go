package gavel

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env/gavel"
)

var threeTypes = []gavel.GPUType{{Name: "V100", GPUs: 2}, {Name: "P100", GPUs: 1}, {Name: "K80", GPUs: 3}}

// job is a row of a View.
type job struct {
	gpus  int32
	left  float64 // steps
	age   float64 // s
	rates []float64
}

// viewOf returns a View of jobs with the IDs 0, 1, 2 …
func viewOf(types []gavel.GPUType, jobs ...job) *gavel.View {
	v := &gavel.View{Types: types}
	for t := range types {
		v.ByName = append(v.ByName, t)
	}
	slices.SortFunc(v.ByName, func(a, b int) int {
		if types[a].Name < types[b].Name {
			return -1
		}
		return 1
	})
	for i, j := range jobs {
		v.IDs = append(v.IDs, int32(i))
		v.GPUs = append(v.GPUs, j.gpus)
		v.Left = append(v.Left, j.left)
		v.Age = append(v.Age, j.age)
		v.Rates = append(v.Rates, j.rates...)
	}
	return v
}

// ask returns the shares of p for v.
func ask(t interface {
	Helper()
	Fatal(...any)
}, p gavel.Policy, v *gavel.View,
) []float64 {
	t.Helper()
	x := make([]float64, len(v.IDs)*len(v.Types))
	if err := p.Allocate(v, x); err != nil {
		t.Fatal(err)
	}
	return x
}

// Jobs in order take their fastest type with room: ties go to the type whose
// name comes first, and the first job that finds no room ends it.
func TestFIFO(t *testing.T) {
	v := viewOf(threeTypes,
		job{gpus: 1, rates: []float64{5, 5, 1}},  // P100 before V100
		job{gpus: 2, rates: []float64{9, 8, 7}},  // all of V100
		job{gpus: 1, rates: []float64{9, 8, 0}},  // fits only where it has no memory: passed over
		job{gpus: 1, rates: []float64{9, 8, 2}},  // what is left: K80
		job{gpus: 3, rates: []float64{9, 8, 7}},  // finds no room
		job{gpus: 1, rates: []float64{1, 1, 10}}, // would, but is behind
	)
	want := []float64{
		0, 1, 0,
		1, 0, 0,
		0, 0, 0,
		0, 0, 1,
		0, 0, 0,
		0, 0, 0,
	}
	if diff := cmp.Diff(want, ask(t, new(FIFO), v)); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

func TestLASWantsEveryTypeThatFits(t *testing.T) {
	v := viewOf(threeTypes, job{gpus: 1, rates: []float64{5, 0, 1}})
	if diff := cmp.Diff([]float64{1, 0, 1}, ask(t, LAS{}, v)); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

// With two jobs each gets half of every type, divided by its GPUs, and no more
// than all of its time.
func TestIsolated(t *testing.T) {
	v := viewOf(threeTypes, job{gpus: 1, rates: []float64{1, 1, 1}}, job{gpus: 4, rates: []float64{1, 1, 1}})
	want := []float64{
		1. / 3, 0.5 / 3, 1.5 / 3, // 1, 0.5 and 1.5 would be 3
		0.25, 0.125, 0.375,
	}
	if diff := cmp.Diff(want, ask(t, Isolated{}, v)); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

// One GPU, three jobs: the shortest runs first, for it delays the others least.
// It keeps the GPU until it leaves; then comes the next.
func TestAlloXRunsTheShortestFirst(t *testing.T) {
	types := []gavel.GPUType{{Name: "V100", GPUs: 1}}
	v := viewOf(types,
		job{gpus: 1, left: 300, rates: []float64{1}}, job{gpus: 1, left: 100, rates: []float64{1}}, job{gpus: 1, left: 200, rates: []float64{1}},
	)
	p := new(AlloX)
	if diff := cmp.Diff([]float64{0, 1, 0}, ask(t, p, v)); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	v.Left = []float64{300, 90, 1} // job 2 is the shortest now, but job 1 has the GPU
	if diff := cmp.Diff([]float64{0, 1, 0}, ask(t, p, v)); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
	v = viewOf(types, job{gpus: 1, left: 300, rates: []float64{1}}, job{gpus: 1, left: 1, rates: []float64{1}})
	v.IDs = []int32{0, 2} // job 1 left
	if diff := cmp.Diff([]float64{0, 1}, ask(t, p, v)); diff != "" {
		t.Errorf("after job 1 left (-want +got):\n%s", diff)
	}
}

// Types are matched for the sum of completion times: job 1 loses little on K80.
func TestAlloXMatchesTypes(t *testing.T) {
	types := []gavel.GPUType{{Name: "V100", GPUs: 1}, {Name: "K80", GPUs: 1}}
	v := viewOf(types, job{gpus: 1, left: 100, rates: []float64{10, 1}}, job{gpus: 1, left: 100, rates: []float64{10, 9}}, job{gpus: 1, left: 1e4, rates: []float64{10, 0}})
	if diff := cmp.Diff([]float64{1, 0, 0, 1, 0, 0}, ask(t, new(AlloX), v)); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

// Alpha limits the jobs looked at to those that wait longest, but not below
// the number of free GPUs.
func TestAlloXAlpha(t *testing.T) {
	types := []gavel.GPUType{{Name: "V100", GPUs: 1}}
	v := viewOf(types,
		job{gpus: 1, left: 100, age: 1, rates: []float64{1}}, job{gpus: 1, left: 900, age: 9, rates: []float64{1}}, job{gpus: 1, left: 200, age: 5, rates: []float64{1}},
	)
	for alpha, want := range map[float64][]float64{0.01: {0, 1, 0}, 0.67: {0, 0, 1}, 1: {1, 0, 0}, 0: {1, 0, 0}} {
		if diff := cmp.Diff(want, ask(t, &AlloX{Alpha: alpha}, v)); diff != "" {
			t.Errorf("alpha %v: shares (-want +got):\n%s", alpha, diff)
		}
	}
}

func TestAlloXRefusesGangs(t *testing.T) {
	v := viewOf(threeTypes, job{gpus: 2, left: 1, rates: []float64{1, 1, 1}})
	if err := new(AlloX).Allocate(v, make([]float64, 3)); !errors.Is(err, ErrGang) {
		t.Errorf("got %v, want ErrGang", err)
	}
}

func TestBlindMinTotalDurationNeedsTheFirstType(t *testing.T) {
	v := viewOf(threeTypes, job{gpus: 1, left: 1, rates: []float64{0, 1, 1}})
	if err := (&MinTotalDuration{Blind: true}).Allocate(v, make([]float64, 3)); !errors.Is(err, ErrReference) {
		t.Errorf("got %v, want ErrReference", err)
	}
}

// policies returns one of each, fresh.
func policies() map[string]gavel.Policy {
	return map[string]gavel.Policy{
		"FIFO": new(FIFO), "LAS": LAS{}, "Isolated": Isolated{}, "AlloX": new(AlloX),
		"MaxMinFairness": &MaxMinFairness{Blind: true}, "MaxMinFairness_Perf": new(MaxMinFairness),
		"MinTotalDuration": &MinTotalDuration{Blind: true}, "MinTotalDuration_Perf": new(MinTotalDuration),
	}
}

// randomView draws a cluster and jobs; gangs only with those.
func randomView(t *rapid.T, gangs bool) *gavel.View {
	types := []gavel.GPUType{{Name: "V100"}, {Name: "P100"}, {Name: "K80"}}
	for i := range types {
		types[i].GPUs = rapid.IntRange(1, 8).Draw(t, "gpus of type")
	}
	one := rapid.Custom(func(t *rapid.T) job {
		j := job{
			gpus: 1, left: rapid.Float64Range(1, 1e6).Draw(t, "left"), age: rapid.Float64Range(0, 1e5).Draw(t, "age"),
			rates: []float64{rapid.Float64Range(0.1, 100).Draw(t, "V100"), 0, 0},
		}
		for i := 1; i < 3; i++ {
			if rapid.Bool().Draw(t, "fits") {
				j.rates[i] = rapid.Float64Range(0.1, 100).Draw(t, "rate")
			}
		}
		if gangs {
			j.gpus = int32(rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "gpus"))
		}
		return j
	})
	return viewOf(types, rapid.SliceOfN(one, 1, 12).Draw(t, "jobs")...)
}

// Shares lie between 0 and 1, and equal questions get equal answers from fresh
// policies. Those that divide time give no job more than all of its time and
// no type more than its GPUs.
func TestSharesAreFeasible(t *testing.T) {
	for name := range policies() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := randomView(t, name != "AlloX")
				x := ask(t, policies()[name], v)
				if diff := cmp.Diff(x, ask(t, policies()[name], v)); diff != "" {
					t.Errorf("a second policy answers otherwise:\n%s", diff)
				}
				const tolerance = 1e-8
				k := len(v.Types)
				used := make([]float64, k)
				for i, g := range v.GPUs {
					sum := 0.0
					for typ, share := range x[i*k : (i+1)*k] {
						if !(share >= 0 && share <= 1) {
							t.Fatalf("job %d: shares %v", i, x[i*k:(i+1)*k])
						}
						sum += share
						used[typ] += share * float64(g)
					}
					if sum > 1+tolerance && name != "LAS" {
						t.Errorf("job %d: shares %v, want at most 1 in total", i, x[i*k:(i+1)*k])
					}
				}
				for typ, n := range used {
					if n > float64(v.Types[typ].GPUs)+tolerance && name != "LAS" {
						t.Errorf("%v GPUs of %v used", n, v.Types[typ])
					}
				}
			})
		})
	}
}

// progress returns the least of Σ_t rate·x / need over the jobs of v.
func progress(v *gavel.View, x []float64, rate func(i, t int) float64, need []float64) float64 {
	k := len(v.Types)
	least := math.Inf(1)
	for i := range v.IDs {
		sum := 0.0
		for t := range k {
			sum += rate(i, t) * x[i*k+t]
		}
		least = min(least, sum/need[i])
	}
	return least
}

// The blind programs, solved by hand, are as good as the linear program's
// answer to the same question.
func TestBlindAnswersAreBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := randomView(t, true)
		k, n := len(v.Types), v.Jobs()
		for _, total := range []bool{false, true} {
			var blind gavel.Policy = &MaxMinFairness{Blind: true}
			need, same := make([]float64, n), viewOf(v.Types)
			for i, g := range v.GPUs {
				need[i] = 1 / float64(g)
				if total {
					need[i] = v.Left[i] / v.Rates[i*k]
				}
				for range k {
					same.Rates = append(same.Rates, 1)
				}
			}
			if total {
				blind = &MinTotalDuration{Blind: true}
			}
			same.IDs, same.GPUs, same.Left, same.Age = v.IDs, v.GPUs, need, v.Age
			one := func(int, int) float64 { return 1 }
			got := progress(v, ask(t, blind, v), one, need)
			want := progress(v, ask(t, new(MinTotalDuration), same), one, need) // maximises the same
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("total %v: got %v, the linear program %v", total, got, want)
			}
		}
	})
}

// What the best shares leave is used: either a type is full, or no job that
// fits it lacks time.
func TestNothingIsLeftThatAJobLacks(t *testing.T) {
	for _, name := range []string{"MaxMinFairness", "MaxMinFairness_Perf", "MinTotalDuration", "MinTotalDuration_Perf"} {
		rapid.Check(t, func(t *rapid.T) {
			v := randomView(t, true)
			x := ask(t, policies()[name], v)
			k := len(v.Types)
			for typ := range k {
				used, lacking := 0.0, 0.0
				for i, g := range v.GPUs {
					used += float64(g) * x[i*k+typ]
					if v.Rates[i*k+typ] > 0 || name == "MaxMinFairness" || name == "MinTotalDuration" {
						lacking += 1 - (x[i*k] + x[i*k+1] + x[i*k+2])
					}
				}
				if used < float64(v.Types[typ].GPUs)-1e-6 && lacking > 1e-6 {
					t.Errorf("%s: %v of %v used while jobs lack %v of their time", name, used, v.Types[typ], lacking)
				}
			}
		})
	}
}
