package datasets

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// slowRead reads a jobs table with the Parquet library, value by value: slow, but
// plainly what the file says.
func slowRead(file []byte) ([]Row, error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	rows := make([]Row, f.NumRows())
	first := 0
	for _, group := range f.RowGroups() {
		for i := range columns {
			leaf := f.Root().Column(columns[i].name)
			if leaf == nil {
				continue
			}
			values := parquet.NewColumnChunkValueReader(group.ColumnChunks()[leaf.Index()])
			for n := first; n < first+int(group.NumRows()); n++ {
				var v [1]parquet.Value
				if k, err := values.ReadValues(v[:]); k == 0 {
					return nil, err
				}
				setSlowly(&rows[n], &columns[i], v[0])
			}
			if err := values.Close(); err != nil {
				return nil, err
			}
		}
		first += int(group.NumRows())
	}
	return rows, nil
}

func setSlowly(r *Row, c *column, v parquet.Value) {
	switch {
	case v.IsNull():
	case c.setInt32 != nil:
		c.setInt32(r, v.Int32())
	case c.setInt64 != nil:
		c.setInt64(r, v.Int64())
	case c.setDouble != nil:
		c.setDouble(r, v.Double())
	default:
		c.setString(r, string(v.ByteArray()))
	}
}

// scanned returns every row of a file, in one slice.
func scanned(file []byte, cfg ScanConfig) ([]Row, error) {
	s, err := ScanFrom(bytes.NewReader(file), int64(len(file)), "t.parquet", cfg)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for batch, err := range s.All() {
		if err != nil {
			return nil, err
		}
		rows = append(rows, batch...)
	}
	return rows, s.Close()
}

func TestScanIsReadAndTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := tables(60).Draw(t, "table")
		var b bytes.Buffer
		if err := encode(&b, want); err != nil {
			t.Fatal(err)
		}
		checkScan(t, b.Bytes(), want.Rows)
	})
}

func checkScan(t interface{ Fatalf(string, ...any) }, file []byte, want []Row) {
	got, err := scanned(file, ScanConfig{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("scan (-want +got):\n%s", diff)
	}
	slow, err := slowRead(file)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(want, slow); diff != "" {
		t.Fatalf("the library (-want +got):\n%s", diff)
	}
}

// everyEncoding is a jobs table whose columns are in encodings that the writer
// of this package does not use.
type everyEncoding struct {
	ID       int64    `parquet:"job_id,delta"`
	Submit   int64    `parquet:"submit_ns,split"`
	GPUs     int32    `parquet:"gpus,delta"`
	Duration int64    `parquet:"duration_ns,delta"`
	Batch    int32    `parquet:"batch,split"`
	Model    string   `parquet:"model"`
	Steps    *float64 `parquet:"steps,optional,dict"`
	Deadline *int64   `parquet:"deadline_ns,optional"`
	Tenant   *string  `parquet:"tenant,optional"`
	Status   string   `parquet:"status,dict"`
	Weight   float64  `parquet:"weight,split"`
}

// Pages of both versions, every compression, every encoding, several pages and
// row groups, runs of nulls and none.
func TestScanTakesEveryEncoding(t *testing.T) {
	const rows = 3 * ScanRows
	var written []everyEncoding
	var want []Row
	for i := range rows {
		r := everyEncoding{
			ID: int64(i) * 7919 % 1_000_003, Submit: int64(i) * 1_000_000_007, GPUs: int32(1 + i*i%100_000), Status: []string{"", "Pass", "Failed"}[i%3],
			Weight: 1 + float64(i%17)/3,
		}
		r.Duration, r.Batch, r.Model = int64(1)<<(i%61), int32(1+i%3000), strings.Repeat("m", i%40)+"x"
		w := Row{
			ID: r.ID, Submit: time.Duration(r.Submit), GPUs: r.GPUs, Duration: time.Duration(r.Duration), Status: r.Status, Weight: r.Weight,
			Batch: r.Batch, Model: r.Model,
		}
		if i%5 > 1 || i > rows/2 && i < rows/2+ScanRows {
			r.Steps, r.Tenant, r.Deadline = new(float64(1+i%11)), new("tenant "+strings.Repeat("y", i%9)), new(r.Submit+1+int64(i))
			w.Steps, w.Tenant, w.Deadline = *r.Steps, *r.Tenant, time.Duration(*r.Deadline)
		}
		written, want = append(written, r), append(want, w)
	}
	for name, options := range map[string][]parquet.WriterOption{
		"v1":          {parquet.DataPageVersion(1), parquet.PageBufferSize(1000)},
		"v2":          {parquet.DataPageVersion(2), parquet.PageBufferSize(5000), parquet.Compression(&parquet.Snappy)},
		"groups":      {parquet.MaxRowsPerRowGroup(999), parquet.Compression(&parquet.Gzip)},
		"one page":    {parquet.Compression(&parquet.Zstd)},
		"small pages": {parquet.PageBufferSize(64)},
		"lengths":     {parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaLengthByteArray)},
	} {
		t.Run(name, func(t *testing.T) { checkScan(t, foreign(t, written, options...), want) })
	}
}

func TestScanOfOtherPrograms(t *testing.T) {
	for _, name := range []string{"duckdb.parquet", "duckdb_v2.parquet", "pyarrow.parquet", "jobs_v1.parquet"} {
		file, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		checkScan(t, file, want.Rows)
	}
}

func TestScanProjects(t *testing.T) {
	file := encoded(t, example())
	got, err := scanned(file, ScanConfig{Columns: []string{"gpus", "tenant"}})
	if err != nil {
		t.Fatal(err)
	}
	var want []Row
	for _, r := range example().Rows {
		want = append(want, Row{GPUs: r.GPUs, Tenant: r.Tenant})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = scanned(file, ScanConfig{Columns: []string{"gpu"}})
	checkRowError(t, err, "t.parquet", RowError{Column: `"gpu"`, Value: "unknown", Fix: "job_id, submit_ns"})
}

func TestScanSaysWhatTheFileIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.parquet")
	want := example()
	if err := Write(path, want); err != nil {
		t.Fatal(err)
	}
	s, err := Scan(path, ScanConfig{})
	if err != nil {
		t.Fatal(err)
	}
	meta := s.Meta()
	if s.Len() != len(want.Rows) || meta.Source != want.Meta.Source {
		t.Errorf("got %d rows of %q", s.Len(), meta.Source)
	}
	rows, err := s.Next()
	if err != nil || len(rows) != len(want.Rows) {
		t.Fatalf("got %d rows (%v)", len(rows), err)
	}
	for range 2 {
		if _, err := s.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v after the last row, want io.EOF", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Scan(filepath.Join(t.TempDir(), "none"), ScanConfig{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v of a file that is not there", err)
	}
	if _, err := Scan(t.TempDir(), ScanConfig{}); err == nil {
		t.Error("a folder was scanned")
	}
}

// What Read refuses, Scan refuses at the same row; but for ids that repeat far
// apart.
func TestScanRefusesWhatReadRefuses(t *testing.T) {
	row := func(edit func(*badRow)) []byte {
		bad := good()
		bad.ID, bad.Submit = 2, good().Submit
		edit(&bad)
		return foreign(t, []badRow{good(), bad})
	}
	for name, test := range map[string]struct {
		file []byte
		want RowError
	}{
		"no GPU":     {row(func(r *badRow) { r.GPUs = 0 }), RowError{Row: 2, Column: "gpus", Value: "0", Fix: "1 to 1000000"}},
		"same id":    {row(func(r *badRow) { r.ID = good().ID }), RowError{Row: 2, Column: "job_id", Fix: "drop the copy"}},
		"zero":       {row(func(r *badRow) { r.Duration = new(int64(0)) }), RowError{Row: 2, Column: "duration_ns", Value: "0", Fix: "null"}},
		"not sorted": {row(func(r *badRow) { r.ID = good().ID - 1 }), RowError{Row: 2, Column: "submit_ns", Fix: "sort the rows"}},
		"no rows":    {foreign(t, []badRow{}), RowError{Value: "no rows", Fix: "at least one"}},
		"text":       {[]byte("a,b\n1,2\n"), RowError{Value: "not a Parquet file", Fix: "import"}},
		"throughput": {encodedThroughput(t, throughputs()), RowError{Value: `"throughput"`, Fix: "jobs table"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scanned(test.file, ScanConfig{})
			checkRowError(t, err, "t.parquet", test.want)
		})
	}
}

// A table of any number of row groups is read in memory that does not grow with
// it.
func TestScanNeedsBoundedMemory(t *testing.T) {
	table := func(groups int) []byte {
		j := &Jobs{}
		for i := range groups * rowsPerGroup {
			j.Rows = append(j.Rows, Row{ID: int64(i), Submit: time.Duration(i) * time.Second, GPUs: int32(1 + i%8), Duration: time.Duration(1+i%1000) * time.Second, Tenant: "t"})
		}
		return encoded(t, j)
	}
	bytesOf := func(file []byte) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := ScanFrom(bytes.NewReader(file), int64(len(file)), "t", ScanConfig{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range s.All() {
			if err != nil {
				t.Fatal(err)
			}
		}
		_ = s.Close() // nothing was opened
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	one, four := bytesOf(table(1)), bytesOf(table(4))
	if four > one+one/2+(1<<20) {
		t.Errorf("a table of one row group takes %d bytes, one of four %d", one, four)
	}
}

func FuzzScan(f *testing.F) {
	whole := encoded(f, example())
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add(foreign(f, []minimal{{1, 1, 1, new(int64(1))}, {2, 1, 1, nil}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := scanned(b, ScanConfig{})
		if err != nil {
			if _, ok := errors.AsType[*RowError](err); !ok || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want a RowError of one line", err)
			}
			if j, err := readBytes(b); err == nil {
				t.Fatalf("%d rows were read of what cannot be scanned", len(j.Rows))
			}
			return
		}
		slow, err := slowRead(b)
		if err == nil && !slices.Equal(rows, slow) {
			t.Fatalf("the library reads other rows")
		}
	})
}
