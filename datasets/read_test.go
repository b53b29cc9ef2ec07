package datasets

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"
)

// encoded returns the file that Write makes of j.
func encoded(t testing.TB, j *Jobs) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, j); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readBytes(b []byte) (*Jobs, error) {
	return ReadFrom(bytes.NewReader(b), int64(len(b)), "t.parquet")
}

func TestWriteReadRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	want := example()
	if err := Write(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != path {
		t.Errorf("got name %q, want the path %q", got.Name, path)
	}
	got.Name = want.Name
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if got.Hash() != want.Hash() {
		t.Error("the hash changed on the way")
	}
	if got := want.Meta.Epoch.Format(time.RFC3339); got != "2017-10-01T00:00:00-07:00" {
		t.Errorf("got epoch %s with another offset", got)
	}
}

func TestRoundTripOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := tables(40).Draw(t, "table")
		var b bytes.Buffer
		if err := encode(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := readBytes(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Rows, got.Rows); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		var again bytes.Buffer
		if err := encode(&again, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Fatal("the same table gave two files")
		}
	})
}

// Several row groups, pages, and dictionaries large enough for wide indexes.
func TestRoundTripAcrossRowGroups(t *testing.T) {
	want := &Jobs{}
	for i := range 2*rowsPerGroup + 100 {
		r := Row{ID: int64(i), Submit: time.Duration(i/3) * time.Second, GPUs: int32(1 + i%7), Duration: time.Duration(1 + i*i%100_003)}
		if i%5 != 0 {
			r.Tenant = "tenant " + string(rune('a'+i%26)) + strings.Repeat("y", i%97)
		}
		if i > rowsPerGroup {
			r.Model, r.Steps = "LM", float64(i)+0.5
		}
		want.Rows = append(want.Rows, r)
	}
	b := encoded(t, want)
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.RowGroups()); n != 3 {
		t.Errorf("got %d row groups, want 3 of at most %d rows", n, rowsPerGroup)
	}
	got, err := readBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash() != want.Hash() {
		t.Error("the rows changed on the way")
	}
}

func TestWriteLeavesNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.parquet")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := example()
	bad.Rows[0].GPUs = 0
	if err := Write(path, bad); err == nil {
		t.Fatal("a bad table was written")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "before" {
		t.Errorf("after a refused write the file holds %q (%v), want what was there", got, err)
	}
	if err := Write(filepath.Join(dir, "missing", "jobs.parquet"), example()); err == nil {
		t.Error("wrote into a folder that does not exist")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v (%v), want only the file", entries, err)
	}
}

// minimal is a table as another program may write it: required columns, one of
// the work columns, nothing dictionary-encoded.
type minimal struct {
	ID       int64  `parquet:"job_id"`
	Submit   int64  `parquet:"submit_ns"`
	GPUs     int32  `parquet:"gpus"`
	Duration *int64 `parquet:"duration_ns,optional"`
}

func foreign[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	options = append([]parquet.WriterOption{parquet.KeyValueMetadata(keyVersion, "1")}, options...)
	if err := parquet.Write(&b, rows, options...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadTakesOtherWritersLayouts(t *testing.T) {
	rows := make([]minimal, 3000)
	want := make([]Row, len(rows))
	for i := range rows {
		rows[i] = minimal{int64(i), int64(i), 1, new(int64(5 + i%50))}
		want[i] = Row{ID: int64(i), Submit: time.Duration(i), GPUs: 1, Duration: time.Duration(5 + i%50)}
	}
	layouts := map[string][]parquet.WriterOption{
		"default":      nil,
		"pages v1":     {parquet.DataPageVersion(1)},
		"uncompressed": {parquet.Compression(&parquet.Uncompressed)},
		"snappy":       {parquet.Compression(&parquet.Snappy)},
		"gzip":         {parquet.Compression(&parquet.Gzip)},
		"zstd v1":      {parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1)},
		"small pages":  {parquet.PageBufferSize(512)},
		"small groups": {parquet.MaxRowsPerRowGroup(7)},
	}
	for name, options := range layouts {
		t.Run(name, func(t *testing.T) {
			got, err := readBytes(foreign(t, rows, options...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Rows); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Nanoseconds are what is wanted, whatever else the column says of itself.
func TestReadTakesAnnotatedNanoseconds(t *testing.T) {
	rows := []struct {
		ID       int64 `parquet:"job_id,decimal(0:18)"`
		Submit   int64 `parquet:"submit_ns,timestamp(nanosecond)"`
		GPUs     int32 `parquet:"gpus"`
		Duration int64 `parquet:"duration_ns,time(nanosecond)"`
	}{{1, 5, 1, 7}}
	got, err := readBytes(foreign(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Row{{ID: 1, Submit: 5, GPUs: 1, Duration: 7}}; !cmp.Equal(want, got.Rows) {
		t.Errorf("got %+v, want %+v", got.Rows, want)
	}
}

// Writers of before 2018 have converted types alone, which count as much.
func TestOtherUnits(t *testing.T) {
	converted := func(c deprecated.ConvertedType, scale int32) *format.SchemaElement {
		return &format.SchemaElement{
			ConvertedType: thrift.Null[deprecated.ConvertedType]{V: c, Valid: true},
			Scale:         thrift.Null[int32]{V: scale, Valid: true}, Precision: thrift.Null[int32]{V: 9, Valid: true},
		}
	}
	for _, test := range []struct {
		of   *format.SchemaElement
		want string
	}{
		{&format.SchemaElement{}, ""},
		{converted(deprecated.Int64, 0), ""},
		{converted(deprecated.Decimal, 0), ""},
		{converted(deprecated.TimestampMillis, 0), "TIMESTAMP_MILLIS"},
		{converted(deprecated.TimestampMicros, 0), "TIMESTAMP_MICROS"},
		{converted(deprecated.TimeMillis, 0), "TIME_MILLIS"},
		{converted(deprecated.Decimal, 2), "DECIMAL(9,2)"},
	} {
		if got := otherUnit(test.of); got != test.want {
			t.Errorf("%v: got %q, want %q", test.of.ConvertedType, got, test.want)
		}
	}
}

type badRow struct {
	ID       int64    `parquet:"job_id"`
	Submit   int64    `parquet:"submit_ns"`
	GPUs     int32    `parquet:"gpus"`
	Duration *int64   `parquet:"duration_ns,optional"`
	Steps    *float64 `parquet:"steps,optional"`
	Model    *string  `parquet:"model,optional"`
}

func good() badRow { return badRow{ID: 1, GPUs: 1, Duration: new(int64(1))} }

// badFile returns a file of a good row and the row that edit makes.
func badFile(t *testing.T, edit func(*badRow)) []byte {
	t.Helper()
	second := good()
	second.ID, second.Submit = 2, 10
	edit(&second)
	return foreign(t, []badRow{good(), second}, parquet.Compression(&parquet.Zstd))
}

// Every kind of bad input gives one line with the file, the row or column, and
// the fix.
func TestReadRefusesBadInput(t *testing.T) {
	whole := encoded(t, example())
	tests := []struct {
		name string
		file []byte
		want RowError
	}{
		{"empty file", nil, RowError{Value: "empty (0 bytes)", Fix: "trace import"}},
		{"text file", []byte("job_id,submit_ns,gpus\n1,2,3\n"), RowError{Value: "not a Parquet file", Fix: "trace import"}},
		{"one byte", []byte("P"), RowError{Value: "not a Parquet file", Fix: "trace import"}},
		{"truncated", whole[:len(whole)/2], RowError{Value: "truncated", Fix: "copy or import it again"}},
		{"no rows", foreign(t, []badRow{}), RowError{Value: "no rows", Fix: "at least one"}},
		{"missing column", foreign(t, []struct {
			ID   int64 `parquet:"job_id"`
			GPUs int32 `parquet:"gpus"`
		}{{1, 1}}), RowError{Column: "submit_ns", Value: "missing", Fix: "add it: int64"}},
		{"wrong type", foreign(t, []struct {
			ID     int64  `parquet:"job_id"`
			Submit int64  `parquet:"submit_ns"`
			GPUs   string `parquet:"gpus"`
		}{{1, 1, "1"}}), RowError{Column: "gpus", Value: "of type byte_array", Fix: "want int32"}},
		{"milliseconds", foreign(t, []struct {
			ID     int64 `parquet:"job_id"`
			Submit int64 `parquet:"submit_ns,timestamp(millisecond)"`
			GPUs   int32 `parquet:"gpus"`
		}{{1, 1, 1}}), RowError{Column: "submit_ns", Value: "annotated TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS)", Fix: "plain whole numbers"}},
		{"microseconds of a day", foreign(t, []struct {
			ID       int64 `parquet:"job_id"`
			Submit   int64 `parquet:"submit_ns"`
			GPUs     int32 `parquet:"gpus"`
			Duration int64 `parquet:"duration_ns,time(microsecond)"`
		}{{1, 1, 1, 1}}), RowError{Column: "duration_ns", Value: "annotated TIME(", Fix: "plain whole numbers"}},
		{"decimals", foreign(t, []struct {
			ID       int64 `parquet:"job_id"`
			Submit   int64 `parquet:"submit_ns"`
			GPUs     int32 `parquet:"gpus"`
			Duration int64 `parquet:"duration_ns,decimal(3:18)"`
		}{{1, 1, 1, 1}}), RowError{Column: "duration_ns", Value: "annotated DECIMAL(18,3)", Fix: "plain whole numbers"}},
		{"list", foreign(t, []struct {
			ID     int64   `parquet:"job_id"`
			Submit int64   `parquet:"submit_ns"`
			GPUs   []int32 `parquet:"gpus"`
		}{{1, 1, []int32{1}}}), RowError{Column: "gpus", Value: "a list", Fix: "want int32"}},
		{"unknown column", foreign(t, []struct {
			ID     int64   `parquet:"job_id"`
			Submit int64   `parquet:"submit_ns"`
			GPUs   int32   `parquet:"gpus"`
			Weigth float64 `parquet:"weigth"`
		}{{1, 1, 1, 1}}), RowError{Column: `"weigth"`, Value: "unknown", Fix: "weight"}},
		{"nested column", foreign(t, []struct {
			ID   int64 `parquet:"job_id"`
			Node struct {
				A int32 `parquet:"a"`
			} `parquet:"node"`
		}{{ID: 1}}), RowError{Column: `"node"`, Value: "a group", Fix: "flatten"}},
		{"empty version", foreign(t, []minimal{{}}, parquet.KeyValueMetadata(keyVersion, "")), RowError{Value: keyVersion, Fix: "whole number"}},
		{"newer version", foreign(t, []minimal{{}}, parquet.KeyValueMetadata(keyVersion, "2")), RowError{Value: keyVersion + " is 2", Fix: "use a newer one"}},
		{"other table", foreign(t, []minimal{{}}, parquet.KeyValueMetadata(keyTable, "throughput")), RowError{Value: "throughput", Fix: "jobs table"}},
		{"bad epoch", foreign(t, []minimal{{}}, parquet.KeyValueMetadata(keyEpoch, "monday")), RowError{Value: `"monday"`, Fix: "RFC 3339"}},
		{"negative duration", badFile(t, func(r *badRow) { r.Duration = new(int64(-7)) }), RowError{Row: 2, Column: "duration_ns", Value: "-7", Fix: "> 0"}},
		{"zero duration", badFile(t, func(r *badRow) { r.Duration = new(int64(0)) }), RowError{Row: 2, Column: "duration_ns", Value: "0", Fix: "null"}},
		{"NaN steps", badFile(t, func(r *badRow) { r.Steps, r.Model = new(math.NaN()), new("LM") }), RowError{Row: 2, Column: "steps", Value: "NaN", Fix: "finite"}},
		{"infinite steps", badFile(t, func(r *badRow) { r.Steps, r.Model = new(math.Inf(1)), new("LM") }), RowError{Row: 2, Column: "steps", Value: "+Inf", Fix: "finite"}},
		{"no work", badFile(t, func(r *badRow) { r.Duration = nil }), RowError{Row: 2, Column: "duration_ns", Value: "null", Fix: "set one"}},
		{"absurd GPUs", badFile(t, func(r *badRow) { r.GPUs = 1_000_001 }), RowError{Row: 2, Column: "gpus", Value: "1000001", Fix: "1 to 1000000"}},
		{"huge string", badFile(t, func(r *badRow) { r.Model = new(strings.Repeat("m", MaxName+1)) }), RowError{Row: 2, Column: "model", Value: "mmm", Fix: "256 bytes"}},
		{"huger string", badFile(t, func(r *badRow) { r.Model = new(strings.Repeat("m", 1<<20)) }), RowError{Column: "model", Value: "a page header", Fix: "256 bytes"}},
		{"duplicate id", badFile(t, func(r *badRow) { r.ID = 1 }), RowError{Row: 2, Column: "job_id", Value: "1, as in row 1", Fix: "drop the copy"}},
		{"unsorted", badFile(t, func(r *badRow) { r.ID = 0; r.Submit = 0 }), RowError{Row: 2, Column: "submit_ns", Value: "before the row above", Fix: "sort the rows"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.parquet")
			if err := os.WriteFile(path, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			checkRowError(t, err, path, test.want)
		})
	}
}

// A Parquet file that is no table of ours, with whatever columns.
func TestReadRefusesAFileWithoutVersion(t *testing.T) {
	var b bytes.Buffer
	if err := parquet.Write(&b, []minimal{{1, 1, 1, new(int64(1))}}); err != nil {
		t.Fatal(err)
	}
	_, err := readBytes(b.Bytes())
	checkRowError(t, err, "t.parquet", RowError{Value: keyVersion + " is missing", Fix: "datasets/SCHEMA.md"})
}

func TestReadNamesAMissingFileAndAFolder(t *testing.T) {
	if _, err := Read("does/not/exist.parquet"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
	dir := t.TempDir()
	_, err := Read(dir)
	checkRowError(t, err, dir, RowError{Value: "not a regular file", Fix: "name a Parquet file"})
}

// A table cut at any byte is refused.
func TestReadRefusesEveryTruncation(t *testing.T) {
	whole := encoded(t, example())
	for n := range whole {
		_, err := readBytes(whole[:n])
		if _, ok := errors.AsType[*RowError](err); !ok {
			t.Fatalf("cut to %d of %d bytes: got error %v, want a RowError", n, len(whole), err)
		}
	}
}

// With any byte flipped a table is refused or, where the byte does not matter,
// read as it was. Checksums cover the pages; the metadata's text has none.
func TestReadSurvivesEveryFlippedByte(t *testing.T) {
	whole := encoded(t, example())
	want := example().Hash()
	refused := 0
	masks := []byte{0x01, 0x80, 0xff}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= masks[i%len(masks)]
		j, err := readBytes(b)
		if err != nil {
			if _, ok := errors.AsType[*RowError](err); !ok {
				t.Fatalf("byte %d: got error %v, want a RowError", i, err)
			}
			refused++
			continue
		}
		if j.Hash() != want {
			t.Fatalf("byte %d: read other rows without an error: %+v", i, j.Rows)
		}
	}
	if refused < len(whole)/3 {
		t.Errorf("only %d of %d damaged files were refused", refused, len(whole))
	}
}

// Files of 300 rows written by pyarrow 26.0.1 and DuckDB 2.0.1, whose layouts
// differ from ours: padding after the levels, pages of version 1, byte streams.
func TestReadTakesFilesOfPyarrowAndDuckDB(t *testing.T) {
	want := make([]Row, 300)
	for i := range want {
		r := Row{ID: int64(i), Submit: time.Duration(i/2) * time.Second, GPUs: int32(1 + i%5)}
		if i%3 > 0 {
			r.Duration = time.Duration(i)*time.Second + 1
		} else {
			r.Steps, r.Model = float64(i)+0.5, "LM"
		}
		if i%7 > 0 {
			r.Tenant = "user" + strconv.Itoa(i%11)
		}
		want[i] = r
	}
	for _, name := range []string{"pyarrow", "duckdb", "duckdb_v2"} {
		got, err := Read("testdata/" + name + ".parquet")
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, got.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
