package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// Each function here walks over encoded values without decoding them and
// returns an error unless they are as many as they should be. Encodings:
// https://github.com/apache/parquet-format/blob/master/Encodings.md

// plainDictionary is what older writers call the encoding of dictionaries and
// of indexes into them.
const plainDictionary format.Encoding = 2

// checkEncoded checks the data of a page with n values that are not null.
func checkEncoded(data []byte, encoding format.Encoding, n, dictionary int, kind format.Type) error {
	switch encoding {
	case format.Plain:
		return checkPlain(data, n, kind)
	case format.ByteStreamSplit:
		if kind == format.ByteArray {
			return unsupported("value", encoding)
		}
		return checkPlain(data, n, kind)
	case format.RLEDictionary, plainDictionary:
		return checkIndexes(data, n, dictionary)
	case format.DeltaBinaryPacked:
		if kind != format.Int32 && kind != format.Int64 {
			return unsupported("value", encoding)
		}
		_, err := checkDelta(data, n, kind)
		return err
	case format.DeltaLengthByteArray:
		if kind != format.ByteArray {
			return unsupported("value", encoding)
		}
		return checkDeltaStrings(data, n)
	}
	return unsupported("value", encoding)
}

func unsupported(what string, encoding format.Encoding) error {
	return &RowError{
		Value: fmt.Sprintf("%s encoding %s", what, encoding),
		Fix:   "write it with PLAIN, RLE_DICTIONARY, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY or BYTE_STREAM_SPLIT",
	}
}

// checkPlain checks n values one after the other.
func checkPlain(data []byte, n int, kind format.Type) error {
	width := 0
	switch kind {
	case format.Int32, format.Float:
		width = 4
	case format.Int64, format.Double:
		width = 8
	case format.ByteArray:
		return checkByteArrays(data, n)
	default:
		return fmt.Errorf("values of type %s", kind)
	}
	if len(data) != n*width {
		return fmt.Errorf("%d bytes for %d values of %d", len(data), n, width)
	}
	return nil
}

// checkByteArrays checks n byte strings, each after its length.
func checkByteArrays(data []byte, n int) error {
	for i := range n {
		if len(data) < 4 {
			return fmt.Errorf("%d strings where there should be %d", i, n)
		}
		length := binary.LittleEndian.Uint32(data)
		if uint64(length) > uint64(len(data)-4) {
			return errors.New("a string longer than its page")
		}
		data = data[4+int(length):]
	}
	if len(data) != 0 {
		return fmt.Errorf("%d bytes after the last string", len(data))
	}
	return nil
}

// run is one run of the RLE/bit-packing hybrid: a value repeated, or packed
// values in groups of eight.
type run struct {
	count  int
	packed []byte // nil where the value is repeated
	value  uint32
}

// maxPadding is how many groups of packed values may follow the last value:
// DuckDB fills up to a multiple of 32 values.
const maxPadding = 32

// nextRun returns the first run of data and what follows it. No run has more
// values than most, apart from padding, and none follows the last value. Empty
// runs, which some writers leave at the end, have no value after their header.
func nextRun(data []byte, width, most int) (run, []byte, error) {
	header, n := binary.Uvarint(data)
	if n <= 0 {
		return run{}, nil, errors.New("a bad run length")
	}
	data = data[n:]
	count := header >> 1
	if header&1 == 1 {
		if count > uint64(most+7)/8+maxPadding || most == 0 && count > 0 {
			return run{}, nil, fmt.Errorf("a run of %d groups where %d values are left", count, most)
		}
		length := int(count) * width
		if length > len(data) {
			return run{}, nil, errors.New("a run longer than its page")
		}
		return run{count: int(count) * 8, packed: data[:length:length]}, data[length:], nil
	}
	if count == 0 {
		return run{}, data, nil
	}
	if count > uint64(most) {
		return run{}, nil, fmt.Errorf("a run of %d values where %d are left", count, most)
	}
	length := (width + 7) / 8
	if length > len(data) {
		return run{}, nil, errors.New("a run longer than its page")
	}
	value := uint32(0)
	for i, b := range data[:length] {
		value |= uint32(b) << (8 * i)
	}
	return run{count: int(count), value: value}, data[length:], nil
}

// countLevels returns how many of n definition levels of one bit are set.
func countLevels(data []byte, n int) (int, error) {
	present, left := 0, n
	for len(data) > 0 {
		r, rest, err := nextRun(data, 1, left)
		if err != nil {
			return 0, fmt.Errorf("definition levels: %w", err)
		}
		data = rest
		count := min(r.count, left)
		if r.packed == nil {
			if r.value > 1 {
				return 0, fmt.Errorf("a definition level of %d", r.value)
			}
			present += count * int(r.value)
		} else {
			present += onesIn(r.packed, count)
		}
		left -= count
	}
	if left > 0 {
		return 0, fmt.Errorf("%d definition levels are missing", left)
	}
	return present, nil
}

// onesIn returns how many of the first n bits are set.
func onesIn(b []byte, n int) int {
	ones := 0
	for i := range n / 8 {
		ones += bits.OnesCount8(b[i])
	}
	if n%8 != 0 {
		ones += bits.OnesCount8(b[n/8] << (8 - n%8))
	}
	return ones
}

// checkIndexes checks n indexes into a dictionary.
func checkIndexes(data []byte, n, dictionary int) error {
	if dictionary < 0 {
		return errors.New("indexes without a dictionary")
	}
	if len(data) == 0 {
		if n == 0 {
			return nil
		}
		return fmt.Errorf("no indexes for %d values", n)
	}
	width := int(data[0])
	if width > 32 {
		return fmt.Errorf("indexes of %d bits", width)
	}
	data = data[1:]
	left := n
	for len(data) > 0 {
		r, rest, err := nextRun(data, width, left)
		if err != nil {
			return fmt.Errorf("indexes: %w", err)
		}
		data = rest
		if r.packed == nil && r.count > 0 && int64(r.value) >= int64(dictionary) {
			return fmt.Errorf("index %d in a dictionary of %d", r.value, dictionary)
		}
		// Packed indexes are checked by the library as it looks them up.
		left -= min(r.count, left)
	}
	if left > 0 {
		return fmt.Errorf("%d indexes are missing", left)
	}
	return nil
}

// checkDelta checks n delta-encoded integers: a head (values in a block,
// miniblocks in a block, values in all, the first value), then blocks (least
// delta, one bit width for each miniblock, the miniblocks that hold values).
// It returns what follows them.
func checkDelta(data []byte, n int, kind format.Type) (rest []byte, err error) {
	widest := 64
	if kind == format.Int32 {
		widest = 32
	}
	var head [4]uint64
	for i := range head {
		x, length := binary.Uvarint(data)
		if length <= 0 {
			return nil, errors.New("a bad head of delta-encoded values")
		}
		head[i], data = x, data[length:]
	}
	block, mini, total := head[0], head[1], head[2]
	switch {
	case total != uint64(n):
		return nil, fmt.Errorf("%d delta-encoded values where there should be %d", total, n)
	case block == 0 || block%128 != 0 || block > 1<<16:
		return nil, fmt.Errorf("delta-encoded blocks of %d values", block)
	case mini == 0 || mini > block/32 || block%mini != 0 || block/mini%32 != 0:
		return nil, fmt.Errorf("%d miniblocks in a block of %d values", mini, block)
	}
	for left := n - 1; left > 0; left -= int(block) {
		if data, err = skipDeltaBlock(data, int(block/mini), int(mini), left, widest); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// checkDeltaStrings checks n byte strings one after the other, which follow
// their delta-encoded lengths.
func checkDeltaStrings(data []byte, n int) error {
	rest, err := checkDelta(data, n, format.Int32)
	if err != nil {
		return err
	}
	lengths, err := new(delta.BinaryPackedEncoding).DecodeInt32(make([]int32, 0, n), data[:len(data)-len(rest)])
	if err != nil {
		return err
	}
	total := int64(0)
	for _, length := range lengths {
		if length < 0 {
			return fmt.Errorf("a string of %d bytes", length)
		}
		total += int64(length)
	}
	if total != int64(len(rest)) {
		return fmt.Errorf("%d bytes for strings of %d", len(rest), total)
	}
	return nil
}

// skipDeltaBlock returns what follows a block whose miniblocks have size
// values each; left is the number of values from here on.
func skipDeltaBlock(data []byte, size, miniblocks, left, widest int) ([]byte, error) {
	_, n := binary.Uvarint(data)
	if n <= 0 || len(data)-n < miniblocks {
		return nil, errors.New("a bad block of delta-encoded values")
	}
	widths, data := data[n:n+miniblocks], data[n+miniblocks:]
	for _, width := range widths {
		if left <= 0 {
			break // widths of miniblocks beyond the last value may be anything
		}
		length := size * int(width) / 8
		if int(width) > widest || length > len(data) {
			return nil, fmt.Errorf("a delta-encoded miniblock of %d bits a value in %d bytes", width, len(data))
		}
		data = data[length:]
		left -= size
	}
	return data, nil
}
