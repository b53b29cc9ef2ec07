package datasets

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// runs generates values with stretches of equal ones, as run-length encoders
// meet them.
func runs(most int32) *rapid.Generator[[]int32] {
	return rapid.Custom(func(t *rapid.T) []int32 {
		var out []int32
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			value := rapid.Int32Range(0, most).Draw(t, "value")
			for range rapid.IntRange(1, 40).Draw(t, "length") {
				out = append(out, value)
			}
		}
		return out
	})
}

func TestCountLevelsAgainstEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var levels []uint8
		want := 0
		for _, x := range runs(1).Draw(t, "levels") {
			levels = append(levels, uint8(x))
			want += int(x)
		}
		data, err := (&rle.Encoding{BitWidth: 1}).EncodeLevels(nil, levels)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := countLevels(data, len(levels)); err != nil || got != want {
			t.Fatalf("got %d set levels (%v), want %d of %v", got, err, want, levels)
		}
	})
}

// Whatever the bytes are: if the check accepts them, the library decodes them
// to as many values, or an error, within a small multiple of that memory.
func TestChecksBoundTheDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "n")
		data := damagedBytes(t)
		if checkIndexes(data, n, 4) == nil && len(data) > 0 {
			got, err := (&rle.Encoding{BitWidth: int(data[0])}).DecodeInt32(nil, data[1:])
			if err == nil && (len(got) < n || len(got) > n+8*(maxPadding+1)) {
				t.Fatalf("%d indexes were decoded to %d", n, len(got))
			}
		}
		if _, err := countLevels(data, n); err == nil {
			got, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(nil, data)
			if err != nil || len(got) < n || len(got) > n+8*(maxPadding+1) {
				t.Fatalf("%d levels were decoded to %d (%v)", n, len(got), err)
			}
		}
		if _, err := checkDelta(data, n, format.Int64); err == nil {
			got, err := new(delta.BinaryPackedEncoding).DecodeInt64(nil, data)
			if err != nil || len(got) != n {
				t.Fatalf("%d integers were decoded to %d (%v)", n, len(got), err)
			}
		}
	})
}

// damagedBytes generates the bytes of an encoder with a few changed, or any.
func damagedBytes(t *rapid.T) []byte {
	values := runs(3).Draw(t, "values")
	var data []byte
	var err error
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		data, err = (&rle.Encoding{BitWidth: 2}).EncodeInt32(nil, values)
		data = append([]byte{2}, data...)
	case 1:
		data, err = new(delta.BinaryPackedEncoding).EncodeInt32(nil, values)
	default:
		data = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
	}
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Clone(data)
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		if len(data) > 0 {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
	}
	return data
}

func TestCheckDeltaAcceptsWhatEncodersWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64(), 0, 400).Draw(t, "values")
		data, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, values)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := checkDelta(data, len(values), format.Int64)
		if err != nil || len(rest) != 0 {
			t.Fatalf("%d values: %v, %d bytes left over", len(values), err, len(rest))
		}
		for n := range data {
			if _, err := checkDelta(data[:n], len(values), format.Int64); err == nil {
				t.Fatalf("%d values cut to %d of %d bytes were accepted", len(values), n, len(data))
			}
		}
	})
}

func TestCheckStringsAcceptsWhatEncodersWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		offsets := []uint32{0}
		for _, s := range rapid.SliceOfN(rapid.StringN(0, 20, 60), 0, 200).Draw(t, "strings") {
			data = append(data, s...)
			offsets = append(offsets, uint32(len(data)))
		}
		n := len(offsets) - 1
		packed, err := new(delta.LengthByteArrayEncoding).EncodeByteArray(nil, data, offsets)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkEncoded(packed, format.DeltaLengthByteArray, n, -1, format.ByteArray); err != nil {
			t.Fatalf("delta-encoded lengths: %v", err)
		}
		plainly, err := new(plain.Encoding).EncodeByteArray(nil, data, offsets)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkEncoded(plainly, format.Plain, n, -1, format.ByteArray); err != nil {
			t.Fatalf("plain: %v", err)
		}
		if err := checkEncoded(plainly, format.Plain, n+1, -1, format.ByteArray); err == nil {
			t.Fatal("one string too few was accepted")
		}
	})
}
