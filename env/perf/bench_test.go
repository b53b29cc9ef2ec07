package perf

import (
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

func BenchmarkStrategiesCached(b *testing.B) {
	p := mustNew(b, Config{})
	c := mustParse(b, "V100=16,P100=16,K80=16", 4)
	job := env.Job{Model: "ResNet-50", Batch: 64, GPUs: 4}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Strategies(&job, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStrategies(b *testing.B) {
	for _, model := range []string{"ResNet-50", "LLaMA-7B"} {
		b.Run(model, func(b *testing.B) {
			p := mustNew(b, Config{})
			c := mustParse(b, "H100=64,A800=64", 8)
			h, err := newHardware(c, builtin())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.enumerate(class{model, 4, 32}, h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkThroughput(b *testing.B) {
	p := mustNew(b, Config{})
	for b.Loop() {
		if _, err := p.Throughput("ResNet-18", 64, "V100", 4, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// Asking again about a known class allocates nothing.
func TestCachedStrategiesAllocateNothing(t *testing.T) {
	p := mustNew(t, Config{})
	c := mustParse(t, "V100=16,P100=16,K80=16", 4)
	job := env.Job{Model: "ResNet-50", Batch: 64, GPUs: 4}
	if _, err := p.Strategies(&job, c); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Strategies(&job, c) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
