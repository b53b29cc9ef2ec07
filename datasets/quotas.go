package datasets

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
)

// QuotasVersion is the version of the quotas table that [WriteQuotas] writes.
// [ReadQuotas] takes this one and every older one.
const QuotasVersion = 1

// MaxQuotaRows is the most rows of a quotas table.
const MaxQuotaRows = 1 << 20

// QuotaRow says how many GPUs a tenant may hold from some instant on, until the
// next row of the same cluster, tenant and GPU type. Before the first there is
// no limit. A field whose column is nullable is null where it has its zero
// value.
type QuotaRow struct {
	Source  string        // source: who published it
	Cluster string        // cluster: nullable where the source has one only
	Tenant  string        // tenant: as in a jobs table
	GPUType string        // gpu_type: null counts GPUs of all types
	From    time.Duration // from_ns: since the epoch, >= 0
	GPUs    int32         // gpus: that the tenant's jobs may hold together, >= 0
}

// QuotaTable is a table of quotas, ordered by (From, Cluster, Tenant, GPUType),
// each once.
type QuotaTable struct {
	// Name is the file the table was read from, or what errors call it.
	Name string
	Meta Meta
	Rows []QuotaRow
}

// compareQuotas orders rows as a table has them.
func compareQuotas(a, b *QuotaRow) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.GPUType, b.GPUType))
}

// Sort brings the rows into the order of a table.
func (t *QuotaTable) Sort() {
	slices.SortStableFunc(t.Rows, func(a, b QuotaRow) int { return compareQuotas(&a, &b) })
}

// Kind returns [KindQuotas].
func (t *QuotaTable) Kind() string { return KindQuotas }

// Len returns the number of rows.
func (t *QuotaTable) Len() int { return len(t.Rows) }

// Metadata says where the table comes from. It is part of t.
func (t *QuotaTable) Metadata() *Meta { return &t.Meta }

// Validate reports what is wrong with t, up to ten problems at once, each a
// [*RowError].
func (t *QuotaTable) Validate() error {
	var before *QuotaRow
	return checkRows(t.Name, t.Rows, MaxQuotaRows, func(r *QuotaRow) *RowError {
		err := r.check()
		if err == nil && before != nil && compareQuotas(before, r) >= 0 {
			err = badValue(columnFrom, fmt.Sprintf("%d (%s %s), not after the row above it", int64(r.From), columnTenant, Excerpt(r.Tenant)),
				"sort the rows by from_ns, cluster, tenant, gpu_type, each once")
		}
		before = r
		return err
	})
}

// Hash returns a hash of the rows (SHA-256, hex). It depends on nothing but the
// rows.
func (t *QuotaTable) Hash() string {
	return hashRows("yardmaster quotas 1", t.Rows, func(h *rowHash, r *QuotaRow) {
		h.whole(int64(r.From), int64(r.GPUs))
		h.text(r.Source, r.Cluster, r.Tenant, r.GPUType)
	})
}

// Validate reports the first thing wrong with r as a [*RowError] without file
// and row.
func (r *QuotaRow) Validate() error { return orNil(r.check()) }

func (r *QuotaRow) check() *RowError {
	if err := checkNames(
		checkedName{columnSource, r.Source, true}, checkedName{columnCluster, r.Cluster, false},
		checkedName{columnTenant, r.Tenant, true}, checkedName{columnGPUType, r.GPUType, false},
	); err != nil {
		return err
	}
	switch {
	case r.From < 0 || r.From > MaxTime:
		return badValue(columnFrom, int64(r.From), "want 0 to 100 years in nanoseconds since the table's epoch")
	case r.GPUs < 0 || r.GPUs > MaxGPUs:
		return badValue(columnGPUs, r.GPUs, "want 0 to 1000000")
	}
	return nil
}

// At returns the quotas that hold at an instant since the epoch, by (Cluster,
// Tenant, GPUType). The caller owns them.
func (t *QuotaTable) At(at time.Duration) []QuotaRow {
	end, _ := slices.BinarySearchFunc(t.Rows, at, func(r QuotaRow, at time.Duration) int {
		if r.From <= at {
			return -1
		}
		return 1
	})
	type key struct{ cluster, tenant, gpuType string }
	seen := make(map[key]bool)
	var rows []QuotaRow
	for i := end - 1; i >= 0; i-- { // the last of each key holds
		r := &t.Rows[i]
		if k := (key{r.Cluster, r.Tenant, r.GPUType}); !seen[k] {
			seen[k] = true
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, func(a, b QuotaRow) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.GPUType, b.GPUType))
	})
	return rows
}

// Changes returns the instants at which some quota changes, ascending, each
// once.
func (t *QuotaTable) Changes() []time.Duration {
	var at []time.Duration
	for i := range t.Rows {
		if n := len(at); n == 0 || t.Rows[i].From != at[n-1] {
			at = append(at, t.Rows[i].From)
		}
	}
	return at
}

const columnFrom = "from_ns"

// quotaLayout is the schema of version 1, in file order.
var quotaLayout = layout[QuotaRow]{
	table: KindQuotas, version: QuotasVersion, rows: MaxQuotaRows,
	fields: []field[QuotaRow]{
		{name: columnSource, kind: parquet.ByteArray, set: func(r *QuotaRow, c cell) { r.Source = c.text }},
		{name: columnCluster, kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *QuotaRow, c cell) { r.Cluster = c.text }},
		{name: columnTenant, kind: parquet.ByteArray, set: func(r *QuotaRow, c cell) { r.Tenant = c.text }},
		{name: columnGPUType, kind: parquet.ByteArray, nullable: true, optional: true, set: func(r *QuotaRow, c cell) { r.GPUType = c.text }},
		{name: columnFrom, kind: parquet.Int64, set: func(r *QuotaRow, c cell) { r.From = time.Duration(c.whole) }},
		{name: columnGPUs, kind: parquet.Int32, set: func(r *QuotaRow, c cell) { r.GPUs = int32(c.whole) }},
	},
}

// writtenQuota is a [QuotaRow] as parquet-go writes it: field order is column
// order, and nil is null.
type writtenQuota struct {
	Source  string  `parquet:"source,dict"`
	Cluster *string `parquet:"cluster,optional,dict"`
	Tenant  string  `parquet:"tenant,dict"`
	GPUType *string `parquet:"gpu_type,optional,dict"`
	From    int64   `parquet:"from_ns,delta"`
	GPUs    int32   `parquet:"gpus,dict"`
}

func (r *QuotaRow) written() writtenQuota {
	return writtenQuota{
		Source: r.Source, Cluster: orNull(&r.Cluster), Tenant: r.Tenant, GPUType: orNull(&r.GPUType), From: int64(r.From), GPUs: r.GPUs,
	}
}

// WriteQuotas writes t as a Parquet file in the current schema version. As with
// [Write], the file appears under its name when it is complete, and equal tables
// give equal files.
func WriteQuotas(path string, t *QuotaTable) error {
	if err := t.Validate(); err != nil {
		return err
	}
	return writeFile(path, &quotaLayout, t.Meta, t.Rows, (*QuotaRow).written)
}

// Write is [WriteQuotas].
func (t *QuotaTable) Write(path string) error { return WriteQuotas(path, t) }

// ReadQuotas reads a quotas table. Every value must be as SCHEMA.md says; the
// first problem is returned as a [*RowError]. A damaged or hostile file gives an
// error, too.
func ReadQuotas(path string) (*QuotaTable, error) { return readNamed(path, ReadQuotasFrom) }

// ReadQuotasFrom is [ReadQuotas] of the size bytes of r; name is what errors
// call it.
func ReadQuotasFrom(r io.ReaderAt, size int64, name string) (*QuotaTable, error) {
	meta, rows, err := quotaLayout.read(r, size, name)
	if err != nil {
		return nil, err
	}
	t := &QuotaTable{Name: name, Meta: meta, Rows: rows}
	if err := t.Validate(); err != nil {
		return nil, firstError(err)
	}
	return t, nil
}
