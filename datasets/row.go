package datasets

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits on what a table may hold. They bound what a hostile file can cost;
// real traces are far below them.
const (
	MaxRows  = 1 << 24                    // rows of a table
	MaxGPUs  = 1_000_000                  // GPUs of one job
	MaxBatch = 1 << 24                    // samples per step and worker
	MaxName  = 256                        // bytes of a model, GPU type, tenant or status
	MaxTime  = 100 * 365 * 24 * time.Hour // from the epoch; also the longest duration
	maxSteps = 1e18                       // training steps of one job
	maxScale = 1e9                        // largest weight
)

// Row is one job of a trace. A field whose column is nullable is null where it
// has its zero value.
type Row struct {
	ID       int64         // job_id: unique in a table
	Submit   time.Duration // submit_ns: since the epoch, >= 0
	GPUs     int32         // gpus: requested, >= 1
	Duration time.Duration // duration_ns: run time with GPUs GPUs of ReferenceGPU; nullable
	Steps    float64       // steps: training steps to the end; nullable; needs Model
	Model    string        // model: name in the performance catalogue; nullable
	Batch    int32         // batch: samples per step and worker; nullable
	// ReferenceGPU (reference_gpu) is the GPU type that Duration was measured
	// on; nullable where the trace does not say.
	ReferenceGPU string
	Tenant       string        // tenant: user, group or virtual cluster; nullable
	Weight       float64       // weight: importance, 1 where null
	Deadline     time.Duration // deadline_ns: since the epoch, after Submit; nullable
	Status       string        // status: how the job ended in the trace's words; nullable
}

// RowError says what is wrong with one value of a table, and how to fix it.
type RowError struct {
	File   string `json:"file"`   // name of the file or table, may be empty
	Row    int64  `json:"row"`    // from 1, in file order; the line number in a text file; 0 where it concerns the whole file or column
	Column string `json:"column"` // "" where it concerns the whole file or row
	Value  string `json:"value"`  // what was found, shortened
	Fix    string `json:"fix"`    // what to do about it
}

// Error returns one line: file, row, column, value and fix.
func (e *RowError) Error() string {
	var where []string
	if e.File != "" {
		where = append(where, e.File)
	}
	if e.Row > 0 {
		where = append(where, "row "+strconv.FormatInt(e.Row, 10))
	}
	what := e.Value
	if e.Column != "" {
		what = "column " + e.Column + " is " + e.Value
		if e.Value == "" {
			what = "column " + e.Column
		}
	}
	for _, part := range []string{what, e.Fix} {
		if part != "" {
			where = append(where, part)
		}
	}
	return "datasets: " + strings.Join(where, ": ")
}

// Excerpt shortens and quotes a value for use in a [RowError].
func Excerpt(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}

// soundNumbers reports whether nothing is wrong with r but, perhaps, its names.
// It is fast: what is wrong is for check to say.
func (r *Row) soundNumbers() bool {
	return r.Submit >= 0 && r.Submit <= MaxTime && r.GPUs >= 1 && r.GPUs <= MaxGPUs && r.Duration >= 0 && r.Duration <= MaxTime &&
		r.Steps >= 0 && r.Steps <= maxSteps && (r.Steps > 0 || r.Duration > 0) && (r.Steps == 0 || r.Model != "") &&
		r.Batch >= 0 && r.Batch <= MaxBatch && r.Weight >= 0 && r.Weight <= maxScale &&
		(r.Deadline == 0 || r.Deadline > r.Submit && r.Deadline <= 2*MaxTime)
}

// check returns the first thing wrong with r, without file and row.
func (r *Row) check() *RowError {
	bad := func(column string, value any, fix string) *RowError {
		return &RowError{Column: column, Value: fmt.Sprint(value), Fix: fix}
	}
	switch {
	case r.Submit < 0 || r.Submit > MaxTime:
		return bad(columnSubmit, int64(r.Submit), "want 0 to 100 years in nanoseconds since the table's epoch")
	case r.GPUs < 1 || r.GPUs > MaxGPUs:
		return bad(columnGPUs, r.GPUs, "want 1 to 1000000; leave out jobs that use no GPU")
	case r.Duration < 0 || r.Duration > MaxTime:
		return bad(columnDuration, int64(r.Duration), "want > 0 nanoseconds and at most 100 years, or null where only steps are known")
	case !(r.Steps >= 0 && r.Steps <= maxSteps):
		return bad(columnSteps, r.Steps, "want a finite number > 0, or null where only the duration is known")
	case r.Steps == 0 && r.Duration == 0:
		return bad(columnDuration, "null and so is "+columnSteps, "set one of them: without either the job has no work")
	case r.Steps > 0 && r.Model == "":
		return bad(columnModel, "null", "name the model: steps say nothing without it")
	case r.Batch < 0 || r.Batch > MaxBatch:
		return bad(columnBatch, r.Batch, "want 1 to 16777216 samples per step and worker, or null")
	case !(r.Weight >= 0 && r.Weight <= maxScale):
		return bad(columnWeight, r.Weight, "want a number > 0 and at most 1e9, or null for 1")
	case r.Deadline < 0 || r.Deadline > 2*MaxTime || r.Deadline > 0 && r.Deadline <= r.Submit:
		return bad(columnDeadline, int64(r.Deadline), "want nanoseconds since the epoch, after submission, or null")
	}
	for _, s := range [...]struct{ column, value string }{
		{columnModel, r.Model}, {columnReferenceGPU, r.ReferenceGPU}, {columnTenant, r.Tenant}, {columnStatus, r.Status},
	} {
		if len(s.value) > MaxName || !utf8.ValidString(s.value) {
			return bad(s.column, Excerpt(s.value), "want at most 256 bytes of UTF-8")
		}
	}
	return nil
}

// weight returns the weight of a job, 1 where the table has none.
func (r *Row) weight() float64 {
	if r.Weight == 0 {
		return 1
	}
	return r.Weight
}

// seconds converts a duration to seconds without loss beyond float64.
func seconds(d time.Duration) float64 { return float64(d) / float64(time.Second) }
