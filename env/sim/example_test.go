package sim_test

import (
	"fmt"
	"log"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

// oneGPU lets every job run on one GPU of the first type at 10 steps/s, at the
// price of 30 s per start.
type oneGPU struct{}

func (oneGPU) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	return []env.Strategy{{GPUs: 1, Nodes: 1, Throughput: 10, Restart: 30 * time.Second}}, nil
}

func twoJobs(uint64) ([]env.Job, error) {
	return []env.Job{
		{ID: 1, Model: "resnet50", Batch: 64, GPUs: 1, Work: 6000, Weight: 1},
		{ID: 2, Model: "resnet50", Batch: 64, GPUs: 1, Work: 3000, Submit: 100 * time.Second, Weight: 1},
	}, nil
}

func config() sim.Config {
	return sim.Config{
		Cluster:    env.Cluster{Types: []env.GPUType{{Name: "V100"}}, Nodes: []env.Node{{GPUs: 1}}},
		Workload:   twoJobs,
		Candidates: oneGPU{},
	}
}

// The oldest job gets the GPU, round by round.
func ExampleSim() {
	s, err := sim.New(config())
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Reset(1); err != nil {
		log.Fatal(err)
	}
	total := 0.0
	for !s.Done() {
		a := env.NewAllocation(len(s.State().Jobs))
		a[0] = 0
		out, err := s.Advance(a)
		if err != nil {
			log.Fatal(err)
		}
		total += out.Reward
	}
	schedule := s.Schedule()
	for _, j := range schedule.Jobs {
		fmt.Printf("job %d: JCT %v\n", j.ID, j.JCT())
	}
	fmt.Printf("reward: %.4f job-hours\n", total)
	// Output:
	// job 1: JCT 10m30s
	// job 2: JCT 15m50s
	// reward: -0.4389 job-hours
}

// The same through the environment: pick the only candidate that is legal, then
// stop, until the episode is over.
func ExampleJobStrategy() {
	e, err := sim.NewJobStrategy(config())
	if err != nil {
		log.Fatal(err)
	}
	step, err := e.Reset(1)
	total, steps := 0.0, 0
	for err == nil && !step.Done() {
		action := env.Action(0) // stop
		for row, legal := range step.Observation.Mask {
			if legal && row > 0 {
				action = env.Action(row)
				break
			}
		}
		step, err = e.Step(action)
		total += step.Reward
		steps++
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d steps, reward: %.4f job-hours\n", steps, total)
	// Output: 6 steps, reward: -0.4389 job-hours
}
