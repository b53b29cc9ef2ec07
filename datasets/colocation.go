package datasets

import (
	"io"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// ColocationVersion is the version of the colocation table that
// [WriteColocation] writes. [ReadColocation] takes this one and every older one.
const ColocationVersion = 1

// MaxColocationRows is the most rows of a colocation table.
const MaxColocationRows = 1 << 18

// Tenancy is one of the two jobs of a [ColocationRow]. A field whose column is
// nullable is null where it has its zero value.
type Tenancy struct {
	Model string // model_a, model_b: named as in a throughput table
	Batch int32  // batch_a, batch_b: samples per step and worker; nullable
	// StepsPerSecond (steps_per_s_a, steps_per_s_b) is its speed beside the
	// other, summed over its workers; null where it ran out of memory there.
	StepsPerSecond float64
	// Isolated (isolated_steps_per_s_a, …_b) is its speed with the same GPUs to
	// itself, from the same source; nullable.
	Isolated float64
	MemGiB   float64 // mem_gib_a, mem_gib_b: that it uses of each GPU; nullable
}

// ColocationRow says how fast two jobs run that share each of their GPUs. A
// field whose column is nullable is null where it has its zero value.
type ColocationRow struct {
	Source  string // source: who measured it
	GPUType string // gpu_type: named as in a throughput table
	GPUs    int32  // gpus: that both jobs run on, >= 1
	Nodes   int32  // nodes: that the GPUs were spread over; nullable
	A, B    Tenancy
	Quality Quality // quality
}

// ColocationTable is a table of pairs of jobs, in any order. A pair may be there
// in both orders.
type ColocationTable struct {
	// Name is the file the table was read from, or what errors call it.
	Name string
	Meta Meta
	Rows []ColocationRow
}

// Kind returns [KindColocation].
func (t *ColocationTable) Kind() string { return KindColocation }

// Len returns the number of rows.
func (t *ColocationTable) Len() int { return len(t.Rows) }

// Metadata says where the table comes from. It is part of t.
func (t *ColocationTable) Metadata() *Meta { return &t.Meta }

// Validate reports what is wrong with t, up to ten problems at once, each a
// [*RowError].
func (t *ColocationTable) Validate() error {
	return checkRows(t.Name, t.Rows, MaxColocationRows, (*ColocationRow).check)
}

// Hash returns a hash of the rows (SHA-256, hex). It depends on nothing but the
// rows and their order.
func (t *ColocationTable) Hash() string {
	return hashRows("yardmaster colocation 1", t.Rows, func(h *rowHash, r *ColocationRow) {
		h.whole(int64(r.GPUs), int64(r.Nodes), int64(r.A.Batch), int64(r.B.Batch))
		h.number(r.A.StepsPerSecond, r.B.StepsPerSecond, r.A.Isolated, r.B.Isolated, r.A.MemGiB, r.B.MemGiB)
		h.text(r.Source, r.GPUType, r.A.Model, r.B.Model, string(r.Quality))
	})
}

// Validate reports the first thing wrong with r as a [*RowError] without file
// and row.
func (r *ColocationRow) Validate() error { return orNil(r.check()) }

func (r *ColocationRow) check() *RowError {
	if err := checkNames(
		checkedName{columnSource, r.Source, true}, checkedName{columnGPUType, r.GPUType, true},
		checkedName{columnModel + "_a", r.A.Model, true}, checkedName{columnModel + "_b", r.B.Model, true},
	); err != nil {
		return err
	}
	switch {
	case r.GPUs < 1 || r.GPUs > MaxGPUs:
		return badValue(columnGPUs, r.GPUs, "want 1 to 1000000")
	case r.Nodes < 0 || r.Nodes > r.GPUs:
		return badValue(columnNodes, r.Nodes, "want 1 to "+columnGPUs+", or null where it is not known")
	case r.Quality != Measured && r.Quality != Modelled:
		return badValue(columnQuality, Excerpt(string(r.Quality)), `want "measured" or "modelled"`)
	}
	if err := r.A.check("_a"); err != nil {
		return err
	}
	return r.B.check("_b")
}

// check returns the first thing wrong with one of the two jobs; side is the end
// of the names of its columns.
func (j *Tenancy) check(side string) *RowError {
	switch {
	case j.Batch < 0 || j.Batch > MaxBatch:
		return badValue(columnBatch+side, j.Batch, "want 1 to 16777216 samples per step and worker, or null")
	case !(j.StepsPerSecond >= 0 && j.StepsPerSecond <= maxRate):
		return badValue(columnRate+side, j.StepsPerSecond, "want a number > 0 and at most 1e12, or null where it ran out of memory")
	case !(j.Isolated >= 0 && j.Isolated <= maxRate):
		return badValue(columnIsolated+side, j.Isolated, "want a number > 0 and at most 1e12, or null where it is not known")
	case !(j.MemGiB >= 0 && j.MemGiB <= maxMemoryGiB):
		return badValue(columnMemory+side, j.MemGiB, "want GiB > 0, or null where it is not known")
	}
	return nil
}

// checkedName is a name in a row.
type checkedName struct {
	column, value string
	required      bool
}

// checkNames returns the first thing wrong with names.
func checkNames(names ...checkedName) *RowError {
	for _, n := range names {
		if len(n.value) > MaxName || !utf8.ValidString(n.value) {
			return badValue(n.column, Excerpt(n.value), "want at most 256 bytes of UTF-8")
		}
		if n.required && n.value == "" {
			return badValue(n.column, "null", "name it: a row says nothing without it")
		}
	}
	return nil
}

// orNil returns err as an error that is nil where err is.
func orNil(err *RowError) error {
	if err == nil {
		return nil
	}
	return err
}

const columnIsolated = "isolated_steps_per_s"

// colocationLayout is the schema of version 1, in file order.
var colocationLayout = layout[ColocationRow]{
	table: KindColocation, version: ColocationVersion, rows: MaxColocationRows,
	fields: append(append([]field[ColocationRow]{
		{name: columnSource, kind: parquet.ByteArray, set: func(r *ColocationRow, c cell) { r.Source = c.text }},
		{name: columnGPUType, kind: parquet.ByteArray, set: func(r *ColocationRow, c cell) { r.GPUType = c.text }},
		{name: columnGPUs, kind: parquet.Int32, set: func(r *ColocationRow, c cell) { r.GPUs = int32(c.whole) }},
		{name: columnNodes, kind: parquet.Int32, nullable: true, optional: true, set: func(r *ColocationRow, c cell) { r.Nodes = int32(c.whole) }},
		{name: columnQuality, kind: parquet.ByteArray, set: func(r *ColocationRow, c cell) { r.Quality = Quality(c.text) }},
	}, tenancyFields("_a", func(r *ColocationRow) *Tenancy { return &r.A })...),
		tenancyFields("_b", func(r *ColocationRow) *Tenancy { return &r.B })...),
}

// tenancyFields returns the columns of one of the two jobs.
func tenancyFields(side string, of func(*ColocationRow) *Tenancy) []field[ColocationRow] {
	return []field[ColocationRow]{
		{name: columnModel + side, kind: parquet.ByteArray, set: func(r *ColocationRow, c cell) { of(r).Model = c.text }},
		{name: columnBatch + side, kind: parquet.Int32, nullable: true, optional: true, set: func(r *ColocationRow, c cell) { of(r).Batch = int32(c.whole) }},
		{name: columnRate + side, kind: parquet.Double, nullable: true, set: func(r *ColocationRow, c cell) { of(r).StepsPerSecond = c.number }},
		{name: columnIsolated + side, kind: parquet.Double, nullable: true, optional: true, set: func(r *ColocationRow, c cell) { of(r).Isolated = c.number }},
		{name: columnMemory + side, kind: parquet.Double, nullable: true, optional: true, set: func(r *ColocationRow, c cell) { of(r).MemGiB = c.number }},
	}
}

// writtenColocation is a [ColocationRow] as parquet-go writes it: field order is
// column order, and nil is null.
type writtenColocation struct {
	Source    string   `parquet:"source,dict"`
	GPUType   string   `parquet:"gpu_type,dict"`
	GPUs      int32    `parquet:"gpus,dict"`
	Nodes     *int32   `parquet:"nodes,optional,dict"`
	Quality   string   `parquet:"quality,dict"`
	ModelA    string   `parquet:"model_a,dict"`
	BatchA    *int32   `parquet:"batch_a,optional,dict"`
	RateA     *float64 `parquet:"steps_per_s_a,optional"`
	IsolatedA *float64 `parquet:"isolated_steps_per_s_a,optional,dict"`
	MemA      *float64 `parquet:"mem_gib_a,optional,dict"`
	ModelB    string   `parquet:"model_b,dict"`
	BatchB    *int32   `parquet:"batch_b,optional,dict"`
	RateB     *float64 `parquet:"steps_per_s_b,optional"`
	IsolatedB *float64 `parquet:"isolated_steps_per_s_b,optional,dict"`
	MemB      *float64 `parquet:"mem_gib_b,optional,dict"`
}

func (r *ColocationRow) written() writtenColocation {
	return writtenColocation{
		Source: r.Source, GPUType: r.GPUType, GPUs: r.GPUs, Nodes: orNull(&r.Nodes), Quality: string(r.Quality),
		ModelA: r.A.Model, BatchA: orNull(&r.A.Batch), RateA: orNull(&r.A.StepsPerSecond), IsolatedA: orNull(&r.A.Isolated), MemA: orNull(&r.A.MemGiB),
		ModelB: r.B.Model, BatchB: orNull(&r.B.Batch), RateB: orNull(&r.B.StepsPerSecond), IsolatedB: orNull(&r.B.Isolated), MemB: orNull(&r.B.MemGiB),
	}
}

// WriteColocation writes t as a Parquet file in the current schema version. As
// with [Write], the file appears under its name when it is complete, and equal
// tables give equal files.
func WriteColocation(path string, t *ColocationTable) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return writeFile(path, &colocationLayout, t.Meta, t.Rows, (*ColocationRow).written)
}

// Write is [WriteColocation].
func (t *ColocationTable) Write(path string) error { return WriteColocation(path, t) }

// ReadColocation reads a colocation table. Every value must be as SCHEMA.md
// says; the first problem is returned as a [*RowError]. A damaged or hostile
// file gives an error, too.
func ReadColocation(path string) (*ColocationTable, error) {
	return readNamed(path, ReadColocationFrom)
}

// ReadColocationFrom is [ReadColocation] of the size bytes of r; name is what
// errors call it.
func ReadColocationFrom(r io.ReaderAt, size int64, name string) (*ColocationTable, error) {
	meta, rows, err := colocationLayout.read(r, size, name)
	if err != nil {
		return nil, err
	}
	t := &ColocationTable{Name: name, Meta: meta, Rows: rows}
	if err := t.Validate(); err != nil {
		return nil, firstError(err)
	}
	return t, nil
}
