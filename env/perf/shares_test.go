package perf

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// A part of a GPU has a part of its memory: an eighth of a V100 has the 1.4 GiB
// that LM needs and not the 5.8 that CycleGAN does. Jobs of two GPUs get none.
func TestSharesAreOffered(t *testing.T) {
	p := mustNew(t, Config{Shares: []int{2, 8, 4}})
	c := mustParse(t, "V100=2", 2)
	s, err := p.Strategies(&env.Job{Model: "LM", Batch: 20, GPUs: 1}, c)
	if err != nil {
		t.Fatal(err)
	}
	var shares []int
	for i, x := range s {
		if err := x.Validate(c); err != nil {
			t.Errorf("strategy %d: %v", i, err)
		}
		if i > 0 && (x.Held() <= s[i-1].Held() || x.Throughput <= s[i-1].Throughput) {
			t.Errorf("%+v after %+v: want more held and faster", x, s[i-1])
		}
		if i > 0 && x.GPUs == 1 && x.Throughput > 2*s[i-1].Throughput*(1+1e-9) {
			t.Errorf("%+v is more than twice as fast as its half, %+v", x, s[i-1])
		}
		shares = append(shares, x.Share)
	}
	if len(shares) < 4 || shares[0] != 8 || shares[1] != 4 || shares[2] != 2 || shares[3] != 0 {
		t.Errorf("got shares %v, want 8, 4, 2 and the whole GPU", shares)
	}
	for _, j := range []env.Job{{Model: "LM", Batch: 20, GPUs: 2}, {Model: "CycleGAN", Batch: 1, GPUs: 1}} {
		s, err := p.Strategies(&j, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range s {
			if x.Share == 8 {
				t.Errorf("%s on %d GPUs was offered an eighth: %+v", j.Model, j.GPUs, x)
			}
		}
	}
}

func TestSharesMemory(t *testing.T) {
	p := mustNew(t, Config{Shares: []int{2, 4, 8}})
	c := mustParse(t, "V100=1,K80=1,H100=1", 1)
	rapid.Check(t, func(t *rapid.T) {
		m, _ := builtin().Model(rapid.SampledFrom(builtin().ModelNames()).Draw(t, "model"))
		j := env.Job{Model: m.Name, Batch: rapid.SampledFrom(m.Batches).Draw(t, "batch"), GPUs: 1}
		all, err := p.Candidates(&j, c)
		if errors.Is(err, ErrNoStrategy) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for _, x := range all {
			g, _ := builtin().GPU(x.GPU)
			if limit := g.MemoryGiB / float64(max(1, x.Share)); x.MemoryGiB > limit*(1+1e-9) {
				t.Fatalf("%+v needs %v GiB of %v", x.Strategy, x.MemoryGiB, limit)
			}
			if !near(x.PricePerHour, g.PricePerHour*x.Held()) || !near(x.SamplesPerSecond, x.Throughput*float64(j.Batch)) {
				t.Fatalf("got %+v", x)
			}
		}
	})
}

func TestSharesRefused(t *testing.T) {
	for _, shares := range [][]int{{1}, {3}, {16}, {2, 2}, {0}, {-2}} {
		if _, err := New(Config{Shares: shares}); err == nil || !strings.Contains(err.Error(), "Shares") {
			t.Errorf("%v: got %v, want an error about Shares", shares, err)
		}
	}
}

func TestCandidatesSayWhatWasMeasured(t *testing.T) {
	p := mustNew(t, Config{Shares: []int{2}, Measured: []Measurement{
		{Model: "LM", Batch: 20, GPUType: "V100", GPUs: 1, StepsPerSecond: 50, Plan: env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 20}},
	}})
	c := mustParse(t, "V100=2", 2)
	c.Types[0].PricePerHour = 5 // what the cluster says wins
	all, err := p.Candidates(&env.Job{Model: "LM", Batch: 20, GPUs: 1}, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		if want := x.GPUs == 1 && x.Share == 0; x.Measured != want || x.PricePerHour != 5*x.Held() {
			t.Errorf("got %+v, want measured %v and 5 dollars per GPU", x, want)
		}
	}
	if _, err := p.Candidates(&env.Job{Model: "x", Batch: 1, GPUs: 1}, c); !errors.Is(err, ErrUnknownModel) {
		t.Errorf("got %v, want ErrUnknownModel", err)
	}
}
