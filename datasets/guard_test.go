package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Version 1 must be readable forever: this file is never written again.
func TestReadVersion1(t *testing.T) {
	got, err := Read("testdata/jobs_v1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	want := example()
	want.Name = got.Name
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzRead(f *testing.F) {
	whole := encoded(f, example())
	f.Add([]byte(nil))
	f.Add([]byte("PAR1"))
	f.Add([]byte("job_id,submit_ns\n1,2\n"))
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add(foreign(f, []minimal{{1, 1, 1, new(int64(1))}, {2, 1, 1, nil}}))
	f.Add(foreign(f, []badRow{good()}))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := readBytes(b)
		if err != nil {
			if _, ok := errors.AsType[*RowError](err); !ok {
				t.Fatalf("got error %v, want a RowError", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %q, want one line", err)
			}
			return
		}
		if err := j.Validate(); err != nil {
			t.Fatalf("read a table that is not valid: %v", err)
		}
		again, err := readBytes(encoded(t, j))
		if err != nil || again.Hash() != j.Hash() {
			t.Fatalf("the table does not survive a round trip: %v", err)
		}
	})
}

// forge is a file with some of its structures replaced.
type forge struct {
	data []byte // up to the footer
	meta format.FileMetaData
}

func newForge(t testing.TB, file []byte) *forge {
	t.Helper()
	g, err := newGuard(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return &forge{data: bytes.Clone(file[:g.end]), meta: g.meta}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f *forge) bytes(t testing.TB) []byte { return f.withFooter(marshal(t, &f.meta)) }

func (f *forge) withFooter(footer []byte) []byte {
	b := append(bytes.Clone(f.data), footer...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(footer)))
	return append(b, "PAR1"...)
}

// replace makes pages the pages of a column of the first row group.
func (f *forge) replace(column int, pages []byte) {
	m := &f.meta.RowGroups[0].Columns[column].MetaData
	m.DictionaryPageOffset = 0
	m.DataPageOffset = int64(len(f.data))
	m.TotalCompressedSize = int64(len(pages))
	f.data = append(f.data, pages...)
}

// pageV2 returns a data page of version 2.
func pageV2(t testing.TB, h format.DataPageHeaderV2, body []byte, uncompressed int) []byte {
	t.Helper()
	header := format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: int32(uncompressed), CompressedPageSize: int32(len(body))}
	header.DataPageHeaderV2 = thrift.New(h)
	return append(marshal(t, &header), body...)
}

func zstdOf(t testing.TB, b []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}

const (
	indexID       = 0
	indexDuration = 3
	indexTenant   = 8
)

// A file made to do harm is refused, and costs no more than an honest one.
func TestReadRefusesHostileFiles(t *testing.T) {
	rows := int32(len(example().Rows))
	bomb := zstdOf(t, make([]byte, 1<<27))
	repeat := func(b []byte, n int) []byte { return bytes.Repeat(b, n) }
	manyRuns := repeat(binary.AppendUvarint(nil, (1<<31-1)<<1), 1000) // each of 2³¹ values
	tests := []struct {
		name string
		file func(*forge) []byte
		want string
	}{
		{"a footer longer than the file", func(f *forge) []byte {
			b := f.bytes(t)
			binary.LittleEndian.PutUint32(b[len(b)-8:], 1<<31)
			return b
		}, "a footer of 2147483648 bytes"},
		{"a footer with a list of a billion", func(f *forge) []byte {
			return f.withFooter(append([]byte{0x29, 0xfc}, binary.AppendUvarint(nil, 1<<30)...))
		}, "a list of 1073741824 elements"},
		{"a footer with a string of a billion bytes", func(f *forge) []byte {
			return f.withFooter(append([]byte{0x28}, binary.AppendUvarint(nil, 1<<30)...))
		}, "ends early"},
		{"a footer nested without end", func(f *forge) []byte { return f.withFooter(repeat([]byte{0x1c}, 1<<20)) }, "nested too deeply"},
		{"a footer with lists nested without end", func(f *forge) []byte {
			return f.withFooter(append([]byte{0x19}, repeat([]byte{0x19}, 1<<20)...))
		}, "nested too deeply"},
		{"many rows in a small file", func(f *forge) []byte {
			f.meta.NumRows = MaxRows
			f.meta.RowGroups[0].NumRows = MaxRows
			return f.bytes(t)
		}, "16777216 rows in a file of"},
		{"more rows than there may be", func(f *forge) []byte {
			f.meta.NumRows = 1 << 60
			f.meta.RowGroups[0].NumRows = 1 << 60
			return f.bytes(t)
		}, "says it has 1152921504606846976 rows"},
		{"rows less than none", func(f *forge) []byte { f.meta.RowGroups[0].NumRows = -1; return f.bytes(t) }, "says it has -1 rows"},
		{"rows that do not add up", func(f *forge) []byte { f.meta.NumRows++; return f.bytes(t) }, "its row groups"},
		{"a row group without columns", func(f *forge) []byte { f.meta.RowGroups[0].Columns = nil; return f.bytes(t) }, "0 column chunks for 12 columns"},
		{"pages outside the file", func(f *forge) []byte {
			f.meta.RowGroups[0].Columns[0].MetaData.DataPageOffset = 1 << 50
			return f.bytes(t)
		}, "is not in the file"},
		{"pages before the file", func(f *forge) []byte {
			f.meta.RowGroups[0].Columns[0].MetaData.DataPageOffset = -5
			return f.bytes(t)
		}, "is not in the file"},
		{"row groups that share their pages", func(f *forge) []byte {
			for range 100 {
				f.meta.RowGroups = append(f.meta.RowGroups, f.meta.RowGroups[0])
				f.meta.NumRows += f.meta.RowGroups[0].NumRows
			}
			return f.bytes(t)
		}, "overlaps"},
		{"another codec", func(f *forge) []byte {
			f.meta.RowGroups[0].Columns[0].MetaData.Codec = format.Brotli
			return f.bytes(t)
		}, "compressed with BROTLI"},
		{"a schema of one column", func(f *forge) []byte { f.meta.Schema[0].NumChildren = thrift.New(int32(1)); return f.bytes(t) }, "wrong number of columns"},
		{"a column twice", func(f *forge) []byte { f.meta.Schema[2].Name = "job_id"; return f.bytes(t) }, "there twice"},
		{"a page that decompresses to far more than it says", func(f *forge) []byte {
			f.replace(indexID, pageV2(t, format.DataPageHeaderV2{NumValues: rows, NumRows: rows}, bomb, 8*int(rows)))
			return f.bytes(t)
		}, "decompress a page"},
		{"a page that says it has a gigabyte", func(f *forge) []byte {
			f.replace(indexID, pageV2(t, format.DataPageHeaderV2{NumValues: rows, NumRows: rows}, bomb, 1<<30))
			return f.bytes(t)
		}, "1073741824 bytes uncompressed"},
		{"a page longer than its rows need", func(f *forge) []byte {
			f.replace(indexID, pageV2(t, format.DataPageHeaderV2{NumValues: rows, NumRows: rows}, bomb, 1<<20))
			return f.bytes(t)
		}, "bytes in 4 rows"},
		{"a string of a megabyte", func(f *forge) []byte {
			f.replace(indexTenant, pageV2(t, format.DataPageHeaderV2{NumValues: rows, NumRows: rows}, bomb, 1<<20))
			return f.bytes(t)
		}, "bytes in 4 rows"},
		{"a thousand and more columns", func(f *forge) []byte {
			for range maxColumns {
				f.meta.Schema = append(f.meta.Schema, f.meta.Schema[1])
			}
			return f.bytes(t)
		}, "columns"},
		{"levels of a trillion values", func(f *forge) []byte {
			h := format.DataPageHeaderV2{NumValues: rows, NumRows: rows, NumNulls: rows, DefinitionLevelsByteLength: int32(len(manyRuns))}
			f.replace(indexDuration, pageV2(t, h, append(bytes.Clone(manyRuns), zstdOf(t, nil)...), len(manyRuns)))
			return f.bytes(t)
		}, "definition levels: a run of 2147483647 values"},
		{"a page of too many values", func(f *forge) []byte {
			f.replace(indexDuration, pageV2(t, format.DataPageHeaderV2{NumValues: 1 << 30, NumRows: 1 << 30}, nil, 0))
			return f.bytes(t)
		}, "a page of 1073741824 values where 4 are left"},
		{"a page of too few values", func(f *forge) []byte {
			f.replace(indexID, pageV2(t, format.DataPageHeaderV2{NumValues: rows, NumRows: rows}, zstdOf(t, make([]byte, 8)), 8))
			return f.bytes(t)
		}, "8 bytes for 4 values"},
		{"indexes without a dictionary", func(f *forge) []byte {
			h := format.DataPageHeaderV2{NumValues: rows, NumRows: rows, DefinitionLevelsByteLength: 2, Encoding: format.RLEDictionary}
			body := append([]byte{byte(rows << 1), 1}, zstdOf(t, []byte{1, byte(rows << 1), 0})...)
			f.replace(indexTenant, pageV2(t, h, body, 5))
			return f.bytes(t)
		}, "without a dictionary"},
		{"a delta-encoded page of a billion values", func(f *forge) []byte {
			body := binary.AppendUvarint([]byte{0x80, 1, 4}, 1<<30)
			f.replace(indexID, pageV2(t, format.DataPageHeaderV2{NumValues: rows, NumRows: rows, Encoding: format.DeltaBinaryPacked}, zstdOf(t, append(body, 0)), len(body)+1))
			return f.bytes(t)
		}, "1073741824 delta-encoded values where there should be 4"},
		{"an empty page after another", func(f *forge) []byte {
			empty := pageV2(t, format.DataPageHeaderV2{}, zstdOf(t, nil), 0)
			f.replace(indexID, repeat(empty, 1000))
			return f.bytes(t)
		}, "0 values for 4 rows"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := test.file(newForge(t, encoded(t, example())))
			allocated := bytesAllocated(func() {
				_, err := readBytes(file)
				checkRowError(t, err, "t.parquet", RowError{Column: columnOf(err), Value: test.want})
			})
			if most := uint64(32 << 20); allocated > most {
				t.Errorf("allocated %d bytes, want at most %d", allocated, most)
			}
		})
	}
}

func columnOf(err error) string {
	if e, ok := errors.AsType[*RowError](err); ok {
		return e.Column
	}
	return ""
}

func bytesAllocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The forger itself makes good files, else the test above would prove nothing.
func TestForgeMakesGoodFiles(t *testing.T) {
	f := newForge(t, encoded(t, example()))
	want := []uint64{7, ^uint64(3) + 1, 1, 2}
	var plain []byte
	for _, id := range want {
		plain = binary.LittleEndian.AppendUint64(plain, id)
	}
	n := int32(len(want))
	f.replace(indexID, pageV2(t, format.DataPageHeaderV2{NumValues: n, NumRows: n}, zstdOf(t, plain), len(plain)))
	got, err := readBytes(f.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash() != example().Hash() {
		t.Errorf("got rows %+v, want the example's", got.Rows)
	}
}

// A panic of the library is an error of ours.
func TestReadRecoversFromPanics(t *testing.T) {
	whole := encoded(t, example())
	_, err := ReadFrom(panicReader{bytes.NewReader(whole)}, int64(len(whole)), "t.parquet")
	checkRowError(t, err, "t.parquet", RowError{Value: "boom", Fix: "again"})
}

type panicReader struct{ *bytes.Reader }

func (r panicReader) ReadAt(b []byte, offset int64) (int, error) {
	if offset > 4 && len(b) > trailer {
		panic("boom")
	}
	return r.Reader.ReadAt(b, offset)
}

func TestCommittedFileIsSmall(t *testing.T) {
	files, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata (%v)", err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() >= 20_000 {
			t.Errorf("%s has %d bytes, want less than 20 kB", name, info.Size())
		}
	}
}
