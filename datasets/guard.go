package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The Parquet library trusts sizes and counts that it reads, so a file of a
// hundred bytes can make it allocate gigabytes. The guard reads every header
// and every encoded page first and lets through only what is within bounds
// that follow from the size of the file. It costs a second decompression.

// Bounds of a file. Tables written here use a twentieth of them.
const (
	maxFooter      = 4 << 20
	maxElements    = 1 << 18  // list elements in a footer
	maxPage        = 64 << 20 // bytes of a page, decompressed
	maxPageHeader  = 64 << 10
	maxColumns     = 1 << 10
	maxRowsPerByte = 64 // a row group of 64k rows has some 3 kB of headers
	trailer        = 8  // length of the footer, magic
)

// guard checks a file before the Parquet library sees it.
type guard struct {
	r    io.ReaderAt
	size int64
	end  int64 // where the footer begins
	left int64 // bytes that column chunks not seen yet may take: they do not overlap
	meta format.FileMetaData
	wide map[string]int64 // most bytes of a text, of columns where that is not MaxName
	text int64            // bytes that those may still come to
}

// newGuard reads and checks the footer: what it returns can be opened.
func newGuard(r io.ReaderAt, size int64) (*guard, error) {
	g := &guard{r: r, size: size}
	if err := g.readFooter(); err != nil {
		return nil, err
	}
	return g, nil
}

// lookup returns a value of the file metadata.
func (g *guard) lookup(key string) (string, bool) {
	for _, kv := range g.meta.KeyValueMetadata {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}

// checkPages returns nil if every page of the file is safe to decode.
func (g *guard) checkPages() error {
	if err := g.checkRows(); err != nil {
		return err
	}
	var shared codecs
	defer shared.close()
	pages := newPageGuard(&shared)
	for i := range g.meta.RowGroups {
		err := g.checkGroup(&g.meta.RowGroups[i], pages)
		if _, ok := errors.AsType[*RowError](err); ok {
			return err
		}
		if err != nil {
			return fmt.Errorf("row group %d: %w", i, err)
		}
	}
	return nil
}

func (g *guard) readFooter() error {
	size := g.size
	var tail [trailer]byte
	if _, err := g.r.ReadAt(tail[:], size-trailer); err != nil {
		return fmt.Errorf("read the footer: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:4]))
	if n > maxFooter || n > size-trailer-4 {
		return fmt.Errorf("a footer of %d bytes in a file of %d", n, size)
	}
	g.end = size - trailer - n
	g.left = g.end
	footer := make([]byte, n)
	if _, err := g.r.ReadAt(footer, g.end); err != nil {
		return fmt.Errorf("read the footer: %w", err)
	}
	length, err := compactLen(footer, maxElements)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if length != len(footer) {
		return errors.New("footer: bytes left over, or signed")
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &g.meta); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return nil
}

// checkSchema refuses nested columns: a jobs table is flat.
func (g *guard) checkSchema() error {
	if len(g.meta.Schema) == 0 {
		return errors.New("footer: no schema")
	}
	if n := len(g.meta.Schema) - 1; n > maxColumns {
		return &RowError{Value: fmt.Sprintf("the file has %d columns", n), Fix: "keep those of a jobs table"}
	}
	if g.meta.EncryptionAlgorithm.Value != nil {
		return &RowError{Value: "the file is encrypted", Fix: "decrypt it"}
	}
	seen := make(map[string]bool)
	for _, s := range g.meta.Schema[1:] {
		if !s.Type.Valid || s.NumChildren.V != 0 {
			return &RowError{Column: Excerpt(s.Name), Value: "a group", Fix: "flatten or drop it: a jobs table has no nested columns"}
		}
		if seen[s.Name] {
			return &RowError{Column: Excerpt(s.Name), Value: "there twice", Fix: "drop one"}
		}
		seen[s.Name] = true
	}
	if int(g.meta.Schema[0].NumChildren.V) != len(g.meta.Schema)-1 {
		return errors.New("footer: the schema has the wrong number of columns")
	}
	return nil
}

func (g *guard) checkRows() error {
	total := int64(0)
	for i := range g.meta.RowGroups {
		n := g.meta.RowGroups[i].NumRows
		if n < 0 || n > MaxRows {
			return fmt.Errorf("row group %d says it has %d rows", i, n)
		}
		total += n // at most maxElements × MaxRows
	}
	switch {
	case total != g.meta.NumRows:
		return fmt.Errorf("the footer says there are %d rows, its row groups %d", g.meta.NumRows, total)
	case total > MaxRows:
		return &RowError{Value: fmt.Sprintf("the table has %d rows", total), Fix: fmt.Sprintf("split it: at most %d are read", MaxRows)}
	case total > maxRowsPerByte*g.size:
		return fmt.Errorf("the footer says there are %d rows in a file of %d bytes", total, g.size)
	}
	return nil
}

func (g *guard) checkGroup(group *format.RowGroup, pages *pageGuard) error {
	columns := g.meta.Schema[1:]
	if len(group.Columns) != len(columns) {
		return fmt.Errorf("%d column chunks for %d columns", len(group.Columns), len(columns))
	}
	for i := range group.Columns {
		err := g.checkChunk(&group.Columns[i], &columns[i], group.NumRows, pages)
		if rowErr, ok := errors.AsType[*RowError](err); ok {
			rowErr.Column = columns[i].Name
			return rowErr
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", Excerpt(columns[i].Name), err)
		}
	}
	return nil
}

// checkChunk checks the extent of a column chunk and every page in it.
func (g *guard) checkChunk(chunk *format.ColumnChunk, column *format.SchemaElement, rows int64, pages *pageGuard) error {
	walk, err := g.walkChunk(chunk, column, rows, pages)
	if err != nil {
		return err
	}
	return walk.check()
}

// walkChunk checks the extent of a column chunk and returns its pages, each of
// which is checked when its turn comes. Every chunk may be walked once.
func (g *guard) walkChunk(chunk *format.ColumnChunk, column *format.SchemaElement, rows int64, pages *pageGuard) (*chunkPages, error) {
	m := &chunk.MetaData
	start := m.DataPageOffset
	if m.DictionaryPageOffset > 0 {
		start = min(start, m.DictionaryPageOffset)
	}
	switch {
	case chunk.FilePath != "":
		return nil, errors.New("its data is in another file")
	case m.Type != column.Type.V:
		return nil, errors.New("its chunk is of another type")
	case m.NumValues != rows:
		return nil, fmt.Errorf("%d values in a row group of %d rows", m.NumValues, rows)
	case start < 4 || m.TotalCompressedSize < 0 || start > g.end || m.TotalCompressedSize > g.end-start:
		return nil, fmt.Errorf("its data (%d bytes at %d) is not in the file", m.TotalCompressedSize, start)
	case m.TotalCompressedSize > g.left:
		return nil, errors.New("its data overlaps that of others")
	}
	g.left -= m.TotalCompressedSize
	shape := chunkShape{rows: rows, optional: column.RepetitionType.V == format.Optional, kind: m.Type, codec: m.Codec, text: MaxName}
	if most, ok := g.wide[column.Name]; ok {
		shape.text, shape.texts = most, &g.text
	}
	return pages.walk(g.r, start, start+m.TotalCompressedSize, shape), nil
}
