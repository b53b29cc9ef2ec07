package gavel

import (
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Job is a job of a trace or stream.
type Job struct {
	Class
	Arrival      float64 // s
	Steps        float64 // to the end, summed over the workers; of a stream not whole
	Weight       float64 // priority weight, > 0
	SLO          float64 // multiple of the duration; < 0 is none
	DurationV100 float64 // s alone on V100; 0 where the file does not say
}

const (
	maxGPUs   = 1 << 16 // of one job
	maxJobs   = datasets.MaxRows
	maxWeight = 1e9
	maxSLO    = 1e6
)

var maxSeconds = datasets.MaxTime.Seconds()

// eachLine calls take with every line of a source that is not blank.
func eachLine(source *importers.Source, take func(line string, number int64) error) error {
	for n := 0; ; n++ {
		line, number, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n > maxJobs {
			err = source.Error(number, "", "too many rows", "split the file: at most 16777216 are read")
		}
		if err == nil {
			err = take(line, number)
		}
		if err != nil {
			return err
		}
	}
}

// row reads the fields of a line. The first mistake stays in err.
type row struct {
	source *importers.Source
	number int64 // of the line
	names  []string
	fields []string
	err    error
}

func (r *row) bad(at int, fix string) {
	if r.err == nil {
		r.err = r.source.Error(r.number, r.names[at], datasets.Excerpt(r.fields[at]), fix)
	}
}

// float reads a number from low to high.
func (r *row) float(at int, low, high float64) float64 {
	x, err := strconv.ParseFloat(r.fields[at], 64)
	if err != nil || !(x >= low && x <= high) {
		r.bad(at, "want a number from "+strconv.FormatFloat(low, 'g', -1, 64)+" to "+strconv.FormatFloat(high, 'g', -1, 64))
		return 0
	}
	return x
}

// whole reads a whole number from low to high.
func (r *row) whole(at, low, high int) int {
	x, err := strconv.Atoi(r.fields[at])
	if err != nil || x < low || x > high {
		r.bad(at, "want a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		return 0
	}
	return x
}

// text reads a name.
func (r *row) text(at int) string {
	if r.fields[at] == "" || len(r.fields[at]) > datasets.MaxName || !utf8.ValidString(r.fields[at]) {
		r.bad(at, "want 1 to 256 bytes of UTF-8")
	}
	return r.fields[at]
}

// optional reads a number, 0 where the field is empty.
func (r *row) optional(at int, low, high float64) float64 {
	if r.fields[at] == "" {
		return 0
	}
	return r.float(at, low, high)
}
