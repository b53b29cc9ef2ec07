package neural

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// zeroModel returns a model of JobStrategy-v0 that scores every row 0.
func zeroModel(hidden int) *models.Model {
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: hidden, Value: 8})
	return models.New(models.JobStrategy, Encoder(encode.JobStrategyVersion, space), p)
}

// randomModel returns a model whose parameters are all random. Its bonus for
// the stop row is such that stop comes early, late or never.
func randomModel(r *rand.Rand, hidden int) *models.Model {
	m := zeroModel(hidden)
	randomize(r, m.Params)
	m.Params.Tensors[nn.ScoreLinearWeight].Data[column("is_stop")] = float32(4 * r.NormFloat64())
	return m
}

// priorModel returns a model as training starts with: the density of a
// candidate, moves discouraged, under a freshly initialised network.
func priorModel(r *rand.Rand) *models.Model {
	m := zeroModel(32)
	m.Params.Initialize(r)
	linear := m.Params.Tensors[nn.ScoreLinearWeight].Data
	linear[column("log_density")], linear[column("moves")], linear[column("is_stop")] = 1, -0.3, -8
	return m
}

func randomize(r *rand.Rand, p *nn.Params) {
	for i := range p.Flat {
		p.Flat[i] = float32(0.3 * r.NormFloat64())
	}
}

// column returns the index of a candidate's feature.
func column(name string) int {
	for i, f := range encode.JobStrategySpace().Candidate {
		if f.Name == name {
			return i
		}
	}
	panic("no feature " + name)
}

// configurationModel returns a model of SchedulerConfig-v0 with random
// parameters.
func configurationModel(r *rand.Rand) *models.Model {
	space := encode.ConfigurationSpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 16, Value: 8})
	randomize(r, p)
	return models.New(models.Configuration, Encoder(encode.ConfigurationVersion, space), p)
}

func mustPolicy(t testing.TB, m *models.Model) *Policy {
	t.Helper()
	p, err := NewPolicy(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func stream(seed uint64) *rand.Rand { return rng.New(seed, "neural") }

// randomStates returns valid states, the last of them without jobs.
func randomStates(seed uint64, n int) []*env.State {
	r := stream(seed)
	states := make([]*env.State, n)
	for i := range states {
		states[i] = agenttest.RandomState(r, agenttest.Options{})
	}
	states[n-1].Jobs = nil
	return states
}

// sizes is a fake performance model: half, all and twice the requested GPUs of
// each type, type t half as fast as type t-1.
type sizes struct{}

func (sizes) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	var list []env.Strategy
	for t, capacity := range c.Capacity() {
		for _, g := range []int{j.GPUs / 2, j.GPUs, 2 * j.GPUs} {
			if g > 0 && g <= capacity {
				list = append(list, env.Strategy{
					Type: t, GPUs: g, Nodes: (g + 3) / 4, Restart: 30 * time.Second,
					Throughput: 8 * math.Pow(0.5, float64(t)) * math.Pow(float64(g), 0.9),
				})
			}
		}
	}
	return list, nil
}

// simConfig is a cluster of 16 GPUs of two types with up to some 20 jobs.
func simConfig() sim.Config {
	return sim.Config{
		Cluster: env.Cluster{
			Types: []env.GPUType{{Name: "fast"}, {Name: "slow"}},
			Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 0, GPUs: 4}, {Type: 1, GPUs: 4}, {Type: 1, GPUs: 4}},
		},
		Workload:   workload,
		Candidates: sizes{},
		MaxRounds:  60,
	}
}

func workload(seed uint64) ([]env.Job, error) {
	r := rng.New(seed, "workload")
	jobs := make([]env.Job, 30)
	at := time.Duration(0)
	for i := range jobs {
		at += time.Duration(r.Int64N(int64(8 * time.Minute)))
		jobs[i] = env.Job{
			ID: int64(i + 1), Model: "m", Batch: 32, GPUs: 1 << r.IntN(4),
			Work: 1000 * math.Pow(50, r.Float64()), Submit: at, Weight: 1,
		}
	}
	return jobs, nil
}
