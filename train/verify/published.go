package verify

import (
	"context"
	"fmt"
	"math"

	policies "github.com/yardmaster/yardmaster/agent/gavel"
	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// publishedRun is a run whose figures Gavel's authors published, to 6 digits
// after the point.
type publishedRun struct {
	seed              uint64
	interarrival      float64 // s, mean
	mean, utilization float64
}

// publishedRuns are those of AlloX in EXPERIMENTS.md of
// github.com/stanford-futuredata/gavel: jobs of one GPU on 36 GPUs of each type,
// averages over jobs 4000 to 4999.
var publishedRuns = []publishedRun{
	{42, 9000, 59492.106756, 0.060797},
	{1234, 9000, 64494.582453, 0.061878},
	{15, 9000, 54834.129989, 0.060839},
	{42, 4500, 59770.441018, 0.121262},
	{1234, 4500, 64695.450528, 0.123312},
	{15, 4500, 55072.401336, 0.121365},
}

const (
	publishedGPUs   = 36 // of each type
	publishedFirst  = 4000
	publishedEnd    = 5000
	publishedJobs   = 8000 // more than arrive until those have left
	publishedOracle = "simulation_throughputs.json"
)

// comparePublished plays a published run on the jobs of its seed.
func comparePublished(ctx context.Context, l *loader, run *publishedRun) Row {
	row := Row{Name: fmt.Sprintf("AlloX_Perf seed %d %g s %[3]d:%[3]d:%[3]d, published", run.seed, run.interarrival, publishedGPUs)}
	jobs, err := l.generated(run.seed, run.interarrival, publishedJobs)
	if err != nil {
		row.Err = err
		return row
	}
	w := gavel.Window{First: publishedFirst, End: publishedEnd}
	r, err := play(ctx, gavel.Config{
		Types: gpuTypes([]int{publishedGPUs, publishedGPUs, publishedGPUs}), Jobs: jobs, Window: w, Policy: new(policies.AlloX), Seed: run.seed,
	})
	if err != nil {
		row.Err = err
		return row
	}
	if last := jobs[len(jobs)-1].Arrival; last < r.End {
		row.Err = fmt.Errorf("the last of %d jobs arrives at %v s, before the end of the run (%v)", len(jobs), last, r.End)
		return row
	}
	s, err := r.Summarize(w)
	if err != nil {
		row.Err = err
		return row
	}
	row.Figures = []Figure{published("mean JCT", s.Mean, run.mean), published("utilization", r.Utilization, run.utilization)}
	return row
}

// published compares with a figure of six digits after the point, all of which
// must agree.
func published(name string, ours, theirs float64) Figure {
	ours = math.Round(ours*1e6) / 1e6
	return Figure{Name: name, Ours: ours, Theirs: theirs, Low: ours, High: ours}
}

// generatorTypes are the job types of Gavel's generator, in its order
// (job_table.py), with one GPU, and which of them may have several.
func generatorTypes() (classes []files.Class, distributed []bool) {
	add := func(model string, several bool, batches ...int) {
		for _, batch := range batches {
			classes = append(classes, files.Class{Model: model, Batch: batch, GPUs: 1})
			distributed = append(distributed, several)
		}
	}
	add("ResNet-18", true, 16, 32, 64, 128, 256)
	add("ResNet-50", true, 16, 32, 64, 128)
	add("Transformer", true, 16, 32, 64, 128, 256)
	add("LM", true, 5, 10, 20, 40, 80)
	add("Recommendation", false, 512, 1024, 2048, 4096, 8192)
	add("A3C", false, 0)
	add("CycleGAN", false, 0)
	return classes, distributed
}

// generated returns the first n jobs, of one GPU each, of the generator's run
// with this seed.
func (l *loader) generated(seed uint64, interarrival float64, n int) ([]gavel.Job, error) {
	oracle, err := l.oracle(publishedOracle)
	if err != nil {
		return nil, err
	}
	classes, distributed := generatorTypes()
	rates := make([][]float64, len(classes))
	for i, class := range classes {
		if rates[i], err = ratesOf(oracle, class); err != nil {
			return nil, err
		}
	}
	jobs := make([]gavel.Job, n)
	arrivals := gavel.Arrivals(seed, interarrival, n)
	for i, d := range gavel.Draw(seed, n, distributed, false) {
		jobs[i] = gavel.Job{Arrival: arrivals[i], GPUs: d.GPUs, Steps: d.Duration * rates[d.Type][0], Rates: rates[d.Type]}
	}
	return jobs, nil
}
