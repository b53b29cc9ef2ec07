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
	meta, err := j.Meta.encode(len(j.Rows))
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		b = append(b, string(csvComment)+" "+key+": "+csvQuoteMeta(meta[key])+"\n"...)
	}
	header := make([]string, len(columns))
	for i := range columns {
		header[i] = columns[i].name
	}
	b = append(b, strings.Join(header, ",")+"\n"...)
	for i := range j.Rows {
		b = j.Rows[i].appendCSV(b)
		if _, err := out.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	return out.Flush()
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
