package tune

import (
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// poisson generates jobs as Gavel's generator does (OSDI 2020), on few models:
// arrivals at a constant rate, 1 to 8 GPUs, durations log-uniform in two pieces.
type poisson struct {
	perHour float64
	scale   float64 // of the durations; 0 is 1
}

func (g poisson) Generate(seed uint64, from, horizon time.Duration) ([]env.Job, error) {
	r := rng.New(seed, "test/poisson")
	var jobs []env.Job
	scale := g.scale
	if scale == 0 {
		scale = 1
	}
	for at := from; ; {
		at += time.Duration(r.ExpFloat64() / g.perHour * float64(time.Hour))
		if at >= from+horizon {
			return jobs, nil
		}
		gpus := 1
		if u := r.Float64(); u > 0.95 {
			gpus = 8
		} else if u > 0.8 {
			gpus = 4
		} else if u > 0.7 {
			gpus = 2
		}
		low, high := 1.5, 3.0
		if r.Float64() > 0.8 {
			low, high = 3, 4
		}
		seconds := 60 * math.Pow(10, low+(high-low)*r.Float64()) * scale
		jobs = append(jobs, env.Job{
			ID: int64(len(jobs) + 1), Model: "ResNet-50", Batch: 32, GPUs: gpus,
			Work: seconds * 10 * float64(gpus), Submit: at, Weight: 1,
		})
	}
}

// episodes returns a workload of n jobs.
func (g poisson) episodes(n int) sim.Workload {
	return func(seed uint64) ([]env.Job, error) {
		jobs, err := g.Generate(seed, 0, time.Duration(3*float64(n)/g.perHour*float64(time.Hour)))
		if err != nil || len(jobs) < n {
			return jobs, err
		}
		return jobs[:n], nil
	}
}

func testSim(t testing.TB, spec string) sim.Config {
	t.Helper()
	cluster, err := perf.Default().ParseCluster(spec, 4)
	if err != nil {
		t.Fatal(err)
	}
	p, err := perf.New(perf.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sim.Config{Cluster: cluster, Candidates: p, Knowledge: env.Estimate}
}
