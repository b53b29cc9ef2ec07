package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// A table beside that of jobs is described by a layout, and read and written by
// what follows. The guard checks it before the Parquet library does.

// layout describes a table whose rows are R.
type layout[R any] struct {
	table   string // value of yardmaster.table, also its name in messages
	version int    // that is written; read are this one and every older one
	rows    int    // most rows
	texts   int64  // most bytes of all long texts, where there are any
	fields  []field[R]
}

// field describes one column.
type field[R any] struct {
	name     string
	kind     parquet.Kind // Int32, Int64, Double or ByteArray
	nullable bool
	// optional columns may be missing altogether; then every value is null or,
	// where there are no nulls, zero.
	optional bool
	// long is the most bytes of a text; 0 is MaxName. Copies of a longer one are
	// not shared between rows.
	long int
	set  func(*R, cell)
}

// cell is one value that is not null: the member of its column's type.
type cell struct {
	whole  int64
	number float64
	text   string
}

// describe returns the type of a column in words.
func (f *field[R]) describe() string {
	c := column{kind: f.kind, nullable: f.nullable}
	return c.describe()
}

// read reads the size bytes of r. Its error is a [*RowError] unless r fails.
func (l *layout[R]) read(r io.ReaderAt, size int64, name string) (meta Meta, rows []R, err error) {
	defer func() {
		// As in ReadFrom: a stranger's file must not end the program.
		if p := recover(); p != nil {
			meta, rows, err = Meta{}, nil, damaged(name, fmt.Errorf("%v", p))
		}
		if rowErr, ok := errors.AsType[*RowError](err); ok {
			if rowErr.File == "" {
				rowErr.File = name
			}
			// The guard speaks of the table it was made for.
			rowErr.Fix = strings.ReplaceAll(rowErr.Fix, "a jobs table", "a "+l.table+" table")
		}
	}()
	if err := checkMagic(r, size); err != nil {
		return Meta{}, nil, err
	}
	g, err := newGuard(r, size)
	if err != nil {
		return Meta{}, nil, damaged(name, err)
	}
	if meta, err = l.meta(g); err != nil {
		return Meta{}, nil, err
	}
	g.wide, g.text = l.wide(), l.texts
	if err := g.checkSchema(); err != nil {
		return Meta{}, nil, wrapDamage(name, err)
	}
	if rows, err = l.readRows(g, r, size); err != nil {
		return Meta{}, nil, wrapDamage(name, err)
	}
	return meta, rows, nil
}

// wide returns the most bytes of each column of long texts.
func (l *layout[R]) wide() map[string]int64 {
	wide := make(map[string]int64)
	for i := range l.fields {
		if f := &l.fields[i]; f.long > 0 {
			wide[f.name] = int64(f.long)
		}
	}
	return wide
}

// meta reads the file metadata.
func (l *layout[R]) meta(g *guard) (Meta, error) {
	version, ok := g.lookup(keyVersion)
	if !ok {
		return Meta{}, metaError(keyVersion, "missing", "import the table again, or set the key to 1 if the columns follow datasets/SCHEMA.md")
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return Meta{}, metaError(keyVersion, Excerpt(version), "want a whole number from 1")
	}
	if n > l.version {
		return Meta{}, metaError(keyVersion, version, fmt.Sprintf("this yardmaster reads versions up to %d: use a newer one", l.version))
	}
	if table, ok := g.lookup(keyTable); ok && table != l.table {
		return Meta{}, metaError(keyTable, Excerpt(table), "want a "+l.table+" table")
	}
	// What is left has one form for all tables.
	m, metaErr := decodeMeta(func(key string) (string, bool) {
		switch key {
		case keyVersion:
			return "1", true
		case keyTable:
			return "", false
		}
		return g.lookup(key)
	})
	if metaErr != nil {
		return Meta{}, metaErr
	}
	m.SchemaVersion = n
	return m, nil
}

// readRows decodes every row of a file whose footer and schema are sound.
func (l *layout[R]) readRows(g *guard, r io.ReaderAt, size int64) ([]R, error) {
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	at, err := l.locate(f, g.meta.Schema[1:])
	if err != nil {
		return nil, err
	}
	if err := g.checkRows(); err != nil {
		return nil, err
	}
	if n := f.NumRows(); n > int64(l.rows) {
		return nil, &RowError{Value: fmt.Sprintf("the table has %d rows", n), Fix: fmt.Sprintf("split it: at most %d are read", l.rows)}
	}
	if err := g.checkPages(); err != nil {
		return nil, err
	}
	rows := make([]R, f.NumRows())
	d := fieldDecoder[R]{names: decoder{names: make(map[string]string)}, values: make([]parquet.Value, 1024)}
	first := 0
	for _, group := range f.RowGroups() {
		n := int(group.NumRows())
		if err := d.readGroup(group, l.fields, at, rows[first:first+n], int64(first)); err != nil {
			return nil, err
		}
		first += n
	}
	return rows, nil
}

// locate returns the leaf index of each field in f, or -1 where an optional
// column is missing.
func (l *layout[R]) locate(f *parquet.File, leaves []format.SchemaElement) ([]int, error) {
	at, known := make([]int, len(l.fields)), make([]string, len(l.fields))
	for i := range l.fields {
		c := &l.fields[i]
		known[i] = c.name
		leaf := f.Root().Column(c.name)
		switch {
		case leaf == nil && c.optional:
			at[i] = -1
		case leaf == nil:
			return nil, &RowError{Column: c.name, Value: "missing", Fix: "add it: " + c.describe()}
		case !leaf.Leaf() || leaf.Repeated() || leaf.Type().Kind() != c.kind:
			return nil, &RowError{Column: c.name, Value: typeName(leaf), Fix: "want " + c.describe()}
		default:
			at[i] = leaf.Index()
			if unit := otherUnit(&leaves[at[i]]); unit != "" {
				return nil, &RowError{Column: c.name, Value: "annotated " + unit, Fix: fixUnit}
			}
		}
	}
	for _, leaf := range f.Root().Columns() {
		if !slices.Contains(known, leaf.Name()) {
			return nil, &RowError{Column: Excerpt(leaf.Name()), Value: "unknown", Fix: "drop or rename it; the table has " + strings.Join(known, ", ")}
		}
	}
	return at, nil
}

// fieldDecoder turns column chunks into rows.
type fieldDecoder[R any] struct {
	names  decoder         // keeps one copy of each name
	values []parquet.Value // scratch
}

// readGroup fills rows; first is the number of rows in the groups before.
func (d *fieldDecoder[R]) readGroup(group parquet.RowGroup, fields []field[R], at []int, rows []R, first int64) error {
	chunks := group.ColumnChunks()
	for i := range fields {
		if at[i] < 0 {
			continue
		}
		if err := d.readChunk(chunks[at[i]], &fields[i], rows, first); err != nil {
			return err
		}
	}
	return nil
}

func (d *fieldDecoder[R]) readChunk(chunk parquet.ColumnChunk, f *field[R], rows []R, first int64) (err error) {
	values := parquet.NewColumnChunkValueReader(chunk)
	defer func() { err = errors.Join(err, values.Close()) }()
	n := 0
	for n < len(rows) {
		m, err := values.ReadValues(d.values[:min(len(d.values), len(rows)-n)])
		for _, v := range d.values[:m] {
			if problem := d.set(&rows[n], f, v); problem != nil {
				problem.Row = first + int64(n) + 1
				return problem
			}
			n++
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", f.name, err)
		}
		if m == 0 {
			break
		}
	}
	if n != len(rows) {
		return fmt.Errorf("column %s has %d of %d values of its row group", f.name, n, len(rows))
	}
	return nil
}

// set stores one value. A null in a column that has none, and a zero that
// would be taken for a null, are problems.
func (d *fieldDecoder[R]) set(r *R, f *field[R], v parquet.Value) *RowError {
	if v.IsNull() {
		if !f.nullable {
			return &RowError{Column: f.name, Value: "null", Fix: "set it: every row has one"}
		}
		return nil
	}
	var c cell
	zero := false
	switch f.kind {
	case parquet.Int32:
		c.whole = int64(v.Int32())
		zero = c.whole == 0
	case parquet.Int64:
		c.whole = v.Int64()
		zero = c.whole == 0
	case parquet.Double:
		c.number = v.Double()
		zero = c.number == 0
	case parquet.ByteArray:
		if f.long > 0 {
			if n := len(v.ByteArray()); n > f.long {
				return &RowError{Column: f.name, Value: fmt.Sprintf("%d bytes", n), Fix: fmt.Sprintf("want at most %d", f.long)}
			}
			c.text = string(v.ByteArray())
			break
		}
		name, problem := d.names.name(v.ByteArray(), &column{name: f.name})
		if problem != nil {
			return problem
		}
		c.text = name
	default:
		panic("datasets: a field of kind " + f.kind.String())
	}
	if zero && f.nullable {
		return &RowError{Column: f.name, Value: "0", Fix: "want > 0, or null where it is not known"}
	}
	f.set(r, c)
	return nil
}

// writeFile writes a table that is valid as a Parquet file, which appears under
// its name when it is complete. record returns the form of a row that
// parquet-go writes.
func writeFile[R, W any](path string, l *layout[R], meta Meta, rows []R, record func(*R) W) error {
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("datasets: write %s: %w", path, err)
	}
	if err := encodeTable(pending, l, meta, rows, record); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	return nil
}

// encodeTable writes the Parquet form of rows. Equal tables give equal bytes.
func encodeTable[R, W any](w io.Writer, l *layout[R], meta Meta, rows []R, record func(*R) W) error {
	kv, err := meta.encode(len(rows))
	if err != nil {
		return err
	}
	kv[keyVersion], kv[keyTable] = strconv.Itoa(l.version), l.table
	out := parquet.NewGenericWriter[W](w,
		&parquet.WriterConfig{KeyValueMetadata: kv},
		parquet.Compression(&zstd.Codec{}),
		parquet.CreatedBy("yardmaster", "schema", strconv.Itoa(l.version)),
	)
	for chunk := range slices.Chunk(rows, rowsPerGroup) {
		batch := make([]W, len(chunk))
		for i := range chunk {
			batch[i] = record(&chunk[i])
		}
		if _, err := out.Write(batch); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return out.Close()
}
