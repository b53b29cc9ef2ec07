package gavel

import (
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/datasets/importers"
)

var streamHeader = []string{"job_id", "unit_arrival", "model", "batch_size", "gpus", "duration_s_v100", "total_steps"}

// ReadStream reads a stream of Gavel's generator, whose jobs arrive every
// interarrival seconds in the mean. Job IDs are 0, 1, 2 … in the order of the
// file.
func ReadStream(r io.Reader, name string, interarrival float64) ([]Job, error) {
	if !finite(interarrival) || interarrival < 0 {
		return nil, fmt.Errorf("gavel: read %s: mean inter-arrival time is %v s, want finite and >= 0", name, interarrival)
	}
	var jobs []Job
	err := readTable(r, name, streamHeader, func(r *row) {
		j := Job{
			Class:        Class{Model: r.fields[2], GPUs: r.whole(4, "gpus", 1, 1<<16)},
			Arrival:      r.float(1, "unit_arrival", 0, mostSeconds) * interarrival,
			Steps:        r.float(6, "total_steps", leastSteps, mostSteps),
			DurationV100: r.float(5, "duration_s_v100", 0, mostSeconds),
			Weight:       1, SLO: -1,
		}
		if r.fields[3] != "" {
			j.Batch = r.whole(3, "batch_size", 0, 1<<24)
		}
		if id := r.whole(0, "job_id", 0, 1<<24); id != len(jobs) {
			r.bad("job_id", 0, fmt.Sprintf("want %d: jobs are numbered from 0 in the order of the file", len(jobs)))
		}
		if n := len(jobs); n > 0 && j.Arrival < jobs[n-1].Arrival {
			r.bad("unit_arrival", 1, "want jobs in the order of their arrival")
		}
		if j.Arrival > mostSeconds {
			r.bad("unit_arrival", 1, "want arrivals within 100 years")
		}
		jobs = append(jobs, j)
	})
	return jobs, err
}

// readTable calls take with every row under a header of these columns.
func readTable(r io.Reader, name string, header []string, take func(*row)) error {
	first := true
	source, err := lines(r, name, func(s *importers.Source, line string, number int64) error {
		fields, err := importers.Fields(line)
		switch {
		case err != nil || len(fields) != len(header):
			return s.Error(number, "", fmt.Sprintf("%d columns", len(fields)), fmt.Sprintf("want %d: %s", len(header), strings.Join(header, ",")))
		case first:
			if line != strings.Join(header, ",") {
				return s.Error(number, "", "another header", "want "+strings.Join(header, ","))
			}
			first = false
			return nil
		}
		one := &row{source: s, number: number, fields: fields}
		take(one)
		return one.err
	})
	if err == nil && first {
		return source.Error(0, "", "no header", "want "+strings.Join(header, ","))
	}
	return err
}
