package datasets

import (
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

// decoder turns values into those of rows.
type decoder struct {
	names map[string]string // one copy of each name
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
