package datasets_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
	"github.com/yardmaster/yardmaster/env/perf"
)

// From a generated trace to the jobs of one training episode.
func Example() {
	trace, err := synth.Generate(synth.Config{Jobs: 500, Seed: 1, InterArrival: 10 * time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "datasets")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "jobs.parquet")
	if err := datasets.Write(path, trace); err != nil {
		log.Fatal(err)
	}

	table, err := datasets.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	parts, err := table.Split(0.8, 0.2) // train, test
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := perf.Default().ParseCluster("V100=16,P100=16,K80=16", 4)
	if err != nil {
		log.Fatal(err)
	}
	performance, err := perf.New(perf.Config{})
	if err != nil {
		log.Fatal(err)
	}
	jobs, report, err := datasets.Resolve(parts[0], performance, datasets.ResolveConfig{Cluster: cluster})
	if err != nil {
		log.Fatal(err)
	}
	windows, err := datasets.NewWindows(jobs, 100, 0.9, cluster, performance)
	if err != nil {
		log.Fatal(err)
	}
	episode, err := windows.Jobs(7)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report)
	fmt.Println(len(episode), "jobs, the first at", episode[0].Submit)
	fmt.Println(windows.Disjoint(), "windows share no job")
	// Output:
	// 400 rows read, 400 kept
	// 100 jobs, the first at 0s
	// 4 windows share no job
}

// A message says where the problem is and what to do about it.
func ExampleRowError() {
	table := &datasets.Jobs{Name: "jobs.parquet", Rows: []datasets.Row{
		{ID: 1, GPUs: 8, Duration: time.Hour},
		{ID: 2, GPUs: 8, Duration: -time.Second},
	}}
	fmt.Println(table.Validate())
	// Output:
	// datasets: jobs.parquet: row 2: column duration_ns is -1000000000: want > 0 nanoseconds and at most 100 years, or null where only steps are known
}
