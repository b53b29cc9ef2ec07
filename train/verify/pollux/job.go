package pollux

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// restartSeconds is what a job loses when it gets other GPUs.
const restartSeconds = 30

// Job is a row of a workload.
type Job struct {
	Name        string
	Submit      int // s
	Application string
	GPUs        int
	Batch       int // samples of all workers together
}

// ReadWorkload reads a workload of Pollux' simulator: CSV with the columns name,
// time, application, num_replicas and batch_size.
func ReadWorkload(r io.Reader, name string) ([]Job, error) {
	var jobs []Job
	err := readRecords(r, name, func(r *record) {
		jobs = append(jobs, Job{
			Name: r.text("name"), Submit: r.whole("time"), Application: r.text("application"),
			GPUs: r.whole("num_replicas"), Batch: r.whole("batch_size"),
		})
		if j := &jobs[len(jobs)-1]; j.GPUs < 1 || j.Batch < 1 {
			r.fail("num_replicas", fmt.Sprintf("job %s has %d and batch_size %d, want both at least 1", j.Name, j.GPUs, j.Batch))
		}
	})
	return jobs, err
}

// jobState is a job with its progress.
type jobState struct {
	*Job
	app       *application
	placement []int  // GPUs on each of its nodes; none while it waits
	rotation  string // the smallest rotation of placement
	pass      int    // samples of a pass on each GPU
	passes    int    // of a step
	now       int    // s, always the cluster's clock between two steps of it
	restart   int    // s that the restart still takes
	progress  float64
	epoch     int // finished
	finish    int // s, or unfinished

	ran  int  // s under the policy, as it counts
	seen int  // s when it last looked
	runs bool // it was given GPUs then
}

const unfinished = -1

// settle divides the batch among the workers of the placement.
func (j *jobState) settle() {
	workers := 0
	for _, n := range j.placement {
		workers += n
	}
	local := ceilDiv(j.Batch, workers)
	j.passes = ceilDiv(local, j.app.largestPass)
	if workers == 1 && j.Batch > j.app.firstBatch {
		j.passes = max(2, j.passes)
	}
	j.pass = min(ceilDiv(local, j.passes), j.app.largestBatch/(workers*j.passes))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// place gives the job GPUs, none if nodes is empty. nodes lists the node of
// every GPU.
func (j *jobState) place(nodes []int) {
	j.placement = j.placement[:0]
	for i := range nodes {
		if i == 0 || nodes[i] != nodes[i-1] {
			j.placement = append(j.placement, 0)
		}
		j.placement[len(j.placement)-1]++
	}
	if len(nodes) == 0 {
		return
	}
	j.rotation = smallestRotation(j.placement)
	j.settle()
	j.restart = restartSeconds
}

// smallestRotation returns the digits of the rotation of p that comes first.
func smallestRotation(p []int) string {
	best := slices.Clone(p)
	for i := range p {
		if turned := slices.Concat(p[i:], p[:i]); slices.Compare(turned, best) < 0 {
			best = turned
		}
	}
	var b strings.Builder
	for _, n := range best {
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// step lets the job run or wait for so many seconds.
func (j *jobState) step(seconds int) error {
	end := j.now + seconds
	if len(j.placement) == 0 {
		j.now = end
		return nil
	}
	delay := min(j.restart, seconds)
	j.restart -= delay
	j.now += delay
	for j.now < end && j.finish == unfinished {
		if err := j.advance(end); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	j.now = end
	return nil
}

// advance runs to the end of the epoch or to this time, whichever comes first.
func (j *jobState) advance(end int) error {
	speed, err := j.speed()
	if err != nil {
		return err
	}
	next := j.app.progress[j.epoch]
	if reached := j.progress + float64(speed*float64(end-j.now)); reached < next {
		j.progress, j.now = reached, end
		return nil
	}
	j.now += int(math.RoundToEven((next - j.progress) / speed))
	j.progress = next
	if j.epoch++; j.epoch == len(j.app.progress) {
		j.finish = j.now
	}
	return nil
}

// speed returns the progress per second.
func (j *jobState) speed() (float64, error) {
	step, sync, errTimes := j.app.timesOf(j.rotation, j.pass)
	workers := 0
	for _, n := range j.placement {
		workers += n
	}
	batch := workers * j.pass * j.passes
	sqr, variance, errGradient := j.app.gradient(batch, j.epoch)
	if err := cmp.Or(errTimes, errGradient); err != nil {
		return 0, err
	}
	scale := float64(batch) / float64(j.app.firstBatch)
	gain := (variance + sqr) / (variance/scale + sqr)
	return gain / (step + float64((step-sync)*float64(j.passes-1))), nil
}
