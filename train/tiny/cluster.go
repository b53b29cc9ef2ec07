package tiny

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Cluster returns a simulator of two types of GPU, four of each, on which jobs
// jobs arrive in a rush: an episode is some dozens of rounds.
func Cluster(jobs int) sim.Config {
	return sim.Config{
		Cluster: env.Cluster{
			Types: []env.GPUType{{Name: "fast", MemoryGiB: 16, PricePerHour: 2}, {Name: "slow", MemoryGiB: 16, PricePerHour: 1}},
			Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 1, GPUs: 4}},
		},
		Workload:   rush(jobs),
		Candidates: scaling{},
	}
}

// scaling is a made-up performance model: a job runs on one GPU or on as many as
// it asked for, of either type; n GPUs are n times, slow ones half as fast.
type scaling struct{}

// Strategies implements sim.Candidates.
func (scaling) Strategies(j *env.Job, _ *env.Cluster) ([]env.Strategy, error) {
	var all []env.Strategy
	for t, speed := range []float64{2, 1} {
		for _, g := range []int{1, j.GPUs} {
			all = append(all, env.Strategy{Type: t, GPUs: g, Nodes: 1, Throughput: speed * float64(g), Restart: 30 * time.Second})
			if j.GPUs == 1 {
				break
			}
		}
	}
	return all, nil
}

// rush is n jobs of one to four GPUs, ten minutes to two hours of one fast GPU
// each, some minutes apart.
func rush(n int) sim.Workload {
	return func(seed uint64) ([]env.Job, error) {
		r := rng.New(seed, "tiny/rush")
		jobs := make([]env.Job, n)
		at := time.Duration(0)
		for i := range jobs {
			at += time.Duration(r.IntN(600)) * time.Second
			jobs[i] = env.Job{
				ID: int64(i + 1), Model: "m", Batch: 1, GPUs: []int{1, 2, 4}[r.IntN(3)],
				Work: float64(1200 + r.IntN(13200)), Submit: at, Weight: 1,
			}
		}
		return jobs, nil
	}
}
