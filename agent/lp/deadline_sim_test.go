package lp

import (
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// onTwoTypes are candidates on a fast, dear type and a slow, cheap one: the fast one
// is worth its price for nobody, so that only a deadline is a reason to take it.
type onTwoTypes struct{}

func (onTwoTypes) Strategies(j *env.Job, _ *env.Cluster) ([]env.Strategy, error) {
	speed := math.Pow(1.8, math.Log2(float64(j.GPUs)))
	return []env.Strategy{
		{Type: 0, GPUs: j.GPUs, Nodes: 1, Throughput: 3 * speed},
		{Type: 1, GPUs: j.GPUs, Nodes: 1, Throughput: speed},
	}, nil
}

// dueJobs draws jobs with deadlines at 1.2 to 4 times what they take on the fast type.
func dueJobs(seed uint64) []env.Job {
	r := rng.New(seed, "lp/deadlines")
	var jobs []env.Job
	now := 0.0
	for i := range 60 {
		asked := 1 << r.IntN(3)
		fast := 2400 * math.Exp(r.NormFloat64()-0.5) // seconds
		now += 600 * r.ExpFloat64()
		jobs = append(jobs, env.Job{
			ID: int64(i + 1), Model: "m", Batch: 1, GPUs: asked, Weight: 1,
			Work:     math.Ceil(3 * fast * math.Pow(1.8, math.Log2(float64(asked)))),
			Submit:   time.Duration(now * float64(time.Second)),
			Deadline: time.Duration((now + fast*(1.2+2.8*r.Float64())) * float64(time.Second)),
		})
	}
	return jobs
}

// played returns how jobs fare under p on twelve GPUs of each type.
func played(t *testing.T, p agent.Policy, jobs []env.Job) metrics.Summary {
	t.Helper()
	sum, err := agenttest.Play(t.Context(), p, sim.Config{
		Cluster: env.Cluster{
			Types: []env.GPUType{{Name: "V100", PricePerHour: 10}, {Name: "K80", PricePerHour: 1}},
			Nodes: []env.Node{{Type: 0, GPUs: 12}, {Type: 1, GPUs: 12}},
		},
		Workload: func(uint64) ([]env.Job, error) { return jobs, nil }, Candidates: onTwoTypes{},
		Round: time.Minute, FreeRestarts: true, FreePlacement: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// With the rows for deadlines, the program that minimises cost misses fewer of them
// (Gavel, OSDI 2020, reports the same of its cost policies with and without SLOs), and
// those by seconds: a job gets what it just needs, in whole rounds, so that some end
// in the one after their deadline.
func TestSLOOnTraces(t *testing.T) {
	late, tardy := map[string]int{}, map[string]float64{}
	for _, name := range []string{"lp:gavel-cost", "lp:gavel-slo"} {
		p, err := New(name, Config{})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(4) {
			sum := played(t, p, dueJobs(seed))
			late[name] += sum.Late
			tardy[name] += sum.Tardiness
		}
	}
	if 4*late["lp:gavel-slo"] > 3*late["lp:gavel-cost"] || 50*tardy["lp:gavel-slo"] > tardy["lp:gavel-cost"] {
		t.Errorf("deadlines missed: %v, mean tardiness in seconds, of all traces: %v", late, tardy)
	}
}
