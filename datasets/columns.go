package datasets

import (
	"math"
	"time"

	"github.com/parquet-go/parquet-go"
)

// Names of the columns of the jobs table, in file order; see SCHEMA.md.
const (
	columnID           = "job_id"
	columnSubmit       = "submit_ns"
	columnGPUs         = "gpus"
	columnDuration     = "duration_ns"
	columnSteps        = "steps"
	columnModel        = "model"
	columnBatch        = "batch"
	columnReferenceGPU = "reference_gpu"
	columnTenant       = "tenant"
	columnWeight       = "weight"
	columnDeadline     = "deadline_ns"
	columnStatus       = "status"
)

// column describes one column of the jobs table. Exactly one of the setters is
// set, the one of its physical type.
type column struct {
	name     string
	kind     parquet.Kind
	nullable bool
	// optional columns may be missing altogether; then every value is null.
	optional  bool
	setInt32  func(*Row, int32)
	setInt64  func(*Row, int64)
	setDouble func(*Row, float64)
	setString func(*Row, string)
	// Setters of several rows, for [Scanner]: whole numbers, or the bits of
	// others.
	setWords func([]Row, []int64)
	setTexts func([]Row, []string)
}

// columns is the schema of version 1, in file order.
var columns = []column{
	{name: columnID, kind: parquet.Int64, setInt64: func(r *Row, x int64) { r.ID = x }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].ID = xs[i]
		}
	}},
	{name: columnSubmit, kind: parquet.Int64, setInt64: func(r *Row, x int64) { r.Submit = time.Duration(x) }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].Submit = time.Duration(xs[i])
		}
	}},
	{name: columnGPUs, kind: parquet.Int32, setInt32: func(r *Row, x int32) { r.GPUs = x }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].GPUs = int32(xs[i])
		}
	}},
	{name: columnDuration, kind: parquet.Int64, nullable: true, optional: true, setInt64: func(r *Row, x int64) { r.Duration = time.Duration(x) }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].Duration = time.Duration(xs[i])
		}
	}},
	{name: columnSteps, kind: parquet.Double, nullable: true, optional: true, setDouble: func(r *Row, x float64) { r.Steps = x }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].Steps = math.Float64frombits(uint64(xs[i]))
		}
	}},
	{name: columnModel, kind: parquet.ByteArray, nullable: true, optional: true, setString: func(r *Row, x string) { r.Model = x }, setTexts: func(rows []Row, xs []string) {
		for i := range rows {
			rows[i].Model = xs[i]
		}
	}},
	{name: columnBatch, kind: parquet.Int32, nullable: true, optional: true, setInt32: func(r *Row, x int32) { r.Batch = x }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].Batch = int32(xs[i])
		}
	}},
	{name: columnReferenceGPU, kind: parquet.ByteArray, nullable: true, optional: true, setString: func(r *Row, x string) { r.ReferenceGPU = x }, setTexts: func(rows []Row, xs []string) {
		for i := range rows {
			rows[i].ReferenceGPU = xs[i]
		}
	}},
	{name: columnTenant, kind: parquet.ByteArray, nullable: true, optional: true, setString: func(r *Row, x string) { r.Tenant = x }, setTexts: func(rows []Row, xs []string) {
		for i := range rows {
			rows[i].Tenant = xs[i]
		}
	}},
	{name: columnWeight, kind: parquet.Double, nullable: true, optional: true, setDouble: func(r *Row, x float64) { r.Weight = x }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].Weight = math.Float64frombits(uint64(xs[i]))
		}
	}},
	{name: columnDeadline, kind: parquet.Int64, nullable: true, optional: true, setInt64: func(r *Row, x int64) { r.Deadline = time.Duration(x) }, setWords: func(rows []Row, xs []int64) {
		for i := range rows {
			rows[i].Deadline = time.Duration(xs[i])
		}
	}},
	{name: columnStatus, kind: parquet.ByteArray, nullable: true, optional: true, setString: func(r *Row, x string) { r.Status = x }, setTexts: func(rows []Row, xs []string) {
		for i := range rows {
			rows[i].Status = xs[i]
		}
	}},
}

// record is a [Row] as parquet-go writes it: field order is column order, and
// nil is null. (It could also take zero values for nulls, but v0.32.0 writes
// the last of 0, 1, 0 as a zero: it loses the nulls after a value.)
type record struct {
	ID           int64    `parquet:"job_id,delta"`
	Submit       int64    `parquet:"submit_ns,delta"`
	GPUs         int32    `parquet:"gpus,dict"`
	Duration     *int64   `parquet:"duration_ns,optional"`
	Steps        *float64 `parquet:"steps,optional"`
	Model        *string  `parquet:"model,optional,dict"`
	Batch        *int32   `parquet:"batch,optional,dict"`
	ReferenceGPU *string  `parquet:"reference_gpu,optional,dict"`
	Tenant       *string  `parquet:"tenant,optional,dict"`
	Weight       *float64 `parquet:"weight,optional,dict"`
	Deadline     *int64   `parquet:"deadline_ns,optional"`
	Status       *string  `parquet:"status,optional,dict"`
}

// record returns r for the writer; it shares r's memory.
func (r *Row) record() record {
	return record{
		ID: r.ID, Submit: int64(r.Submit), GPUs: r.GPUs, Duration: orNull((*int64)(&r.Duration)), Steps: orNull(&r.Steps),
		Model: orNull(&r.Model), Batch: orNull(&r.Batch), ReferenceGPU: orNull(&r.ReferenceGPU),
		Tenant: orNull(&r.Tenant), Weight: orNull(&r.Weight), Deadline: orNull((*int64)(&r.Deadline)), Status: orNull(&r.Status),
	}
}

// orNull returns x, or nil where it is null: at its zero value.
func orNull[T comparable](x *T) *T {
	var zero T
	if *x == zero {
		return nil
	}
	return x
}
