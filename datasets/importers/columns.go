package importers

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
)

// MaxColumns is the most columns a table of separated values may have.
const MaxColumns = 512

// Layout says how a table of separated values is written.
type Layout struct {
	// Names are the columns wanted, in the order in which Next returns them.
	Names []string
	// Optional columns follow them, "" where the table has none.
	Optional []string
	// Comma separates the values of a line. Default ','.
	Comma byte
	// Headless tables have no header and exactly the columns Names, in order. A
	// first line that is the header after all is skipped.
	Headless bool
	// Free is the wanted column whose values may hold Comma without quotes, as
	// names that users give to jobs do; "" for none.
	Free string
	// MaxValue is the most bytes of a wanted value. Default datasets.MaxName.
	MaxValue int
}

func (l *Layout) fillDefaults() {
	if l.Comma == 0 {
		l.Comma = ','
	}
	if l.MaxValue == 0 {
		l.MaxValue = datasets.MaxName
	}
}

// Columns reads the rows of a table of separated values by the names of its
// columns, in whatever order the table has them. It is not safe for concurrent
// use.
type Columns struct {
	Line int64 // of the row last read

	source *Source
	layout Layout
	names  []string // wanted, required ones first
	at     []int    // position in a line of each, -1 for none
	width  int      // columns of the table
	fields []string // of the line last read
	values []string // of the columns wanted
	valid  bool     // that line is UTF-8
	queued bool     // fields hold the first row, which was read as a header
}

// NewColumns reads the header of the table in s.
func NewColumns(s *Source, layout Layout) (*Columns, error) {
	layout.fillDefaults()
	c := &Columns{source: s, layout: layout, names: slices.Concat(layout.Names, layout.Optional)}
	c.at, c.values = make([]int, len(c.names)), make([]string, len(c.names))
	line, number, err := s.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, s.Error(0, "", "the file has no text", c.wanted())
		}
		return nil, err
	}
	if err := c.split(line); err != nil || len(c.fields) > MaxColumns {
		return nil, s.Error(number, "", "no columns in "+datasets.Excerpt(line), c.wanted())
	}
	c.Line = number
	if layout.Headless {
		return c, c.beginHeadless()
	}
	return c, c.beginHeader(line)
}

// beginHeader finds the wanted columns in the header.
func (c *Columns) beginHeader(line string) error {
	c.width = len(c.fields)
	for i, name := range c.names {
		c.at[i] = slices.IndexFunc(c.fields, func(f string) bool { return strings.TrimSpace(f) == name })
		if c.at[i] < 0 && i < len(c.layout.Names) {
			return c.source.Error(c.Line, name, "missing from the header "+datasets.Excerpt(line), c.wanted())
		}
	}
	return nil
}

// beginHeadless takes the columns in order, and the first line as a row.
func (c *Columns) beginHeadless() error {
	c.width = len(c.layout.Names)
	for i := range c.at {
		c.at[i] = i
	}
	c.queued = !slices.Equal(c.fields, c.layout.Names)
	return nil
}

func (c *Columns) wanted() string { return "want the columns " + strings.Join(c.layout.Names, ", ") }

// Has reports whether the table has an optional column, by its position among
// the columns wanted.
func (c *Columns) Has(column int) bool { return c.at[column] >= 0 }

// Next returns the values of the next row in the order of the layout, without
// spaces around them, borrowed until the call after. The error is io.EOF after
// the last row.
func (c *Columns) Next() ([]string, error) {
	if !c.queued {
		line, number, err := c.source.Next()
		if err != nil {
			return nil, err
		}
		c.Line = number
		if err := c.split(line); err != nil {
			return nil, c.source.Error(number, "", "bad quotes in "+datasets.Excerpt(line), "quote values as in RFC 4180, each row on one line")
		}
	}
	c.queued = false
	if err := c.fit(); err != nil {
		return nil, err
	}
	for i, at := range c.at {
		if at < 0 {
			continue
		}
		c.values[i] = trim(c.fields[at])
		if len(c.values[i]) > c.layout.MaxValue || !c.valid && !utf8.ValidString(c.values[i]) {
			return nil, c.Bad(i, fmt.Sprintf("want at most %d bytes of UTF-8", c.layout.MaxValue))
		}
	}
	return c.values, nil
}

// trim is strings.TrimSpace, faster where there is nothing to trim.
func trim(s string) string {
	printable := func(b byte) bool { return ' ' < b && b < utf8.RuneSelf }
	if s == "" || printable(s[0]) && printable(s[len(s)-1]) {
		return s
	}
	return strings.TrimSpace(s)
}

// fit makes the fields of a line as many as the table has columns, if it can.
func (c *Columns) fit() error {
	surplus := len(c.fields) - c.width
	if surplus > 0 && len(c.fields) <= MaxColumns {
		if i := slices.Index(c.names, c.layout.Free); i >= 0 && c.at[i] >= 0 {
			at := c.at[i]
			c.fields[at] = strings.Join(c.fields[at:at+surplus+1], string(c.layout.Comma))
			c.fields = slices.Delete(c.fields, at+1, at+surplus+1)
			return nil
		}
	}
	// A separator at the end of each line is not a column.
	if surplus == 1 && c.fields[c.width] == "" {
		return nil
	}
	if surplus != 0 {
		return c.source.Error(c.Line, "", fmt.Sprintf("%d values in the row", len(c.fields)), fmt.Sprintf("want %d, one for each column", c.width))
	}
	return nil
}

// Bad returns an error about the value of a wanted column in the row last read.
func (c *Columns) Bad(column int, fix string) error {
	return c.source.Error(c.Line, c.names[column], datasets.Excerpt(c.values[column]), fix)
}

// split cuts a line into c.fields.
func (c *Columns) split(line string) error {
	c.fields, c.valid = c.fields[:0], utf8.ValidString(line)
	if c.layout.Comma == ',' && strings.Contains(line, `"`) {
		fields, err := Fields(line)
		c.fields = append(c.fields, fields...)
		return err
	}
	for len(c.fields) <= MaxColumns { // fit refuses more
		at := strings.IndexByte(line, c.layout.Comma)
		if at < 0 {
			c.fields = append(c.fields, line)
			break
		}
		c.fields = append(c.fields, line[:at])
		line = line[at+1:]
	}
	return nil
}
