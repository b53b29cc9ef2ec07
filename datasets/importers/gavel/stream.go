package gavel

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

var streamHeader = []string{"job_id", "unit_arrival", "model", "batch_size", "gpus", "duration_s_v100", "total_steps"}

// ReadStream reads a stream of Gavel's generator, whose jobs arrive every
// interarrival seconds in the mean. Job IDs are 0, 1, 2 … in the order of the
// file. Arrivals are rounded in other units than the original's: see
// Arrivals of env/gavel.
func ReadStream(r io.Reader, name string, interarrival float64) ([]Job, error) {
	if math.IsNaN(interarrival) || math.IsInf(interarrival, 0) || interarrival < 0 {
		return nil, fmt.Errorf("gavel: read %s: mean inter-arrival time is %v s, want finite and >= 0", name, interarrival)
	}
	var jobs []Job
	err := readTable(r, name, streamHeader, func(r *row) {
		j := Job{
			Class:        Class{Model: strings.Clone(r.text(2)), GPUs: r.whole(4, 1, maxGPUs)},
			Arrival:      r.float(1, 0, maxSeconds) * interarrival,
			Steps:        r.float(6, math.SmallestNonzeroFloat64, importers.MaxSteps),
			DurationV100: r.float(5, 0, maxSeconds),
			Weight:       1, SLO: -1,
		}
		if r.fields[3] != "" {
			j.Batch = r.whole(3, 1, datasets.MaxBatch)
		}
		if id := r.whole(0, 0, maxJobs); id != len(jobs) {
			r.bad(0, fmt.Sprintf("want %d: jobs are numbered from 0 in the order of the file", len(jobs)))
		}
		if n := len(jobs); n > 0 && j.Arrival < jobs[n-1].Arrival {
			r.bad(1, "want jobs in the order of their arrival")
		}
		if j.Arrival > maxSeconds {
			r.bad(1, "want arrivals within 100 years")
		}
		jobs = append(jobs, j)
	})
	return jobs, err
}

// readTable calls take with every row under a header of exactly these columns.
func readTable(r io.Reader, name string, header []string, take func(*row)) error {
	source, err := importers.Open(r, name)
	if err != nil {
		return err
	}
	defer source.Close()
	wanted := "want the columns " + strings.Join(header, ",")
	headed := false
	err = eachLine(source, func(line string, number int64) error {
		fields, err := importers.Fields(line)
		switch {
		case err != nil || len(fields) != len(header):
			return source.Error(number, "", fmt.Sprintf("%d columns", len(fields)), wanted)
		case !headed && !slices.Equal(fields, header):
			return source.Error(number, "", "another header", wanted)
		case !headed:
			headed = true
			return nil
		}
		one := &row{source: source, number: number, names: header, fields: fields}
		take(one)
		return one.err
	})
	if err == nil && !headed {
		return source.Error(0, "", "no header", wanted)
	}
	return err
}
