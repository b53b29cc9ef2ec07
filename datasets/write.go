package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/google/renameio/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// rowsPerGroup is the size of a row group: large enough to compress well, small
// enough that a writer holds one at a time.
const rowsPerGroup = 64 << 10

// Write writes j as a Parquet file in the current schema version. The file
// appears under its name when it is complete and synced, never before: a crash
// or an error leaves what was there. Equal tables give equal files.
func Write(path string, j *Jobs) error {
	if err := j.Validate(); err != nil {
		return err
	}
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("datasets: write %s: %w", path, err)
	}
	if err := encode(pending, j); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return errors.Join(fmt.Errorf("datasets: write %s: %w", path, err), pending.Cleanup())
	}
	return nil
}

// encode writes the Parquet form of j, which is valid.
func encode(w io.Writer, j *Jobs) error {
	e := newEncoder(w)
	if err := e.append(j.Rows); err != nil {
		return err
	}
	return e.close(&j.Meta)
}

// encoder writes rows that are valid as Parquet, and holds one row group.
type encoder struct {
	out   *parquet.GenericWriter[record]
	rows  []Row // of the row group
	batch []record
	n     int // rows in all
}

func newEncoder(w io.Writer) *encoder {
	return &encoder{out: parquet.NewGenericWriter[record](w,
		parquet.Compression(&zstd.Codec{}),
		// Not the version of the library: equal tables give equal files.
		parquet.CreatedBy("yardmaster", "schema", fmt.Sprint(SchemaVersion)),
	)}
}

func (e *encoder) append(rows []Row) error {
	for len(rows) > 0 {
		n := min(len(rows), rowsPerGroup-len(e.rows))
		e.rows = append(e.rows, rows[:n]...)
		rows = rows[n:]
		if len(e.rows) == rowsPerGroup {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the row group.
func (e *encoder) flush() error {
	e.batch = e.batch[:0]
	for i := range e.rows {
		e.batch = append(e.batch, e.rows[i].record())
	}
	if _, err := e.out.Write(e.batch); err != nil {
		return err
	}
	e.n += len(e.rows)
	e.rows = e.rows[:0]
	return e.out.Flush()
}

// close writes what is left, and the metadata.
func (e *encoder) close(m *Meta) error {
	if len(e.rows) > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	meta, err := m.encode(e.n)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		e.out.SetKeyValueMetadata(key, meta[key])
	}
	return e.out.Close()
}

// Writer writes a jobs table row by row, for tables that are larger than memory:
// it holds a row group, and eight bytes of each row. Files are those of [Write].
// It is not safe for concurrent use.
type Writer struct {
	path    string
	pending *renameio.PendingFile
	encoder *encoder
	ids     []int64
	last    Row
	hash    hash.Hash
	scratch []byte
}

// Create begins a file, which appears under its name when the writer is closed,
// and never if it is aborted or fails. One of Close and Abort is to be called.
func Create(path string) (*Writer, error) {
	pending, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return nil, fmt.Errorf("datasets: write %s: %w", path, err)
	}
	w := &Writer{path: path, pending: pending, encoder: newEncoder(pending), hash: sha256.New()}
	w.hash.Write(appendString(nil, hashTitle)) // never fails
	return w, nil
}

// Discard returns a writer that checks and hashes rows and writes nothing.
func Discard() *Writer {
	w := &Writer{path: "the table", hash: sha256.New()}
	w.hash.Write(appendString(nil, hashTitle)) // never fails
	return w
}

// Append adds rows, which are valid and follow those before in the order of
// (Submit, ID). It does not keep them. A problem with a row is a [*RowError].
func (w *Writer) Append(rows []Row) error {
	if len(w.ids)+len(rows) > MaxRows {
		return &RowError{File: w.path, Value: fmt.Sprintf("the table has more than %d rows", MaxRows), Fix: "split it"}
	}
	for i := range rows {
		err := rows[i].check()
		if err == nil && len(w.ids) > 0 {
			err = checkOrder(&w.last, &rows[i])
		}
		if err != nil {
			err.File, err.Row = w.path, int64(len(w.ids))+1
			return err
		}
		w.last, w.ids = rows[i], append(w.ids, rows[i].ID)
		w.scratch = rows[i].appendHash(w.scratch[:0])
		w.hash.Write(w.scratch) // never fails
	}
	if w.pending == nil {
		return nil
	}
	if err := w.encoder.append(rows); err != nil {
		return fmt.Errorf("datasets: write %s: %w", w.path, err)
	}
	return nil
}

// Len returns the number of rows.
func (w *Writer) Len() int { return len(w.ids) }

// Hash returns the hash of the rows so far: that of [Jobs.Hash].
func (w *Writer) Hash() string { return hex.EncodeToString(w.hash.Sum(nil)) }

// Close completes the file, with this metadata. If it fails nothing is left.
func (w *Writer) Close(m Meta) error {
	err := w.complete(&m)
	if err == nil {
		return nil
	}
	return errors.Join(err, w.Abort())
}

func (w *Writer) complete(m *Meta) error {
	if len(w.ids) == 0 {
		return &RowError{File: w.path, Value: "the table has no rows", Fix: "check the filters of the import; a trace needs at least one job"}
	}
	slices.Sort(w.ids)
	for i := 1; i < len(w.ids); i++ {
		if w.ids[i] == w.ids[i-1] {
			return &RowError{File: w.path, Column: columnID, Value: fmt.Sprintf("%d in two rows", w.ids[i]), Fix: "give every job an id of its own, or drop the copy"}
		}
	}
	if w.pending == nil {
		return nil
	}
	err := w.encoder.close(m)
	if err == nil {
		err = w.pending.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("datasets: write %s: %w", w.path, err)
	}
	return nil
}

// Abort leaves nothing of the file. It does nothing after Close.
func (w *Writer) Abort() error {
	if w.pending == nil {
		return nil
	}
	return w.pending.Cleanup()
}
