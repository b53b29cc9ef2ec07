package datasets

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The CSV form of a jobs table is RFC 4180 with the file metadata in comments
// above the header; see SCHEMA.md. It holds all that the Parquet form does, so
// that either can be made from the other.

// Metadata lines: "# yardmaster.source: text".
const (
	csvComment   = '#'
	csvKeyPrefix = "yardmaster."
)

// maxCSVRow is the most bytes of one row: several times what a valid one has.
const maxCSVRow = 64 << 10

// seconds are the columns that a CSV file may have in place of those in
// nanoseconds, for tables written by hand.
const (
	csvSubmitSeconds   = "submit_s"
	csvDurationSeconds = "duration_s"
	csvDeadlineSeconds = "deadline_s"
)

// csvColumn is a column of the CSV form. set stores a value that is not empty
// and returns what to do about one that cannot be read, or "".
type csvColumn struct {
	name     string
	same     string // the column of the table that it fills
	nullable bool
	set      func(r *Row, value []byte, names names) (fix string)
}

// csvColumns are the columns that are read: those of the table, and three in
// seconds.
var csvColumns = makeCSVColumns()

func makeCSVColumns() []csvColumn {
	var all []csvColumn
	for i := range columns {
		c := &columns[i]
		all = append(all, csvColumn{name: c.name, same: c.name, nullable: c.nullable, set: c.parse})
	}
	for _, s := range []struct{ name, same string }{
		{csvSubmitSeconds, columnSubmit}, {csvDurationSeconds, columnDuration}, {csvDeadlineSeconds, columnDeadline},
	} {
		c := &columns[slices.IndexFunc(columns, func(c column) bool { return c.name == s.same })]
		all = append(all, csvColumn{name: s.name, same: s.same, nullable: c.nullable, set: c.parseSeconds})
	}
	return all
}

// parse stores a value as it is written in text.
func (c *column) parse(r *Row, value []byte, names names) string {
	switch {
	case c.setString != nil:
		name, ok := names.shared(value)
		if !ok {
			return "want at most 256 bytes of UTF-8"
		}
		c.setString(r, name)
		return ""
	case c.setDouble != nil:
		x, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return "want a number"
		}
		c.setDouble(r, x)
		return c.refuseZero(x == 0)
	}
	x, ok := parseWhole(value)
	switch {
	case !ok, c.setInt32 != nil && int64(int32(x)) != x:
		return "want a whole number" + map[bool]string{true: " of 32 bits"}[c.setInt32 != nil]
	case c.setInt32 != nil:
		c.setInt32(r, int32(x))
	default:
		c.setInt64(r, x)
	}
	return c.refuseZero(x == 0)
}

// parseSeconds stores seconds, with or without decimals, as nanoseconds.
func (c *column) parseSeconds(r *Row, value []byte, _ names) string {
	ns, ok := parseSeconds(string(value))
	if !ok {
		return "want seconds, 0 to 100 years, with at most 9 decimals"
	}
	c.setInt64(r, ns)
	return c.refuseZero(ns == 0)
}

// refuseZero refuses a zero that the table would take for a null.
func (c *column) refuseZero(zero bool) string {
	if zero && c.nullable {
		return "want > 0, or nothing where it is not known"
	}
	return ""
}

// parseWhole reads a whole number, which a data frame may have written as
// "8.0": that is taken where it is exact.
func parseWhole(b []byte) (int64, bool) {
	if len(b) > 0 && len(b) <= 18 { // cannot overflow
		digits, negative := bytes.CutPrefix(b, []byte("-"))
		x := int64(0)
		for _, d := range digits {
			if d < '0' || d > '9' {
				return parseWholeSlowly(string(b))
			}
			x = x*10 + int64(d-'0')
		}
		if negative {
			x = -x
		}
		return x, len(digits) > 0
	}
	return parseWholeSlowly(string(b))
}

func parseWholeSlowly(s string) (int64, bool) {
	if x, err := strconv.ParseInt(s, 10, 64); err == nil {
		return x, true
	}
	const exact = 1 << 53 // beyond, not every whole number is a float64
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= -exact && x <= exact) || x != float64(int64(x)) {
		return 0, false
	}
	return int64(x), true
}

// parseSeconds reads a decimal number of seconds exactly.
func parseSeconds(s string) (ns int64, ok bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	if len(decimals) > 9 {
		if strings.Trim(decimals[9:], "0") != "" {
			return 0, false
		}
		decimals = decimals[:9]
	}
	ns, err := strconv.ParseInt(cmp.Or(whole, "0")+decimals+strings.Repeat("0", 9-len(decimals)), 10, 64)
	return ns, err == nil && ns >= 0 && s != "" && s != "." && whole != "+" && whole != "-"
}

// names keeps one copy of each name.
type names map[string]string

// shared returns the copy of a name, unless a table cannot hold it.
func (n names) shared(b []byte) (string, bool) {
	if s, ok := n[string(b)]; ok {
		return s, true
	}
	if len(b) > MaxName || !utf8.Valid(b) {
		return "", false
	}
	s := string(b)
	n[s] = s
	return s, true
}

// csvQuoteMeta returns the text of a metadata value: as it is where it is one
// line that reads back as it is, else quoted as a string of Go.
func csvQuoteMeta(s string) string {
	plain := s != "" && s[0] != '"' && strings.TrimSpace(s) == s && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// csvUnquoteMeta is the inverse of csvQuoteMeta.
func csvUnquoteMeta(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	return strconv.Unquote(s)
}
