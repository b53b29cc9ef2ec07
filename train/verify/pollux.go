package verify

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/yardmaster/yardmaster/train/verify/pollux"
)

// polluxWorkload is the workload that was compared, below Pollux' folder.
const polluxWorkload = "workloads-0.5/workload-1.csv"

// Pollux plays Tiresias on workload 1 at half the load, which is in data, the
// folder of Pollux' workloads, on 16 nodes of four T4, and compares the
// completion time of every job with what Pollux' authors published. The error
// says why there is no comparison; a row out of tolerance is told by [Misses].
func Pollux(ctx context.Context, data fs.FS) ([]Row, error) {
	published, err := pollux.Published()
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	jobs, err := load(data, polluxWorkload, pollux.ReadWorkload)
	if err != nil {
		return nil, fmt.Errorf("verify: pollux: %w", err)
	}
	row := Row{Name: "Tiresias " + polluxWorkload + " 16 x 4 T4, published"}
	times, err := pollux.Tiresias(ctx, jobs, slices.Repeat([]int{4}, 16))
	if err != nil {
		row.Err = err
		return []Row{row}, ctx.Err()
	}
	row.Figures, row.Err = polluxFigures(jobs, times, published)
	return []Row{row}, nil
}

// polluxFigures compares the mean and the job that is furthest off. Published
// times are whole seconds, and all must agree.
func polluxFigures(jobs []pollux.Job, times []int, published map[string]int) ([]Figure, error) {
	if len(jobs) != len(published) {
		return nil, fmt.Errorf("%d jobs, but times of %d were published", len(jobs), len(published))
	}
	var ours, theirs float64
	var worst Figure
	for i := range jobs {
		t, ok := published[jobs[i].Name]
		if !ok {
			return nil, fmt.Errorf("no time of job %s was published", jobs[i].Name)
		}
		ours += float64(times[i])
		theirs += float64(t)
		f := exactly(fmt.Sprintf("JCT of %s, the worst of %d", jobs[i].Name, len(jobs)), float64(times[i]), float64(t))
		if i == 0 || f.Error() > worst.Error() {
			worst = f
		}
	}
	n := float64(len(jobs))
	return []Figure{exactly("mean JCT", ours/n, theirs/n), worst}, nil
}

// exactly compares figures that must be equal.
func exactly(name string, ours, theirs float64) Figure {
	return Figure{Name: name, Ours: ours, Theirs: theirs, Low: ours, High: ours}
}
