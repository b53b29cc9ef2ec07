package datasets

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// Names of the columns of the throughput table that the jobs table lacks; see
// SCHEMA.md.
const (
	columnSource      = "source"
	columnDataset     = "dataset"
	columnGPUType     = "gpu_type"
	columnNodes       = "nodes"
	columnPlacement   = "placement"
	columnGlobalBatch = "global_batch"
	columnData        = "data"
	columnTensor      = "tensor"
	columnPipeline    = "pipeline"
	columnMicroBatch  = "micro_batch"
	columnZeRO        = "zero"
	columnCheckpoint  = "checkpoint"
	columnOffload     = "offload"
	columnRate        = "steps_per_s"
	columnMemory      = "mem_gib"
	columnQuality     = "quality"
	columnOutOfMemory = "oom"
)

// throughputRecord is what a file holds of a row: a [ThroughputRow] and the
// flags as they stand there, which may be neither 0 nor 1.
type throughputRecord struct {
	ThroughputRow
	checkpoint, offload, oom int32
}

func (r *throughputRecord) row() (ThroughputRow, *RowError) {
	for _, f := range [...]struct {
		column string
		value  int32
	}{{columnCheckpoint, r.checkpoint}, {columnOffload, r.offload}, {columnOutOfMemory, r.oom}} {
		if f.value != 0 && f.value != 1 {
			return ThroughputRow{}, badValue(f.column, f.value, "want 0 or 1")
		}
	}
	row := r.ThroughputRow
	row.Plan.Checkpoint, row.Offload, row.OutOfMemory = r.checkpoint == 1, r.offload == 1, r.oom == 1
	return row, nil
}

// throughputLayout is the schema of version 1, in file order.
var throughputLayout = layout[throughputRecord]{
	table: KindThroughput, version: ThroughputVersion, rows: MaxThroughputRows,
	fields: []field[throughputRecord]{
		{name: columnSource, kind: parquet.ByteArray, set: func(r *throughputRecord, c cell) { r.Source = c.text }},
		{name: columnModel, kind: parquet.ByteArray, set: func(r *throughputRecord, c cell) { r.Model = c.text }},
		{name: columnDataset, kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Dataset = c.text }},
		{name: columnGPUType, kind: parquet.ByteArray, set: func(r *throughputRecord, c cell) { r.GPUType = c.text }},
		{name: columnGPUs, kind: parquet.Int32, set: func(r *throughputRecord, c cell) { r.GPUs = int32(c.whole) }},
		{name: columnNodes, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Nodes = int32(c.whole) }},
		{name: columnPlacement, kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Placement = c.text }},
		{name: columnBatch, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Batch = int32(c.whole) }},
		{name: columnGlobalBatch, kind: parquet.Int64, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.GlobalBatch = c.whole }},
		{name: columnData, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Plan.Data = int(c.whole) }},
		{name: columnTensor, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Plan.Tensor = int(c.whole) }},
		{name: columnPipeline, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Plan.Pipeline = int(c.whole) }},
		{name: columnMicroBatch, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Plan.MicroBatch = int(c.whole) }},
		{name: columnZeRO, kind: parquet.Int32, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.Plan.ZeRO = int(c.whole) }},
		{name: columnCheckpoint, kind: parquet.Int32, optional: true, set: func(r *throughputRecord, c cell) { r.checkpoint = int32(c.whole) }},
		{name: columnOffload, kind: parquet.Int32, optional: true, set: func(r *throughputRecord, c cell) { r.offload = int32(c.whole) }},
		{name: columnRate, kind: parquet.Double, nullable: true, set: func(r *throughputRecord, c cell) { r.StepsPerSecond = c.number }},
		{name: columnMemory, kind: parquet.Double, nullable: true, optional: true, set: func(r *throughputRecord, c cell) { r.MemGiB = c.number }},
		{name: columnQuality, kind: parquet.ByteArray, set: func(r *throughputRecord, c cell) { r.Quality = Quality(c.text) }},
		{name: columnOutOfMemory, kind: parquet.Int32, optional: true, set: func(r *throughputRecord, c cell) { r.oom = int32(c.whole) }},
	},
}

// writtenThroughput is a [ThroughputRow] as parquet-go writes it: field order
// is column order, and nil is null.
type writtenThroughput struct {
	Source         string   `parquet:"source,dict"`
	Model          string   `parquet:"model,dict"`
	Dataset        *string  `parquet:"dataset,optional,dict"`
	GPUType        string   `parquet:"gpu_type,dict"`
	GPUs           int32    `parquet:"gpus,dict"`
	Nodes          *int32   `parquet:"nodes,optional,dict"`
	Placement      *string  `parquet:"placement,optional,dict"`
	Batch          *int32   `parquet:"batch,optional,dict"`
	GlobalBatch    *int64   `parquet:"global_batch,optional,dict"`
	Data           *int32   `parquet:"data,optional,dict"`
	Tensor         *int32   `parquet:"tensor,optional,dict"`
	Pipeline       *int32   `parquet:"pipeline,optional,dict"`
	MicroBatch     *int32   `parquet:"micro_batch,optional,dict"`
	ZeRO           *int32   `parquet:"zero,optional,dict"`
	Checkpoint     int32    `parquet:"checkpoint,dict"`
	Offload        int32    `parquet:"offload,dict"`
	StepsPerSecond *float64 `parquet:"steps_per_s,optional"`
	MemGiB         *float64 `parquet:"mem_gib,optional,dict"`
	Quality        string   `parquet:"quality,dict"`
	OutOfMemory    int32    `parquet:"oom,dict"`
}

func (r *throughputRecord) written() writtenThroughput {
	p := &r.Plan
	return writtenThroughput{
		Source: r.Source, Model: r.Model, Dataset: orNull(&r.Dataset), GPUType: r.GPUType,
		GPUs: r.GPUs, Nodes: orNull(&r.Nodes), Placement: orNull(&r.Placement),
		Batch: orNull(&r.Batch), GlobalBatch: orNull(&r.GlobalBatch),
		Data: orNull32(p.Data), Tensor: orNull32(p.Tensor), Pipeline: orNull32(p.Pipeline), MicroBatch: orNull32(p.MicroBatch), ZeRO: orNull32(p.ZeRO),
		Checkpoint: flag(p.Checkpoint), Offload: flag(r.Offload),
		StepsPerSecond: orNull(&r.StepsPerSecond), MemGiB: orNull(&r.MemGiB), Quality: string(r.Quality), OutOfMemory: flag(r.OutOfMemory),
	}
}

func orNull32(x int) *int32 {
	y := int32(x) // within the limits of checkPlan
	return orNull(&y)
}

// WriteThroughput writes t as a Parquet file in the current schema version. As
// with [Write], the file appears under its name when it is complete, and equal
// tables give equal files.
func WriteThroughput(path string, t *ThroughputTable) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return writeFile(path, &throughputLayout, t.Meta, t.records(), (*throughputRecord).written)
}

func (t *ThroughputTable) records() []throughputRecord {
	records := make([]throughputRecord, len(t.Rows))
	for i := range t.Rows {
		records[i].ThroughputRow = t.Rows[i]
	}
	return records
}

// ReadThroughput reads a throughput table. Every value must be as SCHEMA.md
// says; the first problem is returned as a [*RowError]. A damaged or hostile
// file gives an error, too.
func ReadThroughput(path string) (*ThroughputTable, error) {
	return readNamed(path, ReadThroughputFrom)
}

// ReadThroughputFrom is [ReadThroughput] of the size bytes of r; name is what
// errors call it.
func ReadThroughputFrom(r io.ReaderAt, size int64, name string) (*ThroughputTable, error) {
	meta, records, err := throughputLayout.read(r, size, name)
	if err != nil {
		return nil, err
	}
	return newThroughputTable(name, meta, records)
}

func newThroughputTable(name string, meta Meta, records []throughputRecord) (*ThroughputTable, error) {
	t := &ThroughputTable{Name: name, Meta: meta, Rows: make([]ThroughputRow, len(records))}
	for i := range records {
		row, err := records[i].row()
		if err != nil {
			err.File, err.Row = name, int64(i)+1
			return nil, err
		}
		t.Rows[i] = row
	}
	if err := t.Validate(); err != nil {
		return nil, firstError(err)
	}
	return t, nil
}
