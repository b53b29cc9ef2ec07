package datasets

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// EncodeCSV writes j to w in its CSV form, metadata included. Equal tables give
// equal bytes; [DecodeCSV] gives back an equal table.
func EncodeCSV(w io.Writer, j *Jobs) error {
	if err := j.Validate(); err != nil {
		return err
	}
	out, err := newCSVEncoder(w, &j.Meta, len(j.Rows))
	if err != nil {
		return err
	}
	if err := out.append(j.Rows); err != nil {
		return err
	}
	return out.buffer.Flush()
}

// StreamCSV is [EncodeCSV] of a table that is being scanned. Of what it has
// written it keeps the ids alone, which have to be unique.
func StreamCSV(w io.Writer, s *Scanner) error {
	out, err := newCSVEncoder(w, &s.meta, s.rows)
	if err != nil {
		return err
	}
	var ids []int64
	for rows, err := range s.All() {
		if err != nil {
			return err
		}
		if err := out.append(rows); err != nil {
			return err
		}
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
	}
	for earlier, later := range repeatedIDs(ids) {
		return named(s.name, repeatedID(ids[later], int64(earlier)+1, int64(later)+1))
	}
	return out.buffer.Flush()
}

// csvEncoder writes rows that are valid.
type csvEncoder struct {
	buffer *bufio.Writer
	line   []byte // scratch
}

// newCSVEncoder writes the metadata and the header of a table.
func newCSVEncoder(w io.Writer, m *Meta, rows int) (*csvEncoder, error) {
	meta, err := m.encode(rows)
	if err != nil {
		return nil, err
	}
	e := &csvEncoder{buffer: bufio.NewWriterSize(w, 64<<10)}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		e.line = append(e.line, string(csvComment)+" "+key+": "+csvQuoteMeta(meta[key])+"\n"...)
	}
	header := make([]string, len(columns))
	for i := range columns {
		header[i] = columns[i].name
	}
	e.line = append(e.line, strings.Join(header, ",")+"\n"...)
	_, err = e.buffer.Write(e.line)
	return e, err
}

func (e *csvEncoder) append(rows []Row) error {
	for i := range rows {
		e.line = rows[i].appendCSV(e.line[:0])
		if _, err := e.buffer.Write(e.line); err != nil {
			return err
		}
	}
	return nil
}

// appendCSV appends the line of r: the values in the order of [columns], none
// where there is a null.
func (r *Row) appendCSV(b []byte) []byte {
	b = strconv.AppendInt(b, r.ID, 10)
	b = strconv.AppendInt(append(b, ','), int64(r.Submit), 10)
	b = strconv.AppendInt(append(b, ','), int64(r.GPUs), 10)
	b = appendWhole(b, int64(r.Duration))
	b = appendNumber(b, r.Steps)
	b = appendText(b, r.Model)
	b = appendWhole(b, int64(r.Batch))
	b = appendText(b, r.ReferenceGPU)
	b = appendText(b, r.Tenant)
	b = appendNumber(b, r.Weight)
	b = appendWhole(b, int64(r.Deadline))
	b = appendText(b, r.Status)
	return append(b, '\n')
}

// appendWhole appends a comma and x, nothing after it where x is null.
func appendWhole(b []byte, x int64) []byte {
	b = append(b, ',')
	if x == 0 {
		return b
	}
	return strconv.AppendInt(b, x, 10)
}

// appendNumber is appendWhole for numbers, with as many digits as tell x from
// its neighbours.
func appendNumber(b []byte, x float64) []byte {
	b = append(b, ',')
	if x == 0 {
		return b
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// appendText is appendWhole for text, in quotes where it needs them.
func appendText(b []byte, s string) []byte {
	b = append(b, ',')
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return append(b, s...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(s, `"`, `""`)...)
	return append(b, '"')
}
