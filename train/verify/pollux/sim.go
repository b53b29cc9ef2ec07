package pollux

import (
	"context"
	"fmt"
	"slices"
)

// interval is the time between two decisions, in seconds.
const interval = 60

// maxSteps bounds a simulation against workloads that never end: two years.
const maxSteps = 2 * 365 * 24 * 60

// Tiresias plays jobs on nodes of these sizes and returns the completion time of
// each, in seconds. Errors wrap [ErrNotMeasured] where a job would run as the
// profile does not tell.
func Tiresias(ctx context.Context, jobs []Job, sizes []int) ([]int, error) {
	apps, err := loadProfile()
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range sizes {
		total += n
	}
	states := make([]*jobState, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		app := apps[j.Application]
		if app == nil {
			return nil, fmt.Errorf("%w: application %q of job %s", ErrNotMeasured, j.Application, j.Name)
		}
		if j.GPUs > total {
			return nil, fmt.Errorf("pollux: job %s needs %d GPUs of %d", j.Name, j.GPUs, total)
		}
		states[i] = &jobState{Job: j, app: app, finish: unfinished}
	}
	if err := play(ctx, states, sizes); err != nil {
		return nil, err
	}
	times := make([]int, len(jobs))
	for i, j := range states {
		times[i] = j.finish - j.Submit
	}
	return times, nil
}

// play steps until every job is finished.
func play(ctx context.Context, jobs []*jobState, sizes []int) error {
	var policy tiresias
	nodes := make(map[*jobState][]int)
	for n, now := 0, 0; slices.ContainsFunc(jobs, func(j *jobState) bool { return j.finish == unfinished }); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if n == maxSteps {
			return fmt.Errorf("pollux: no end after %d s", now)
		}
		for _, j := range jobs {
			if err := j.step(interval); err != nil {
				return err
			}
		}
		now += interval
		var active []*jobState
		for _, j := range jobs {
			if j.finish == unfinished && j.Submit <= now {
				active = append(active, j)
			}
		}
		if len(active) == 0 {
			continue
		}
		next := policy.allocate(now, active, nodes, sizes)
		for _, j := range active {
			if !slices.Equal(next[j], nodes[j]) {
				j.place(next[j])
			}
		}
		nodes = next
	}
	return nil
}
