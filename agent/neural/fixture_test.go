package neural

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// randomModel returns a model of this kind whose parameters are all random, so
// that no two candidates score alike by accident.
func randomModel(seed uint64, kind models.Kind) *models.Model {
	encoder := Encoder(encode.JobStrategyVersion, encode.JobStrategySpace())
	if kind == models.Configuration {
		encoder = Encoder(encode.ConfigurationVersion, encode.ConfigurationSpace())
	}
	p := nn.NewParams(nn.Dims{Candidate: len(encoder.Candidate), Global: len(encoder.Global), Hidden: 8, Value: 4})
	r := rng.New(seed, "model")
	for i := range p.Flat {
		p.Flat[i] = float32(0.3 * r.NormFloat64())
	}
	return models.New(kind, encoder, p)
}

func newPolicy(t testing.TB, m *models.Model) *Policy {
	t.Helper()
	p, err := NewPolicy(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ladder gives every job strategies of one, two and four GPUs on every type:
// the later types are slower, and more GPUs are faster but not in proportion.
type ladder struct{}

func (ladder) Strategies(_ *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	var all []env.Strategy
	for t := range c.Types {
		for i, g := range []int{1, 2, 4} {
			speed := []float64{1, 1.8, 3}[i] / float64(t+1)
			all = append(all, env.Strategy{Type: t, GPUs: g, Nodes: 1, Throughput: speed, Restart: 30 * time.Second})
		}
	}
	return all, nil
}

// smallCluster is a simulated cluster of 12 GPUs of two types with 30 jobs.
func smallCluster() sim.Config {
	return sim.Config{
		Cluster: env.Cluster{
			Types: []env.GPUType{{Name: "fast", MemoryGiB: 16}, {Name: "slow", MemoryGiB: 8}},
			Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 1, GPUs: 4}, {Type: 1, GPUs: 4}},
		},
		Candidates: ladder{},
		Knowledge:  env.Estimate,
		Workload: func(seed uint64) ([]env.Job, error) {
			r, at := rng.New(seed, "jobs"), time.Duration(0)
			var jobs []env.Job
			for id := range 30 {
				at += time.Duration(r.IntN(900)) * time.Second
				jobs = append(jobs, env.Job{
					ID: int64(id), Model: "any", Batch: 8, GPUs: 1 + r.IntN(4), Weight: 1, Submit: at,
					Work: 600 * (0.2 + 8*r.Float64()),
				})
			}
			return jobs, nil
		},
	}
}

func randomMask(r *rand.Rand, n int) []bool {
	mask := make([]bool, n)
	for i := range mask {
		mask[i] = r.IntN(2) == 0
	}
	mask[r.IntN(n)] = true
	return mask
}
