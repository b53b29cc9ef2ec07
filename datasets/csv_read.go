package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// DecodeCSV reads a jobs table in its CSV form; name is what errors call it.
// Columns may be in any order, those that may hold nulls may be missing, and so
// may be the metadata: then Meta.SchemaVersion is 0. Rows in another order are
// sorted. The first problem is returned as a [*RowError] with the number of its
// line.
func DecodeCSV(r io.Reader, name string) (*Jobs, error) {
	var first *RowError
	j, err := newCSVDecoder(r, name, func(e *RowError) bool { first = e; return false }).decode()
	if first != nil {
		return nil, first
	}
	return j, err
}

// errStopped says that a problem was reported and there is no going on.
var errStopped = errors.New("datasets: stopped at a problem")

// csvDecoder makes rows of lines.
type csvDecoder struct {
	lines   csvLines
	file    string
	report  func(*RowError) bool
	names   names
	meta    map[string]string // as the file has it
	columns []*csvColumn      // of the file, in its order
	read    int               // rows, bad ones included
	at      []int64           // lines of the good ones
}

func newCSVDecoder(r io.Reader, name string, report func(*RowError) bool) *csvDecoder {
	return &csvDecoder{lines: csvLines{in: bufio.NewReaderSize(r, maxCSVRow)}, file: name, report: report, names: make(names)}
}

// decode reads the table; rows with problems are left out of it.
func (d *csvDecoder) decode() (*Jobs, error) {
	meta, err := d.header()
	if err != nil {
		return nil, err
	}
	j := &Jobs{Name: d.file, Meta: meta}
	for {
		text, err := d.lines.record(nil)
		if errors.Is(err, io.EOF) {
			return j, d.finish(j)
		}
		if err != nil {
			return nil, d.unreadable(err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if d.read++; d.read > MaxRows {
			return nil, d.fatal("", "one row too many", fmt.Sprintf("split the file: at most %d are read", MaxRows))
		}
		var row Row
		good, err := d.row(&row, text)
		if err != nil {
			return nil, err
		}
		if good {
			j.Rows, d.at = append(j.Rows, row), append(d.at, d.lines.first)
		}
	}
}

// problem reports what is wrong with the row last read and returns errStopped
// where that is enough.
func (d *csvDecoder) problem(column, value, fix string) error {
	return d.tell(&RowError{Row: d.lines.first, Column: column, Value: value, Fix: fix})
}

func (d *csvDecoder) tell(e *RowError) error {
	e.File = d.file
	if !d.report(e) {
		return errStopped
	}
	return nil
}

// fatal is problem where there is no going on.
func (d *csvDecoder) fatal(column, value, fix string) error {
	_ = d.problem(column, value, fix)
	return errStopped
}

// unreadable turns an error about lines into a problem, or returns that of the
// reader below.
func (d *csvDecoder) unreadable(err error) error {
	if e, ok := errors.AsType[*RowError](err); ok {
		_ = d.tell(e)
		return errStopped
	}
	return fmt.Errorf("datasets: read %s: %w", d.file, err)
}

// header reads the metadata and the names of the columns.
func (d *csvDecoder) header() (Meta, error) {
	for {
		text, err := d.lines.line()
		if errors.Is(err, io.EOF) {
			return Meta{}, d.fatal("", "the file has no header", csvFix)
		}
		if err != nil {
			return Meta{}, d.unreadable(err)
		}
		d.lines.first = d.lines.number
		if d.lines.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		switch text = bytes.TrimSpace(text); {
		case len(text) == 0:
		case text[0] == csvComment:
			if err := d.comment(string(text[1:])); err != nil {
				return Meta{}, err
			}
		default:
			if text, err = d.lines.record(text); err != nil {
				return Meta{}, d.unreadable(err)
			}
			if err := d.nameColumns(text); err != nil {
				return Meta{}, err
			}
			return d.decodeMeta()
		}
	}
}

// csvFix says what a CSV jobs table is.
const csvFix = "want the columns of a jobs table, such as job_id,submit_ns,gpus,duration_ns (datasets/SCHEMA.md)"

// comment keeps a line of metadata and passes over any other comment.
func (d *csvDecoder) comment(text string) error {
	key, value, found := strings.Cut(text, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !found || !strings.HasPrefix(key, csvKeyPrefix) {
		return nil
	}
	if _, twice := d.meta[key]; twice {
		return d.fatal("", "metadata "+Excerpt(key)+" there twice", "drop one of the lines")
	}
	plain, err := csvUnquoteMeta(value)
	if err != nil {
		return d.fatal("", "metadata "+Excerpt(key)+" with bad quotes", "write it without, or as a string of Go")
	}
	if d.meta == nil {
		d.meta = make(map[string]string)
	}
	d.meta[key] = plain
	return nil
}

// decodeMeta returns the metadata; that of a file without any is empty.
func (d *csvDecoder) decodeMeta() (Meta, error) {
	if d.meta == nil {
		return Meta{}, nil
	}
	meta, problem := decodeMeta(func(key string) (string, bool) { value, ok := d.meta[key]; return value, ok })
	if problem != nil {
		_ = d.tell(problem)
		return Meta{}, errStopped
	}
	return meta, nil
}

// nameColumns finds the columns that the names stand for.
func (d *csvDecoder) nameColumns(text []byte) error {
	fields, ok := splitCSV(nil, text)
	if !ok {
		return d.fatal("", "bad quotes in "+Excerpt(string(text)), csvFix)
	}
	for _, field := range fields {
		name := string(bytes.TrimSpace(field))
		i := slices.IndexFunc(csvColumns, func(c csvColumn) bool { return c.name == name })
		if i < 0 {
			return d.fatal(Excerpt(name), "unknown", "drop or rename it; a jobs table has "+strings.Join(csvNames(), ", "))
		}
		c := &csvColumns[i]
		if slices.ContainsFunc(d.columns, func(other *csvColumn) bool { return other.same == c.same }) {
			return d.fatal(c.name, "there twice", "drop one")
		}
		d.columns = append(d.columns, c)
	}
	for i := range columns {
		missing := !slices.ContainsFunc(d.columns, func(c *csvColumn) bool { return c.same == columns[i].name })
		if missing && !columns[i].optional {
			return d.fatal(columns[i].name, "missing", "add it: "+columns[i].describe())
		}
	}
	return nil
}

func csvNames() []string {
	all := make([]string, len(csvColumns))
	for i := range csvColumns {
		all[i] = csvColumns[i].name
	}
	return all
}

// row fills row from its text and reports whether it is good.
func (d *csvDecoder) row(row *Row, text []byte) (good bool, err error) {
	fields, ok := splitCSV(d.lines.fields[:0], text)
	d.lines.fields = fields
	switch {
	case !ok:
		return false, d.problem("", "bad quotes in "+Excerpt(string(text)), "quote values as in RFC 4180")
	case len(fields) != len(d.columns):
		return false, d.problem("", strconv.Itoa(len(fields))+" values in the row", fmt.Sprintf("want %d, one for each column", len(d.columns)))
	}
	for i, c := range d.columns {
		if len(fields[i]) == 0 {
			if !c.nullable {
				return false, d.problem(c.name, "empty", "set it: every job has one")
			}
			continue
		}
		if fix := c.set(row, fields[i], d.names); fix != "" {
			return false, d.problem(c.name, Excerpt(string(fields[i])), fix)
		}
	}
	if bad := row.check(); bad != nil {
		return false, d.problem(bad.Column, bad.Value, bad.Fix)
	}
	return true, nil
}

// finish checks what concerns the whole table and brings it into order.
func (d *csvDecoder) finish(j *Jobs) error {
	d.lines.first = 0 // of no row
	if d.read == 0 {
		return d.fatal("", "the table has no rows", "a trace needs at least one job")
	}
	if err := d.complete(); err != nil {
		return err
	}
	for earlier, later := range repeatedIDs(j.ids()) {
		if err := d.tell(repeatedID(j.Rows[later].ID, d.at[earlier], d.at[later])); err != nil {
			return err
		}
	}
	if !slices.IsSortedFunc(j.Rows, compareRows) {
		j.Sort()
	}
	return nil
}

// complete reports a file that was cut short. One without metadata does not
// tell.
func (d *csvDecoder) complete() error {
	if d.meta == nil {
		return nil
	}
	if !d.lines.ended {
		return d.problem("", "the last line has no end", "copy or convert it again: it was cut short")
	}
	if want, ok := d.meta[keyRowsOut]; ok && want != strconv.Itoa(d.read) {
		return d.problem("", fmt.Sprintf("%d rows, but its metadata says %s", d.read, Excerpt(want)), "copy or convert it again, or drop the line "+keyRowsOut+" if you changed the rows")
	}
	return nil
}
