package gavel

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/datasets/importers"
)

// layout is where a trace has the columns that matter; -1 is nowhere.
type layout struct {
	names                                   []string
	needsData, steps, gpus, weight, slo, at int
}

// layouts by number of columns: parse_trace of Gavel's utils.py, and that of
// its first version.
var layouts = map[int]layout{
	10: {
		names: []string{
			"job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir", "total_steps", "scale_factor", "priority_weight", "SLO", "arrival_time",
		},
		needsData: 4, steps: 5, gpus: 6, weight: 7, slo: 8, at: 9,
	},
	7: {
		names:     []string{"job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps", "arrival_time", "scale_factor"},
		needsData: 3, steps: 4, gpus: 6, weight: -1, slo: -1, at: 5,
	},
}

// ReadTrace reads a trace of 10 or 7 columns, which may be compressed, ordered
// by arrival. It fails at the first line it cannot make sense of with a
// [*datasets.RowError]; name is what errors call the file.
func ReadTrace(r io.Reader, name string) ([]Job, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	var jobs []Job
	err = eachTraceLine(source, func(j Job, number int64) error {
		if j.GPUs == 0 || j.Steps == 0 {
			return source.Error(number, "", fmt.Sprintf("%d GPUs and %v steps", j.GPUs, j.Steps), "want both > 0")
		}
		jobs = append(jobs, j)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, source.Error(0, "", "no jobs", "name the file with the trace")
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return jobs, nil
}

// eachTraceLine calls take with the job of every line.
func eachTraceLine(source *importers.Source, take func(j Job, number int64) error) error {
	width := 0
	return eachLine(source, func(line string, number int64) error {
		fields := strings.Split(line, "\t")
		at, known := layouts[len(fields)]
		if !known || width != 0 && len(fields) != width {
			return source.Error(number, "", fmt.Sprintf("%d columns between tabs", len(fields)), "want 10, or 7 of the old format, the same in every line")
		}
		width = len(fields)
		j, err := parseTraceLine(&row{source: source, number: number, names: at.names, fields: fields}, at)
		if err != nil {
			return err
		}
		return take(j, number)
	})
}

func parseTraceLine(r *row, at layout) (Job, error) {
	model, batch, err := parseName(r.fields[0])
	if err != nil {
		r.bad(0, err.Error())
	}
	r.whole(at.needsData, 0, 1) // tells a row of other columns
	j := Job{
		Class:   Class{strings.Clone(model), batch, r.whole(at.gpus, 0, maxGPUs)},
		Steps:   r.float(at.steps, 0, importers.MaxSteps),
		Arrival: r.float(at.at, 0, maxSeconds),
		Weight:  1,
		SLO:     -1,
	}
	if at.weight >= 0 {
		j.Weight = r.float(at.weight, 1/maxWeight, maxWeight)
		j.SLO = r.float(at.slo, -1, maxSLO)
	}
	return j, r.err
}
