package gavel

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
)

// Reference is one run of Gavel's own simulator.
type Reference struct {
	Policy       string
	Solver       string  // of the linear program; "" where there is none
	Trace        string  // file name; a stream is in a folder of its own
	Interarrival float64 // s, mean; 0 for a trace
	GPUs         []int   // V100, P100, K80
	Throughputs  string  // file name of the oracle
	TotalJobs    int     // that arrive; 0 is all
	First, End   int     // window of job IDs that is measured; 0, 0 is all

	Jobs              int // measured; without those that were given up
	Mean, P50, P99    float64
	Finish            float64 // s, end of the simulation
	Utilization       float64
	Rounds, JobRounds int    // JobRounds is 0 where it was not counted
	Times             string // file name of the completion time of every job; "" where there is none
}

var referenceHeader = []string{
	"policy", "lp_solver", "trace", "mean_interarrival_s", "cluster_v100_p100_k80", "throughputs", "jobs_total", "window_start", "window_end",
	"jobs_measured", "avg_jct_s", "p50_jct_s", "p99_jct_s", "end_s", "utilization", "rounds", "job_rounds", "per_job_csv",
}

// ReferenceTypes are the GPU types of [Reference.GPUs].
var ReferenceTypes = []string{"V100", "P100", "K80"}

// ReadReference reads a table of runs.
func ReadReference(r io.Reader, name string) ([]Reference, error) {
	var all []Reference
	err := readTable(r, name, referenceHeader, func(r *row) {
		f := r.fields
		all = append(all, Reference{
			Policy: r.text(0), Solver: f[1], Trace: r.text(2), Interarrival: r.optional(3, 0, maxSeconds), GPUs: r.cluster(4),
			Throughputs: r.text(5), TotalJobs: int(r.optional(6, 0, maxJobs)), First: int(r.optional(7, 0, maxJobs)), End: int(r.optional(8, 0, maxJobs)),
			Jobs: r.whole(9, 1, maxJobs),
			Mean: r.float(10, 0, maxSeconds), P50: r.float(11, 0, maxSeconds), P99: r.float(12, 0, maxSeconds),
			Finish: r.float(13, 0, maxSeconds), Utilization: r.float(14, 0, 1),
			Rounds: r.whole(15, 1, math.MaxInt32), JobRounds: int(r.optional(16, 0, math.MaxInt32)),
			Times: f[17],
		})
	})
	return all, err
}

// cluster reads "8:16:24".
func (r *row) cluster(at int) []int {
	parts := strings.Split(r.fields[at], ":")
	gpus := make([]int, len(parts))
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > datasets.MaxGPUs || len(parts) != len(ReferenceTypes) {
			r.bad(at, "want the number of V100, P100 and K80 GPUs, as in 8:16:24")
			break
		}
		gpus[i] = n
	}
	return gpus
}

// Time is the completion time of a job.
type Time struct {
	ID  int
	JCT float64 // s; NaN where the job was given up ("None")
}

// ReadTimes reads the completion time of every job of a run.
func ReadTimes(r io.Reader, name string) ([]Time, error) {
	header := []string{"job_id", "jct_s"}
	var all []Time
	err := readTable(r, name, header, func(r *row) {
		t := Time{ID: r.whole(0, 0, maxJobs), JCT: math.NaN()}
		if r.fields[1] != "None" {
			t.JCT = r.float(1, 0, maxSeconds)
		}
		all = append(all, t)
	})
	return all, err
}
