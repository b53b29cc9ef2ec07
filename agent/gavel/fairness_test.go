package gavel

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// drawView draws up to eight jobs on two GPU types, old and new ones.
func drawView(t *rapid.T) *gavel.View {
	v := &gavel.View{
		Types:  []gavel.GPUType{{Name: "V100", GPUs: rapid.IntRange(1, 8).Draw(t, "V100")}, {Name: "K80", GPUs: rapid.IntRange(1, 8).Draw(t, "K80")}},
		ByName: []int{1, 0},
	}
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		v.IDs = append(v.IDs, int32(i))
		v.GPUs = append(v.GPUs, 1)
		v.Rates = append(v.Rates, rapid.Float64Range(0.1, 10).Draw(t, "fast"), rapid.Float64Range(0.1, 10).Draw(t, "slow"))
		v.Left = append(v.Left, rapid.Float64Range(10, 1e5).Draw(t, "left"))
		v.Age = append(v.Age, rapid.Float64Range(0, 1e4).Draw(t, "age"))
	}
	return v
}

// worst returns the largest ρ under the shares x of jobs that have done nothing.
func worst(p *FinishTimeFairness, v *gavel.View, x []float64) float64 {
	largest, k := 0.0, len(v.Types)
	for i := range v.IDs {
		rate := 0.0
		for t, r := range v.Rates[i*k : (i+1)*k] {
			if p.Blind {
				r = v.Rates[i*k]
			}
			rate += r * x[i*k+t]
		}
		largest = max(largest, (v.Age[i]+v.Left[i]/rate)/(v.Left[i]/p.isolated(v, i)))
	}
	return largest
}

// level solves, for a given ρ, the plain max-min program of the rates that it asks
// for: at least 1 says that ρ can be reached. It knows nothing of lags.
func level(t *rapid.T, p *FinishTimeFairness, v *gavel.View, rho float64) float64 {
	q := simplex.Problem{Objective: simplex.MaxMin, Offsets: []int32{0}}
	k := len(v.Types)
	for t, kind := range v.Types {
		q.Capacity = append(q.Capacity, float64(kind.GPUs))
		q.Usages = append(q.Usages, simplex.Usage{{Resource: int32(t), Amount: 1}})
	}
	for i := range v.IDs {
		for t := range k {
			rate := v.Rates[i*k+t]
			if p.Blind {
				rate = v.Rates[i*k]
			}
			q.Rate, q.Usage = append(q.Rate, rate), append(q.Usage, int32(t))
		}
		q.Offsets = append(q.Offsets, int32((i+1)*k))
		room := rho*v.Left[i]/p.isolated(v, i) - v.Age[i]
		if room <= 0 {
			return 0
		}
		q.Target = append(q.Target, v.Left[i]/room)
	}
	r, err := simplex.Solve(context.Background(), &q, simplex.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Objective
}

// TestFinishTimeFairnessIsBest: the shares fit, what they reach is what they say,
// and nothing less than the largest ρ can be reached.
func TestFinishTimeFairnessIsBest(t *testing.T) {
	for _, blind := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			v := drawView(t)
			p := &FinishTimeFairness{Blind: blind, Seed: 1}
			x := make([]float64, len(v.Rates))
			if err := p.Allocate(v, x); err != nil {
				t.Fatal(err)
			}
			for i := range v.IDs {
				if sum := x[2*i] + x[2*i+1]; sum > 1+1e-9 {
					t.Errorf("blind %v: job %d has shares that sum to %v", blind, i, sum)
				}
			}
			for kind := range v.Types {
				used := 0.0
				for i := range v.IDs {
					used += x[2*i+kind]
				}
				if used > float64(v.Types[kind].GPUs)*(1+1e-9) {
					t.Errorf("blind %v: %v of %d GPUs are used", blind, used, v.Types[kind].GPUs)
				}
			}
			rho := worst(p, v, x)
			if z := level(t, p, v, rho*1.0001); z < 1-1e-6 {
				t.Errorf("blind %v: ρ is %v, which cannot be reached: level %v", blind, rho, z)
			}
			if z := level(t, p, v, rho*0.999); z > 1+1e-6 {
				t.Errorf("blind %v: ρ is %v, but less can be reached: level %v", blind, rho, z)
			}
		})
	}
}

// TestFinishTimeFairnessRemembers: what a job has done counts at the isolated rate
// of the time, so that a job that got more than its share comes last.
func TestFinishTimeFairnessRemembers(t *testing.T) {
	p := new(FinishTimeFairness)
	v := &gavel.View{
		Types: []gavel.GPUType{{Name: "V100", GPUs: 1}}, ByName: []int{0},
		IDs: []int32{0, 1}, GPUs: []int32{1, 1}, Rates: []float64{1, 1}, Left: []float64{1000, 1000}, Age: []float64{0, 0},
	}
	x := make([]float64, 2)
	if err := p.Allocate(v, x); err != nil {
		t.Fatal(err)
	}
	if math.Abs(x[0]-0.5) > 1e-9 || math.Abs(x[1]-0.5) > 1e-9 {
		t.Errorf("equal jobs: got %v, want half each", x)
	}
	// The first did 400 steps in 500 s, which alone takes 800 s at half a GPU; the
	// second 100, 200 s. ρ = (500 + left/x) / (alone + 2·left), the same for both.
	v.Left, v.Age = []float64{600, 900}, []float64{500, 500}
	clear(x)
	if err := p.Allocate(v, x); err != nil {
		t.Fatal(err)
	}
	first, second := (500+600/x[0])/(800+1200), (500+900/x[1])/(200+1800)
	if math.Abs(first-second) > 1e-6 || math.Abs(x[0]+x[1]-1) > 1e-9 {
		t.Errorf("shares %v make ρ %v and %v, want them equal", x, first, second)
	}
}

func TestBlindFinishTimeFairnessNeedsTheFirstType(t *testing.T) {
	v := &gavel.View{
		Types: []gavel.GPUType{{Name: "V100", GPUs: 1}, {Name: "K80", GPUs: 1}}, ByName: []int{1, 0},
		IDs: []int32{0}, GPUs: []int32{1}, Rates: []float64{0, 1}, Left: []float64{10}, Age: []float64{0},
	}
	if err := (&FinishTimeFairness{Blind: true}).Allocate(v, make([]float64, 2)); !errors.Is(err, ErrReference) {
		t.Errorf("got %v, want %v", err, ErrReference)
	}
}
