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
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	var jobs []Job
	err = readStream(source, interarrival, func(j *Job, _ int64) { jobs = append(jobs, *j) })
	return jobs, err
}

// readStream calls take with every job and the number of its line.
func readStream(source *importers.Source, interarrival float64, take func(*Job, int64)) error {
	next, last := 0, 0.0
	return readRows(source, streamHeader, func(r *row) {
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
		if id := r.whole(0, 0, maxJobs); id != next {
			r.bad(0, fmt.Sprintf("want %d: jobs are numbered from 0 in the order of the file", next))
		}
		if j.Arrival < last {
			r.bad(1, "want jobs in the order of their arrival")
		}
		if j.Arrival > maxSeconds {
			r.bad(1, "want arrivals within 100 years")
		}
		next, last = next+1, j.Arrival
		if r.err == nil {
			take(&j, r.number)
		}
	})
}

// readTable calls take with every row under a header of exactly these columns.
func readTable(r io.Reader, name string, header []string, take func(*row)) error {
	source, err := importers.Open(r, name)
	if err != nil {
		return err
	}
	defer source.Close()
	return readRows(source, header, take)
}

// readRows is readTable of an open source.
func readRows(source *importers.Source, header []string, take func(*row)) error {
	wanted := "want the columns " + strings.Join(header, ",")
	headed := false
	err := eachLine(source, func(line string, number int64) error {
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
