package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Read reads a jobs table. The rows must be ordered by (submit_ns, job_id) and
// every value must be as SCHEMA.md says; the first problem is returned as a
// [*RowError]. A damaged or hostile file gives an error, too.
func Read(path string) (*Jobs, error) {
	return readNamed(path, ReadFrom)
}

// ReadFrom is [Read] of the size bytes of r; name is what errors call it.
func ReadFrom(r io.ReaderAt, size int64, name string) (j *Jobs, err error) {
	defer func() {
		// The guard refuses what is known to upset the Parquet library. What
		// is left must not end a program that reads a stranger's file.
		if p := recover(); p != nil {
			j, err = nil, damaged(name, fmt.Errorf("%v", p))
		}
	}()
	j, err = read(r, size, name, nil)
	if err == nil {
		err = firstError(j.Validate())
	}
	if err != nil {
		j = nil
	}
	if rowErr, ok := errors.AsType[*RowError](err); ok && rowErr.File == "" {
		rowErr.File = name
	}
	return j, err
}

func damaged(name string, cause error) error {
	return &RowError{File: name, Value: "damaged Parquet file (" + strings.ReplaceAll(cause.Error(), "\n", "; ") + ")", Fix: "copy or import it again"}
}

// read decodes a table whose rows have yet to be validated. Where report is not
// nil it is handed the problems of single values and says whether to go on.
func read(r io.ReaderAt, size int64, name string, report func(*RowError) bool) (*Jobs, error) {
	if err := checkMagic(r, size); err != nil {
		return nil, err
	}
	g, err := newGuard(r, size)
	if err != nil {
		return nil, damaged(name, err)
	}
	meta, metaErr := decodeMeta(g.lookup)
	if metaErr != nil {
		return nil, metaErr
	}
	if err := g.checkSchema(); err != nil {
		return nil, wrapDamage(name, err)
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, damaged(name, err)
	}
	at, err := locateColumns(f)
	if err != nil {
		return nil, err
	}
	if err := g.checkPages(); err != nil {
		return nil, wrapDamage(name, err)
	}
	j := &Jobs{Name: name, Meta: meta, Rows: make([]Row, 0, f.NumRows())}
	d := decoder{names: make(map[string]string), values: make([]parquet.Value, 1024), report: report}
	for _, group := range f.RowGroups() {
		first := len(j.Rows)
		j.Rows = j.Rows[:first+int(group.NumRows())]
		if err := d.readGroup(group, at, j.Rows[first:], int64(first)); err != nil {
			return nil, wrapDamage(name, err)
		}
	}
	return j, nil
}

// wrapDamage leaves errors about values alone and calls the rest damage.
func wrapDamage(name string, err error) error {
	if _, ok := errors.AsType[*RowError](err); ok {
		return err
	}
	return damaged(name, err)
}

// firstError returns the first of joined errors: one file, one line.
func firstError(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[0]
	}
	return err
}

// checkMagic tells apart what is no Parquet file at all.
func checkMagic(r io.ReaderAt, size int64) error {
	const fix = `make one with "yardmaster trace import"`
	if size == 0 {
		return &RowError{Value: "the file is empty (0 bytes)", Fix: fix}
	}
	var head, tail [4]byte
	if size >= 12 {
		if _, err := r.ReadAt(head[:], 0); err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
		if _, err := r.ReadAt(tail[:], size-4); err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
	}
	switch {
	case string(head[:]) != "PAR1":
		return &RowError{Value: "not a Parquet file: it does not begin with PAR1", Fix: fix}
	case string(tail[:]) != "PAR1":
		return &RowError{Value: "truncated Parquet file: it does not end in PAR1", Fix: "copy or import it again"}
	}
	return nil
}

// locateColumns returns, for each of [columns], its leaf index in f, or -1
// where an optional column is missing.
func locateColumns(f *parquet.File) ([]int, error) {
	at := make([]int, len(columns))
	known := make([]string, len(columns))
	for i, c := range columns {
		known[i] = c.name
		leaf := f.Root().Column(c.name)
		if leaf == nil {
			if !c.optional {
				return nil, &RowError{Column: c.name, Value: "missing", Fix: "add it: " + c.describe()}
			}
			at[i] = -1
			continue
		}
		if !leaf.Leaf() || leaf.Repeated() || leaf.Type().Kind() != c.kind {
			return nil, &RowError{Column: c.name, Value: typeName(leaf), Fix: "want " + c.describe()}
		}
		at[i] = leaf.Index()
	}
	for _, leaf := range f.Root().Columns() {
		if !slices.Contains(known, leaf.Name()) {
			return nil, &RowError{Column: Excerpt(leaf.Name()), Value: "unknown", Fix: "drop or rename it; the table has " + strings.Join(known, ", ")}
		}
	}
	return at, nil
}
