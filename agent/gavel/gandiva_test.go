package gavel

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env/gavel"
)

// packingView returns jobs 0, 1, 2 … of these numbers of GPUs on one type, that
// each do 1 step/s alone and side steps/s side by side, without those that left.
func packingView(gpus int, side float64, jobs []int, left ...int32) *gavel.PackingView {
	v := &gavel.PackingView{Types: []gavel.GPUType{{Name: "V100", GPUs: gpus}}, ByName: []int{0}}
	add := func(u gavel.Unit, gpus int, rates [2]float64) {
		if !slices.Contains(left, u.First) && !slices.Contains(left, u.Second) {
			v.Units, v.GPUs, v.Rates = append(v.Units, u), append(v.GPUs, gpus), append(v.Rates, rates)
		}
	}
	for i, g := range jobs {
		add(gavel.Unit{First: int32(i), Second: gavel.Alone}, g, [2]float64{1, 0})
	}
	for i, g := range jobs {
		for j := i + 1; j < len(jobs); j++ {
			if jobs[j] == g {
				add(gavel.Unit{First: int32(i), Second: int32(j)}, g, [2]float64{side, side})
			}
		}
	}
	return v
}

// given returns the shares that are not 0.
func given(t *testing.T, p *Gandiva, v *gavel.PackingView) map[gavel.Unit]float64 {
	t.Helper()
	x := make([]float64, len(v.Units))
	if err := p.Allocate(v, x); err != nil {
		t.Fatal(err)
	}
	got := make(map[gavel.Unit]float64)
	for i, u := range v.Units {
		if x[i] != 0 {
			got[u] = x[i]
		}
	}
	return got
}

func alone(j int32) gavel.Unit { return gavel.Unit{First: j, Second: gavel.Alone} }

func TestGandivaPacksOnlyWhereItIsCrowded(t *testing.T) {
	p := NewGandiva(0)
	want := map[gavel.Unit]float64{alone(0): 1, alone(1): 1, alone(2): 1}
	if diff := cmp.Diff(want, given(t, p, packingView(3, 0.9, []int{1, 1, 1}))); diff != "" {
		t.Errorf("as many GPUs as wanted (-want +got):\n%s", diff)
	}
	// Seed 0 draws 1 and 2 of three.
	want = map[gavel.Unit]float64{alone(0): 1, {First: 1, Second: 2}: 1}
	if diff := cmp.Diff(want, given(t, p, packingView(2, 0.9, []int{1, 1, 1}))); diff != "" {
		t.Errorf("one GPU too few (-want +got):\n%s", diff)
	}
}

func TestGandivaKeepsPairsWhileTheyAreWorthIt(t *testing.T) {
	jobs := []int{1, 1, 1, 1}
	p := NewGandiva(0)
	first := given(t, p, packingView(2, 0.9, jobs))
	for range 20 { // draws of its own would give others
		if diff := cmp.Diff(first, given(t, p, packingView(2, 0.9, jobs))); diff != "" {
			t.Fatalf("(-first +now):\n%s", diff)
		}
	}
	// A job that leaves sets its partner free, for a job that comes.
	var pair gavel.Unit
	for u := range first {
		if u.First == 0 {
			pair = u
		}
	}
	other := pair.Second
	now := given(t, p, packingView(2, 0.9, append(jobs, 1), 0))
	if _, kept := now[gavel.Unit{First: min(other, 4), Second: max(other, 4)}]; !kept || len(now) != 2 {
		t.Errorf("0 left %d: got %v, want %d with 4", other, now, other)
	}
	// Pairs that do less than one job alone are parted, and drawn anew at once.
	p = NewGandiva(0)
	drawn := make(map[gavel.Unit]bool)
	for range 40 {
		for u := range given(t, p, packingView(2, 0.4, jobs)) {
			drawn[u] = true
		}
	}
	if len(drawn) != 6 {
		t.Errorf("got %v, want all six pairs", drawn)
	}
}

// Jobs of different sizes are never paired, and pairs that do not fit last for
// one round of shares.
func TestGandivaPairsJobsOfOneSize(t *testing.T) {
	p := NewGandiva(3)
	for range 20 {
		for u := range given(t, p, packingView(2, 0, []int{1, 2, 4, 1})) {
			if u.IsPair() && u != (gavel.Unit{First: 0, Second: 3}) {
				t.Fatalf("got %v", u)
			}
		}
	}
}
