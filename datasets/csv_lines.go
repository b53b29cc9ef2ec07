package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// csvLines reads the lines of a CSV file. (encoding/csv turns CR LF within
// quotes into LF, so that tables would change on their way through it.)
type csvLines struct {
	in     *bufio.Reader // of maxCSVRow bytes
	number int64         // lines read
	first  int64         // number of the first line of the row last read
	ended  bool          // the line last read has an end
	row    []byte        // scratch: a row of several lines
	fields [][]byte      // scratch
}

// line returns the next line with its end, borrowed until the call after.
func (l *csvLines) line() ([]byte, error) {
	text, err := l.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, &RowError{Row: l.number + 1, Value: fmt.Sprintf("a line of more than %d bytes", maxCSVRow), Fix: "is this a CSV file? name the trace itself"}
	case errors.Is(err, io.EOF) && len(text) > 0:
	case err != nil:
		return nil, err
	}
	l.number++
	l.ended = err == nil
	return text, nil
}

// record returns the text of the next row without the end of its line,
// borrowed until the call after. A row goes on in the next line where quotes
// are open. start is its first line if that was read already, else nil.
func (l *csvLines) record(start []byte) (text []byte, err error) {
	if start == nil {
		if start, err = l.line(); err != nil {
			return nil, err
		}
	}
	l.first = l.number
	if open := bytes.Count(start, []byte{'"'})%2 == 1; !open {
		return trimLineEnd(start), nil
	}
	l.row = append(l.row[:0], start...)
	for {
		more, err := l.line()
		if errors.Is(err, io.EOF) || err == nil && len(l.row)+len(more) > maxCSVRow {
			return nil, &RowError{Row: l.first, Value: "a quote that is not closed", Fix: `close it; write a " within quotes twice`}
		}
		if err != nil {
			return nil, err
		}
		l.row = append(l.row, more...)
		if bytes.Count(more, []byte{'"'})%2 == 1 {
			return trimLineEnd(l.row), nil
		}
	}
}

func trimLineEnd(text []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
}

// splitCSV appends the values of a row to fields, without quotes and, outside
// of them, without space around. It fails where quotes are not those of RFC
// 4180.
func splitCSV(fields [][]byte, text []byte) ([][]byte, bool) {
	for {
		var field []byte
		more, ok := false, true
		if len(text) > 0 && text[0] == '"' {
			field, text, ok = cutQuoted(text)
			if more = len(text) > 0; more {
				ok = ok && text[0] == ','
				text = text[1:]
			}
		} else {
			field, text, more = bytes.Cut(text, []byte{','})
			field = bytes.TrimSpace(field)
			ok = bytes.IndexByte(field, '"') < 0
		}
		if !ok {
			return fields, false
		}
		fields = append(fields, field)
		if !more {
			return fields, true
		}
	}
}

// cutQuoted returns the value in the quotes that text begins with, and what
// follows them.
func cutQuoted(text []byte) (value, rest []byte, ok bool) {
	escaped := false
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			escaped = true
			i++
			continue
		}
		value = text[1:i]
		if escaped {
			value = bytes.ReplaceAll(value, []byte(`""`), []byte{'"'})
		}
		return value, text[i+1:], true
	}
	return nil, nil, false
}
