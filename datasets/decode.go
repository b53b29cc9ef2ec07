package datasets

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// describe returns the type of a column in words.
func (c *column) describe() string {
	s := strings.ToLower(c.kind.String())
	if c.kind == parquet.ByteArray {
		s = "string"
	}
	if c.nullable {
		return s + ", may hold nulls"
	}
	return s
}

func typeName(leaf *parquet.Column) string {
	if !leaf.Leaf() {
		return "a group"
	}
	if leaf.Repeated() {
		return "a list of " + strings.ToLower(leaf.Type().Kind().String())
	}
	return "of type " + strings.ToLower(leaf.Type().Kind().String())
}

// decoder turns the column chunks of row groups into rows.
type decoder struct {
	names  map[string]string // one copy of each name
	values []parquet.Value   // scratch
	// report is handed problems with values and says whether to go on. Nil: the
	// first is the error.
	report func(*RowError) bool
}

// readGroup fills rows, which has the group's number of rows, and checks
// nulls. first is the number of rows in the groups before.
func (d *decoder) readGroup(group parquet.RowGroup, at []int, rows []Row, first int64) error {
	chunks := group.ColumnChunks()
	for i := range columns {
		if at[i] < 0 {
			continue
		}
		if err := d.readChunk(chunks[at[i]], &columns[i], rows, first); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) readChunk(chunk parquet.ColumnChunk, c *column, rows []Row, first int64) (err error) {
	pages := chunk.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	n := 0 // rows filled
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		m, err := d.readPage(page, c, rows[n:], first+int64(n))
		parquet.Release(page)
		if err != nil {
			return err
		}
		n += m
	}
	if n != len(rows) {
		return fmt.Errorf("column %s has %d of %d values of its row group", c.name, n, len(rows))
	}
	return nil
}

func (d *decoder) readPage(page parquet.Page, c *column, rows []Row, first int64) (n int, err error) {
	values := page.Values()
	for {
		m, err := values.ReadValues(d.values)
		if m > len(rows)-n {
			return n, fmt.Errorf("column %s has more values than its row group has rows", c.name)
		}
		for i, v := range d.values[:m] {
			if problem := d.set(&rows[n+i], c, v); problem != nil {
				problem.Row = first + int64(n+i) + 1
				if d.report == nil || !d.report(problem) {
					return n, problem
				}
			}
		}
		n += m
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("column %s: %w", c.name, err)
		}
		if m == 0 {
			return n, fmt.Errorf("column %s: page ends early", c.name)
		}
	}
}

// set stores one value. A null in a column that has none, and a zero that
// would be taken for a null, are problems.
func (d *decoder) set(r *Row, c *column, v parquet.Value) *RowError {
	if v.IsNull() {
		if !c.nullable {
			return &RowError{Column: c.name, Value: "null", Fix: "set it: every job has one"}
		}
		return nil
	}
	zero := false
	switch {
	case c.setInt32 != nil:
		x := v.Int32()
		zero = x == 0
		c.setInt32(r, x)
	case c.setInt64 != nil:
		x := v.Int64()
		zero = x == 0
		c.setInt64(r, x)
	case c.setDouble != nil:
		x := v.Double()
		zero = x == 0
		c.setDouble(r, x)
	default:
		name, problem := d.name(v.ByteArray(), c)
		if problem != nil {
			return problem
		}
		c.setString(r, name)
	}
	if zero && c.nullable {
		return &RowError{Column: c.name, Value: "0", Fix: "want > 0, or null where it is not known"}
	}
	return nil
}

// name returns the one copy of a name. An empty name is a null.
func (d *decoder) name(b []byte, c *column) (string, *RowError) {
	if s, ok := d.names[string(b)]; ok {
		return s, nil
	}
	if len(b) > MaxName {
		return "", &RowError{Column: c.name, Value: Excerpt(string(b[:MaxName])), Fix: "want at most 256 bytes of UTF-8"}
	}
	s := string(b)
	d.names[s] = s
	return s, nil
}
