package gavel

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Job is a job of a trace or stream.
type Job struct {
	Class
	Arrival      float64 // s
	Steps        float64 // to the end, summed over the workers; of a stream not whole
	Weight       float64 // priority weight, > 0
	SLO          float64 // s; < 0 is none
	DurationV100 float64 // s alone on V100; 0 where the file does not say
}

// lines calls row with every line of r that is not blank and its number.
func lines(r io.Reader, name string, row func(s *importers.Source, line string, number int64) error) (*importers.Source, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	for n := 0; ; n++ {
		line, number, err := source.Next()
		if errors.Is(err, io.EOF) {
			return source, nil
		}
		if err != nil {
			return nil, err
		}
		if n > datasets.MaxRows {
			return nil, source.Error(number, "", "too many rows", "split the file: at most 16777216 are read")
		}
		if err := row(source, line, number); err != nil {
			return nil, err
		}
	}
}

// row reads the fields of a line. The first mistake stays in err.
type row struct {
	source *importers.Source
	number int64
	fields []string
	err    error
}

func (r *row) bad(column string, at int, fix string) {
	if r.err == nil {
		r.err = r.source.Error(r.number, column, datasets.Excerpt(r.fields[at]), fix)
	}
}

// float reads a number from low to high.
func (r *row) float(at int, column string, low, high float64) float64 {
	x, err := strconv.ParseFloat(r.fields[at], 64)
	if err != nil || !(x >= low && x <= high) {
		r.bad(column, at, "want a number from "+strconv.FormatFloat(low, 'g', -1, 64)+" to "+strconv.FormatFloat(high, 'g', -1, 64))
	}
	return x
}

// whole reads a whole number from low to high.
func (r *row) whole(at int, column string, low, high int) int {
	x, err := strconv.Atoi(r.fields[at])
	if err != nil || x < low || x > high {
		r.bad(column, at, "want a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	return x
}

const (
	mostSteps  = 1e18 // of one job
	leastSteps = 1e-9
	mostWeight = 1e9
)

var mostSeconds = datasets.MaxTime.Seconds()

// byArrival orders jobs by arrival and keeps the order of the file in ties, as
// Gavel does.
func byArrival(jobs []Job) {
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Arrival, b.Arrival) })
}

// finite reports whether x is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
