package importers

import (
	"math"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// MaxSteps is the most steps of one job that a table of jobs holds.
const MaxSteps = 1e18

// Values reads the values of one row by the positions of their columns in the
// layout. The first bad value stays in Err; what is read of it is zero.
type Values struct {
	columns *Columns
	text    []string // borrowed from columns
	err     error
}

// ByColumn returns a [Table.Row] that reads values by their columns. row need
// neither keep nor drop a row with a bad value.
func ByColumn(row func(t *Trace, v *Values)) func(*Trace, *Columns, []string) error {
	v := new(Values)
	return func(t *Trace, c *Columns, values []string) error {
		*v = Values{columns: c, text: values}
		row(t, v)
		return v.err
	}
}

// Line returns the number of the row's line.
func (v *Values) Line() int64 { return v.columns.Line }

// Err returns the error about the first bad value, nil if there was none.
func (v *Values) Err() error { return v.err }

// Bad makes the value of a column bad, if it is the first.
func (v *Values) Bad(column int, fix string) {
	if v.err == nil {
		v.err = v.columns.Bad(column, fix)
	}
}

// Text returns a value as it is, part of a line: clone it to keep it.
func (v *Values) Text(column int) string { return v.text[column] }

// Has reports whether the table has an optional column.
func (v *Values) Has(column int) bool { return v.columns.Has(column) }

// Number reads a number from low to high.
func (v *Values) Number(column int, low, high float64) float64 {
	x, err := strconv.ParseFloat(v.text[column], 64)
	if err != nil || !(x >= low && x <= high) {
		v.Bad(column, "want a number from "+form(low)+" to "+form(high))
		return 0
	}
	return x
}

// Whole reads a whole number from low to high, which data frames may have
// written as "8.0". Both are exact as float64.
func (v *Values) Whole(column int, low, high int64) int64 {
	x, err := strconv.ParseFloat(v.text[column], 64)
	if err != nil || !(x >= float64(low) && x <= float64(high)) || x != math.Trunc(x) {
		v.Bad(column, "want a whole number from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10))
		return 0
	}
	return int64(x)
}

func form(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// ID reads a job id that is a whole number.
func (v *Values) ID(column int) int64 {
	id, ok := ParseID(v.text[column])
	if !ok {
		v.Bad(column, IDFix)
	}
	return id
}

// IDFix says which ids ParseID takes, for use in errors.
const IDFix = "want a whole number"

// ParseID reads a job id that is a whole number.
func ParseID(s string) (int64, bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}

// GPUs reads a number of GPUs, from 0 to [datasets.MaxGPUs].
func (v *Values) GPUs(column int) int32 { return int32(v.Whole(column, 0, datasets.MaxGPUs)) }

// Batch reads a number of samples, from 1 to [datasets.MaxBatch].
func (v *Values) Batch(column int) int32 { return int32(v.Whole(column, 1, datasets.MaxBatch)) }

// Steps reads a number of steps or iterations, from 0 to [MaxSteps].
func (v *Values) Steps(column int) float64 { return v.Number(column, 0, MaxSteps) }

// Seconds reads seconds, from 0 to [datasets.MaxTime].
func (v *Values) Seconds(column int) time.Duration {
	d, ok := ParseSeconds(v.text[column])
	if !ok {
		v.Bad(column, SecondsFix)
	}
	return d
}

// Millis reads milliseconds, from 0 to [datasets.MaxTime], to the nearest
// nanosecond.
func (v *Values) Millis(column int) time.Duration {
	ms, err := strconv.ParseFloat(v.text[column], 64)
	if err != nil || !(ms >= 0 && ms <= float64(datasets.MaxTime/time.Millisecond)) {
		v.Bad(column, "want milliseconds, 0 to 100 years")
		return 0
	}
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// Model gives a job of the trace the model that the source calls s.
func (v *Values) Model(column int, t *Trace, m *Models) string {
	if v.text[column] == "" {
		v.Bad(column, "name the model")
		return ""
	}
	name, warning := m.Name(v.text[column])
	if warning != "" {
		t.Warn(warning)
	}
	name, _ = t.Name(name) // columns have checked it
	return name
}

// CheckSteps refuses a number of steps beyond what a table holds; the column is
// the one that made it so large.
func (v *Values) CheckSteps(column int, steps float64) {
	if !(steps <= MaxSteps) {
		v.Bad(column, "want at most 1e18 steps of all workers together")
	}
}
