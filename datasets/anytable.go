package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Kinds of tables: the values of yardmaster.table, see SCHEMA.md.
const (
	KindJobs         = tableJobs
	KindThroughput   = "throughput"
	KindColocation   = "colocation"
	KindClusterNodes = "cluster_nodes"
	KindQuotas       = "quotas"
	KindDecisions    = "decisions"
)

// Kinds returns every kind of table, that of jobs first.
func Kinds() []string {
	return []string{KindJobs, KindThroughput, KindColocation, KindClusterNodes, KindQuotas, KindDecisions}
}

// Table is what all tables have in common: [*Jobs], [*ThroughputTable],
// [*ColocationTable], [*NodeTable], [*QuotaTable] and [*DecisionTable] are tables.
type Table interface {
	// Kind returns one of [Kinds].
	Kind() string
	// Len returns the number of rows.
	Len() int
	// Metadata says where the table comes from. It is part of the table.
	Metadata() *Meta
	// Validate reports what is wrong, up to ten problems at once, each a
	// [*RowError].
	Validate() error
	// Hash returns a hash of the rows alone (SHA-256, hex).
	Hash() string
	// Write writes the table as a Parquet file, which appears under its name
	// when it is complete. Equal tables give equal files.
	Write(path string) error
}

// Kind returns [KindJobs].
func (j *Jobs) Kind() string { return KindJobs }

// Len returns the number of jobs.
func (j *Jobs) Len() int { return len(j.Rows) }

// Metadata says where the table comes from. It is part of j.
func (j *Jobs) Metadata() *Meta { return &j.Meta }

// Write is [Write].
func (j *Jobs) Write(path string) error { return Write(path, j) }

// Kind returns [KindThroughput].
func (t *ThroughputTable) Kind() string { return KindThroughput }

// Len returns the number of rows.
func (t *ThroughputTable) Len() int { return len(t.Rows) }

// Metadata says where the table comes from. It is part of t.
func (t *ThroughputTable) Metadata() *Meta { return &t.Meta }

// Write is [WriteThroughput].
func (t *ThroughputTable) Write(path string) error { return WriteThroughput(path, t) }

// ReadTable reads a table of any kind, told by its metadata; one that does not
// say is a table of jobs.
func ReadTable(path string) (Table, error) {
	kind, err := KindOf(path)
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindJobs:
		return asTable(Read(path))
	case KindThroughput:
		return asTable(ReadThroughput(path))
	case KindColocation:
		return asTable(ReadColocation(path))
	case KindClusterNodes:
		return asTable(ReadNodes(path))
	case KindQuotas:
		return asTable(ReadQuotas(path))
	case KindDecisions:
		return asTable(ReadDecisions(path))
	}
	return nil, &RowError{File: path, Value: "file metadata " + keyTable + " is " + Excerpt(kind), Fix: "want one of " + strings.Join(Kinds(), ", ")}
}

// asTable returns no table, rather than a nil one, with an error.
func asTable[T Table](t T, err error) (Table, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// KindOf returns what a file says it holds, [KindJobs] where it does not say.
// Nothing but its footer is read.
func KindOf(path string) (string, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := checkMagic(f, size); err != nil {
		return "", named(path, err)
	}
	g, err := newGuard(f, size)
	if err != nil {
		return "", damaged(path, err)
	}
	if kind, ok := g.lookup(keyTable); ok {
		return kind, nil
	}
	return KindJobs, nil
}

// openRegular opens a file that is no folder, pipe or device.
func openRegular(path string) (*os.File, int64, error) {
	// Before it is opened: that of a pipe waits for somebody to write to it.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, 0, &RowError{File: path, Value: "not a regular file", Fix: "name a Parquet file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("datasets: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("datasets: %w", err), f.Close())
	}
	return f, info.Size(), nil
}

// named gives an error about a file the file's name.
func named(name string, err error) error {
	if rowErr, ok := errors.AsType[*RowError](err); ok && rowErr.File == "" {
		rowErr.File = name
	}
	return err
}

// checkRows is Validate for the rows of a table of at most most.
func checkRows[R any](name string, rows []R, most int, check func(*R) *RowError) error {
	if len(rows) == 0 {
		return &RowError{File: name, Value: "the table has no rows", Fix: "check the filters of the import"}
	}
	if len(rows) > most {
		return &RowError{File: name, Value: fmt.Sprintf("the table has %d rows", len(rows)), Fix: fmt.Sprintf("split it: at most %d are read", most)}
	}
	var errs []error
	for i := range rows {
		if err := check(&rows[i]); err != nil {
			err.File, err.Row = name, int64(i)+1
			if errs = append(errs, err); len(errs) >= maxReported {
				break
			}
		}
	}
	return errors.Join(errs...)
}

// readNamed reads the table at path with read, which is given the open file.
func readNamed[T any](path string, read func(r io.ReaderAt, size int64, name string) (T, error)) (T, error) {
	f, size, err := openRegular(path)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(f, size, path)
}

// rowHash hashes rows, one after the other.
type rowHash struct{ b []byte }

func (h *rowHash) whole(xs ...int64) {
	for _, x := range xs {
		h.b = binary.LittleEndian.AppendUint64(h.b, uint64(x))
	}
}

func (h *rowHash) number(xs ...float64) {
	for _, x := range xs {
		h.b = binary.LittleEndian.AppendUint64(h.b, math.Float64bits(x))
	}
}

func (h *rowHash) text(xs ...string) {
	for _, x := range xs {
		h.b = appendString(h.b, x)
	}
}

// hashRows returns the hash of rows under a title that no other table has.
func hashRows[R any](title string, rows []R, add func(*rowHash, *R)) string {
	sum := sha256.New()
	var h rowHash
	h.text(title)
	for i := range rows {
		add(&h, &rows[i])
		sum.Write(h.b) // never fails
		h.b = h.b[:0]
	}
	sum.Write(h.b)
	return hex.EncodeToString(sum.Sum(nil))
}
