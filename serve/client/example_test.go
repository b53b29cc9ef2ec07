package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/guard"
)

// A cluster's scheduler: publish the state, wait for the decision, apply it,
// acknowledge. Here two jobs want the cluster's four GPUs.
func Example() {
	url, stop := exampleService()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	c, err := client.Connect(ctx, client.Config{URL: url, Cluster: "lab"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	state := exampleState()
	seq, err := c.PublishState(&state)
	if err != nil {
		log.Fatal(err)
	}
	d, err := c.Wait(ctx, seq)
	if err != nil {
		log.Fatal(err)
	}
	for i, k := range d.Allocation {
		if k == env.Idle {
			fmt.Printf("job %d waits\n", state.Jobs[i].ID)
			continue
		}
		strategy := state.Jobs[i].Strategies[k]
		fmt.Printf("job %d runs on %d × %s\n", state.Jobs[i].ID, strategy.GPUs, state.Cluster.Types[strategy.Type].Name)
	}
	if err := c.Ack(d, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println("decided by", d.Message.Source, d.Message.Model)
	// Output:
	// job 1 waits
	// job 2 runs on 4 × V100
	// decided by policy srtf@1
}

func exampleState() env.State {
	job := env.JobState{
		Model: "ResNet-50", Batch: 64, GPUs: 4, Weight: 1, Current: env.Idle,
		Strategies: []env.Strategy{{GPUs: 4, Nodes: 1, Plan: env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 64}, Throughput: 20, Restart: 30 * time.Second}},
	}
	long, short := job, job
	long.ID, long.Remaining = 1, 1e6
	short.ID, short.Remaining = 2, 1e3
	return env.State{
		Cluster:  env.Cluster{Types: []env.GPUType{{Name: "V100", MemoryGiB: 16}}, Nodes: []env.Node{{GPUs: 4}}},
		RoundLen: 6 * time.Minute, Jobs: []env.JobState{long, short},
	}
}

// exampleService stands for `yardmaster serve`.
func exampleService() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "yardmaster")
	if err != nil {
		log.Fatal(err)
	}
	s, err := serve.New(serve.Config{
		Guard:  guard.Config{Policy: heuristic.SRTF{}, ModelName: "srtf@1", Fallback: heuristic.FIFO{}, Greedy: heuristic.FIFO{}, Deadline: 5 * time.Second},
		Broker: broker.Config{StoreDir: dir},
	})
	if err == nil {
		err = s.Start(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
	return s.URL(), func() {
		if err := s.Close(); err != nil {
			log.Print(err)
		}
		os.RemoveAll(dir)
	}
}
