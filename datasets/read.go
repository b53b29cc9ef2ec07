package datasets

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Read reads a jobs table. The rows must be ordered by (submit_ns, job_id) and
// every value must be as SCHEMA.md says; the first problem is returned as a
// [*RowError]. A damaged or hostile file gives an error, too.
func Read(path string) (*Jobs, error) {
	return readNamed(path, ReadFrom)
}

// ReadFrom is [Read] of the size bytes of r; name is what errors call it.
func ReadFrom(r io.ReaderAt, size int64, name string) (*Jobs, error) {
	j, err := read(r, size, name, nil)
	if err != nil {
		return nil, err
	}
	if err := j.Validate(); err != nil {
		return nil, firstError(err)
	}
	return j, nil
}

func damaged(name string, cause error) error {
	return &RowError{File: name, Value: "damaged Parquet file (" + strings.ReplaceAll(cause.Error(), "\n", "; ") + ")", Fix: "copy or import it again"}
}

// read decodes a table whose rows have yet to be validated. Where report is not
// nil it is handed the problems of single values and says whether to go on.
func read(r io.ReaderAt, size int64, name string, report func(*RowError) bool) (*Jobs, error) {
	s, err := ScanFrom(r, size, name, ScanConfig{})
	if err != nil {
		return nil, err
	}
	defer s.codecs.close() // r stays open
	for _, c := range s.columns {
		c.report = report
	}
	j := &Jobs{Name: name, Meta: s.meta}
	if int64(s.rows) <= size { // a row takes a byte or more, unless it is like others
		j.Rows = make([]Row, 0, s.rows)
	}
	err = s.guarded(func() error {
		for {
			first := len(j.Rows)
			j.Rows = slices.Grow(j.Rows, min(ScanRows, s.rows-first+1))
			n, err := s.fill(j.Rows[first:min(cap(j.Rows), first+ScanRows)])
			if err != nil {
				return err
			}
			j.Rows = j.Rows[:first+n]
		}
	})
	if !errors.Is(err, io.EOF) {
		return nil, err
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
