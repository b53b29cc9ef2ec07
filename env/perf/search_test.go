package perf

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// drawQuery returns a question about the built-in catalogue.
func drawQuery(t *rapid.T) *query {
	c := builtin()
	m, _ := c.Model(rapid.SampledFrom(c.ModelNames()).Draw(t, "model"))
	g, _ := c.GPU(rapid.SampledFrom(c.GPUNames()).Draw(t, "gpu"))
	gpus := rapid.IntRange(1, 24).Draw(t, "gpus")
	return &query{
		m: m, g: g, memory: g.MemoryGiB * gib, gpus: gpus, share: rapid.SampledFrom([]int{0, 1, 2, 8}).Draw(t, "share"),
		nodes:  rapid.IntRange(1, gpus).Draw(t, "nodes"),
		global: rapid.IntRange(1, 300).Draw(t, "global"),
	}
}

// slowBest tries every plan there is up to the limits of the model, in any
// power of two of micro-batches down to one sample each, and returns the least
// time.
func slowBest(q *query) float64 {
	best := math.Inf(1)
	if q.m.MaxGPUs > 0 && q.gpus > q.m.MaxGPUs {
		return best
	}
	for d := 1; d <= q.gpus; d++ {
		for t := 1; t <= q.gpus; t++ {
			for p := 1; p <= q.gpus; p++ {
				if d*t*p != q.gpus || d > q.global || t > q.m.MaxTensor || p > q.m.MaxPipeline || q.perNode()%t != 0 {
					continue
				}
				for micro := 1; micro < 2*ceilDiv(q.global, d); micro *= 2 {
					for zero := range 5 { // the last offloads
						offload := zero == 4
						if offload {
							zero = min(2, 2*(d-1))
						}
						if zero > 0 && d == 1 || zero > 1 && p > 1 || offload && (t > 1 || p > 1 || q.m.Hidden == 0 || q.m.OptimizerBytes == 0) {
							continue
						}
						for _, c := range []bool{false, true} {
							plan := env.Plan{Data: d, Tensor: t, Pipeline: p, MicroBatch: ceilDiv(ceilDiv(q.global, d), micro), ZeRO: zero, Checkpoint: c, Offload: offload}
							if c && q.m.Sequence == 0 || !q.fits(&plan) {
								continue
							}
							best = min(best, q.iteration(&plan))
						}
					}
				}
			}
		}
	}
	return best
}

func TestBestIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuery(t)
		plan, seconds, ok := q.best()
		want := slowBest(q)
		if ok != !math.IsInf(want, 1) {
			t.Fatalf("found a plan: %v, best time over all plans %v s", ok, want)
		}
		if !ok {
			return
		}
		if seconds > want*(1+1e-6) {
			t.Fatalf("got %+v with %v s, best of all plans %v s", plan, seconds, want)
		}
		if plan.Data*plan.Tensor*plan.Pipeline != q.gpus || plan.MicroBatch < 1 || !q.fits(&plan) || q.iteration(&plan) != seconds {
			t.Fatalf("plan %+v is not what was asked for", plan)
		}
	})
}

// samplesPerSecond is 0 where nothing fits.
func samplesPerSecond(q *query) float64 {
	if _, seconds, ok := q.best(); ok {
		return float64(q.global) / seconds
	}
	return 0
}

// Better hardware is never slower, and twice the batch never has fewer samples
// per second, but for pipelines that were not full.
func TestMetamorphic(t *testing.T) {
	better := map[string]func(q *query, k float64){
		"memory bandwidth":  func(q *query, k float64) { q.g.MemoryGBs *= k },
		"link bandwidth":    func(q *query, k float64) { q.g.LinkGBs *= k },
		"network bandwidth": func(q *query, k float64) { q.g.NetworkGbits *= k },
		"fewer adapters":    func(q *query, _ float64) { q.g.Adapters = 1 },
		"float32 peak":      func(q *query, k float64) { q.g.Peak.FP32 *= k },
		"float16 peak":      func(q *query, k float64) { q.g.Peak.FP16 *= k },
		"achievable":        func(q *query, _ float64) { q.g.Achievable, q.g.AchievableTensor = 1, 1 },
		"network reached":   func(q *query, k float64) { q.g.NetworkEfficiency = min(1, k*q.g.NetworkEfficiency) },
		"link reached":      func(q *query, k float64) { q.g.LinkEfficiency = min(1, k*q.g.LinkEfficiency) },
		"host link":         func(q *query, k float64) { q.g.HostLinkGBs *= k },
		"host bandwidth":    func(q *query, k float64) { q.g.HostMemoryGBs *= k },
		"host memory":       func(q *query, k float64) { q.g.HostGiB *= k },
		"smaller gradients": func(q *query, k float64) { q.m.GradientBytes /= k },
		"larger share":      func(q *query, _ float64) { q.share = 1 },
		"kernel":            func(q *query, k float64) { q.g.KernelUS /= k },
		"memory":            func(q *query, k float64) { q.memory *= k },
		"smaller model":     func(q *query, k float64) { q.m.ParametersM /= k },
		"less arithmetic":   func(q *query, k float64) { q.m.ForwardGFLOPs /= k },
		"less traffic":      func(q *query, k float64) { q.m.TrafficMiB /= k },
		"less kept":         func(q *query, k float64) { q.m.ActivationMiB /= k },
		"less host work":    func(q *query, k float64) { q.m.HostMS /= k },
		"no input limit":    func(q *query, _ float64) { q.m.InputRate = 0 },
		"more overlap":      func(q *query, k float64) { q.m.Overlap *= k },
		"one node":          func(q *query, _ float64) { q.nodes = 1 },
		"twice the batch":   func(q *query, _ float64) { q.global *= 2 },
	}
	for name, change := range better {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				q := drawQuery(t)
				before := samplesPerSecond(q)
				if plan, _, ok := q.best(); ok && name == "twice the batch" {
					if _, micro := q.accumulation(&plan); micro < plan.Pipeline {
						return // more micro-batches in flight need more memory
					}
				}
				change(q, rapid.Float64Range(1, 8).Draw(t, "k"))
				if after := samplesPerSecond(q); after < before*(1-1e-6) {
					t.Fatalf("%v samples/s fell to %v", before, after)
				}
			})
		})
	}
}
