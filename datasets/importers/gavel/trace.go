package gavel

import (
	"fmt"
	"io"
	"strings"

	"github.com/yardmaster/yardmaster/datasets/importers"
)

// layout is where a trace has the columns that matter; -1 is nowhere.
type layout struct{ steps, gpus, weight, slo, arrival int }

// layouts by number of columns: parse_trace of Gavel's utils.py, and that of
// its first version.
var layouts = map[int]layout{
	10: {steps: 5, gpus: 6, weight: 7, slo: 8, arrival: 9},
	7:  {steps: 4, gpus: 6, weight: -1, slo: -1, arrival: 5},
}

// ReadTrace reads a trace of 10 or 7 columns, ordered by arrival. It fails at
// the first line it cannot make sense of with a [*datasets.RowError]; name is
// what errors call the file.
func ReadTrace(r io.Reader, name string) ([]Job, error) {
	jobs, _, err := readTrace(r, name)
	return jobs, err
}

func readTrace(r io.Reader, name string) ([]Job, *importers.Source, error) {
	var jobs []Job
	width := 0
	source, err := lines(r, name, func(s *importers.Source, line string, number int64) error {
		fields := strings.Split(line, "\t")
		at, known := layouts[len(fields)]
		if !known || width != 0 && len(fields) != width {
			return s.Error(number, "", fmt.Sprintf("%d columns", len(fields)), "want 10 columns between tabs, or 7 of the old format, the same in every line")
		}
		width = len(fields)
		j, err := parseTraceLine(&row{source: s, number: number, fields: fields}, at)
		jobs = append(jobs, j)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if len(jobs) == 0 {
		return nil, nil, source.Error(0, "", "no jobs", "name the file with the trace")
	}
	byArrival(jobs)
	return jobs, source, nil
}

func parseTraceLine(r *row, at layout) (Job, error) {
	model, batch, err := parseName(r.fields[0])
	if err != nil {
		r.bad("job_type", 0, err.Error())
	}
	j := Job{
		Class:   Class{model, batch, r.whole(at.gpus, "scale_factor", 1, 1<<16)},
		Steps:   r.float(at.steps, "total_steps", leastSteps, mostSteps),
		Arrival: r.float(at.arrival, "arrival_time", 0, mostSeconds),
		Weight:  1,
		SLO:     -1,
	}
	if at.weight >= 0 {
		j.Weight = r.float(at.weight, "priority_weight", 1/mostWeight, mostWeight)
		j.SLO = r.float(at.slo, "SLO", -1, mostSeconds)
	}
	return j, r.err
}
