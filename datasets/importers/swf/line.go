package swf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// fieldCount is the number of fields of a line.
const fieldCount = 18

// Fields of a line that are read, from 0.
const (
	fieldJob       = 0
	fieldSubmit    = 1
	fieldRun       = 3
	fieldAllocated = 4
	fieldRequested = 7
	fieldStatus    = 10
	fieldUser      = 11
	fieldGroup     = 12
	fieldQueue     = 14
	fieldPartition = 15
)

var fieldNames = [fieldCount]string{
	"job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
	"requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
	"partition", "preceding job", "think time",
}

var tenantFields = map[string]int{"user": fieldUser, "group": fieldGroup, "queue": fieldQueue, "partition": fieldPartition}

// statuses are the words of the definition for field 11; 2 to 4 are partial
// executions.
var statuses = map[float64]string{-1: "", 0: "failed", 1: "completed", 5: "cancelled"}

const (
	maxProcessors = 1 << 30
	maxInstant    = 230 * 365 * 24 * time.Hour // since 1970
	maxID         = 1 << 53                    // beyond it float64 is not exact
)

// reader reads the lines of a workload.
type reader struct {
	*importers.Trace
	source *importers.Source
	cfg    *Config
	header header
	number int64 // of the line
}

func (l *reader) bad(column, value, fix string) error {
	return l.source.Error(l.number, column, datasets.Excerpt(value), fix)
}

// line keeps, drops or refuses a line of data.
func (l *reader) line(line string) error {
	if err := l.Begin(l.number); err != nil {
		return err
	}
	fields := strings.Fields(line)
	if len(fields) != fieldCount {
		return l.source.Error(l.number, "", fmt.Sprintf("%d fields in %s", len(fields), datasets.Excerpt(line)), "want 18 numbers, or a comment that begins with ;")
	}
	var x [fieldCount]float64
	for i, f := range fields {
		var ok bool
		if x[i], ok = parseNumber(f); !ok {
			return l.bad(fieldNames[i], f, "want a number, -1 where it is not known")
		}
	}
	return l.job(&x)
}

// job keeps, drops or refuses a job.
func (l *reader) job(x *[fieldCount]float64) error {
	bad := func(field int, fix string) error {
		return l.bad(fieldNames[field], strconv.FormatFloat(x[field], 'g', -1, 64), fix)
	}
	if status := x[fieldStatus]; status == 2 || status == 3 || status == 4 {
		l.Drop(dropPartial)
		return nil
	}
	switch submit, id := x[fieldSubmit], x[fieldJob]; {
	case !(submit >= 0 && toDuration(submit) <= datasets.MaxTime):
		return bad(fieldSubmit, "want seconds since the start of the log, 0 to 100 years")
	case id != math.Trunc(id) || math.Abs(id) > maxID:
		return bad(fieldJob, "want a whole number")
	case l.header.start.Seconds()+submit > maxInstant.Seconds():
		return bad(fieldSubmit, "want submissions before the year 2200: check UnixStartTime")
	case !(x[fieldRun] <= datasets.MaxTime.Seconds()):
		return bad(fieldRun, importers.SecondsFix+", -1 where it is not known")
	}
	processors := x[fieldAllocated]
	if processors <= 0 {
		processors = x[fieldRequested]
	}
	gpus := l.gpus(processors)
	if !(gpus <= datasets.MaxGPUs) {
		return bad(fieldAllocated, "want at most 1000000 GPUs: set how many processors make up one")
	}
	row := datasets.Row{ID: int64(x[fieldJob]), Submit: l.header.start + toDuration(x[fieldSubmit]), GPUs: int32(gpus)}
	row.Duration = max(toDuration(x[fieldRun]), 0)
	switch {
	case gpus <= 0:
		l.Drop(dropNoProcessors)
		return nil
	case row.Duration == 0:
		l.Drop(importers.DropNoTime)
		return nil
	}
	l.name(x, &row)
	if l.cfg.ProcessorsPerGPU == 0 {
		l.Warn(warnProcessors)
	}
	l.Keep(row)
	return nil
}

// gpus returns how many GPUs some processors make up; not above 0 where they
// are not known.
func (l *reader) gpus(processors float64) float64 {
	return math.Ceil(processors / float64(max(l.cfg.ProcessorsPerGPU, 1)))
}

// name sets the tenant and the status of a row.
func (l *reader) name(x *[fieldCount]float64, row *datasets.Row) {
	if tenant := x[tenantFields[l.cfg.Tenant]]; tenant >= 0 {
		row.Tenant, _ = l.Name(l.cfg.Tenant + " " + strconv.FormatFloat(tenant, 'f', -1, 64))
	}
	status, known := statuses[x[fieldStatus]]
	if !known {
		l.Warn(importers.WarnState)
	}
	row.Status = status
}

// parseNumber reads a number that is not endless.
func parseNumber(s string) (float64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
}

// toDuration rounds seconds to nanoseconds; what is beyond 290 years either way
// stays beyond 290 years.
func toDuration(seconds float64) time.Duration {
	const most = 290 * 365 * 24 * 3600
	return time.Duration(math.Round(min(max(seconds, -most), most) * float64(time.Second)))
}
