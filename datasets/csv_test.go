package datasets

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func csvOf(t testing.TB, j *Jobs) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := EncodeCSV(&b, j); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A table that is scanned gives the same text, and one with an id twice none.
func TestStreamCSV(t *testing.T) {
	whole := encoded(t, example())
	scan := func(b []byte) (string, error) {
		s, err := ScanFrom(bytes.NewReader(b), int64(len(b)), "t", ScanConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var out bytes.Buffer
		err = StreamCSV(&out, s)
		return out.String(), err
	}
	if got, err := scan(whole); err != nil || got != exampleCSV {
		t.Errorf("got %v and\n%s", err, got)
	}
	twice := foreign(t, []minimal{{1, 1, 1, new(int64(5))}, {2, 2, 1, new(int64(5))}, {1, 3, 1, new(int64(5))}})
	_, err := scan(twice)
	checkRowError(t, err, "t", RowError{Row: 3, Column: "job_id", Value: "1, as in row 1", Fix: "id of its own"})
}

const exampleCSV = `# yardmaster.epoch: 2017-10-01T00:00:00-07:00
# yardmaster.filters: ["dropped 2 rows: test","a, b; \"c\""]
# yardmaster.generator: by hand
# yardmaster.licence: CC0-1.0
# yardmaster.rows_in: 6
# yardmaster.rows_out: 4
# yardmaster.schema_version: 1
# yardmaster.seed: 18446744073709551615
# yardmaster.source: made up
# yardmaster.source_sha256: abababababababababababababababababababababababababababababababab
# yardmaster.table: jobs
# yardmaster.zone: America/Los_Angeles (assumed)
job_id,submit_ns,gpus,duration_ns,steps,model,batch,reference_gpu,tenant,weight,deadline_ns,status
7,0,1,3600000000000,,,,,a,,,
-3,1000000000,8,60000000000,,LM,5,V100,,,,Pass
1,60000000000,2,,1e+06,LM,10,,,2.5,3600000000000,
2,60000000000,1000000,1,0.5,ResNet-18,,,,,,
`

func TestEncodeCSV(t *testing.T) {
	if diff := cmp.Diff(exampleCSV, string(csvOf(t, example()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeCSVGivesTheTableBack(t *testing.T) {
	got, err := DecodeCSV(strings.NewReader(exampleCSV), "example")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The CSV form holds all that the Parquet form does, to the byte.
func TestCSVRoundTripsAnyTable(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a,b", `"q"`, `say "a"`, "x\r\ny", "\r", " lead", "trail\t", "#", "\u2028", "\xff", "null"}))
	rapid.Check(t, func(t *rapid.T) {
		want := tables(20).Draw(t, "table")
		for i := range want.Rows {
			for _, field := range []*string{&want.Rows[i].Tenant, &want.Rows[i].Status} {
				if name := text.Draw(t, "name"); len(name) <= MaxName {
					*field = strings.ToValidUTF8(name, "?")
				}
			}
		}
		want.Meta.Source, want.Meta.Zone = text.Draw(t, "source"), text.Draw(t, "zone")
		if text := text.Draw(t, "filter"); text != "" {
			want.Meta.Filters = []string{strings.ToValidUTF8(text, "?"), "x"} // JSON has no other text
		}
		if rapid.Bool().Draw(t, "epoch") {
			want.Meta.Epoch = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "instant"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(time.FixedZone("", 8*3600))
		}
		want.Name = "t.csv"
		var b bytes.Buffer
		if err := EncodeCSV(&b, want); err != nil {
			t.Fatal(err)
		}
		file := b.Bytes()
		got, err := DecodeCSV(bytes.NewReader(file), "t.csv")
		if err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s\nof\n%s", diff, file)
		}
		var before, after bytes.Buffer
		if err := errors.Join(encode(&before, want), encode(&after, got)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before.Bytes(), after.Bytes()) {
			t.Fatal("the Parquet file changed on the way through CSV")
		}
	})
}

func TestDecodeCSVTakesTablesMadeByHand(t *testing.T) {
	want := []Row{
		{ID: 2, Submit: 500 * time.Millisecond, GPUs: 1, Duration: time.Minute, Tenant: `a "b", c`},
		{ID: 1, Submit: 2 * time.Second, GPUs: 8, Duration: 90 * time.Second, Batch: 8, Tenant: "line\r\nend", Deadline: 3 * time.Second},
	}
	got, err := DecodeCSV(strings.NewReader("\ufeff# made by hand: \"odd\n\n gpus , job_id,batch,submit_s,duration_s,tenant,deadline_s\r\n"+
		"8,1, 8.0,2,90,\"line\r\nend\",3\r\n\r\n1,2,,0.5,60.000000000,\"a \"\"b\"\", c\","), "t")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Jobs{Name: "t", Rows: want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeCSVNamesLineColumnAndFix(t *testing.T) {
	const head, row = "job_id,submit_ns,gpus,duration_ns,tenant\n", "1,0,8,5,a\n"
	cut := exampleCSV[:len(exampleCSV)-1]
	tests := []struct {
		name, text string
		want       RowError // Value and Fix: parts
	}{
		{"empty", "", RowError{Value: "no header", Fix: "job_id"}},
		{"comments only", "# a\n", RowError{Row: 1, Value: "no header", Fix: "job_id"}},
		{"no rows", head, RowError{Value: "no rows", Fix: "one job"}},
		{"unknown column", "job_id,submit_ns,gpu\n", RowError{Row: 1, Column: `"gpu"`, Value: "unknown", Fix: "drop or rename it"}},
		{"column missing", "job_id,gpus\n", RowError{Row: 1, Column: "submit_ns", Value: "missing", Fix: "add it: int64"}},
		{"column twice", "job_id,submit_ns,submit_s,gpus\n", RowError{Row: 1, Column: "submit_s", Value: "twice", Fix: "drop one"}},
		{"text for a number", head + row + "\n2,0,eight,5,a\n", RowError{Row: 4, Column: "gpus", Value: `"eight"`, Fix: "whole number of 32 bits"}},
		{"a fraction", head + "1,0.5,8,5,a\n", RowError{Row: 2, Column: "submit_ns", Value: `"0.5"`, Fix: "whole number"}},
		{"too large", head + "1,0,2147483648,5,a\n", RowError{Row: 2, Column: "gpus", Value: "2147483648", Fix: "32 bits"}},
		{"far too large", head + "1,9223372036854775808,1,5,a\n", RowError{Row: 2, Column: "submit_ns", Value: "9223372036854775808", Fix: "whole number"}},
		{"zero for null", head + "1,0,8,0,a\n", RowError{Row: 2, Column: "duration_ns", Value: "0", Fix: "or nothing"}},
		{"null", head + "1,,8,5,a\n", RowError{Row: 2, Column: "submit_ns", Value: "empty", Fix: "every job has one"}},
		{"no GPU", head + "1,0,0,5,a\n", RowError{Row: 2, Column: "gpus", Value: "0", Fix: "1 to 1000000"}},
		{"a long name", head + "1,0,8,5," + strings.Repeat("x", MaxName+1), RowError{Row: 2, Column: "tenant", Value: "xxx", Fix: "256 bytes"}},
		{"not UTF-8", head + "1,0,8,5,\xff\n", RowError{Row: 2, Column: "tenant", Fix: "UTF-8"}},
		{"too few values", head + row + "1,0\n", RowError{Row: 3, Value: "2 values", Fix: "want 5"}},
		{"id twice", head + row + "2,0,8,5,a\n" + row, RowError{Row: 4, Column: "job_id", Value: "1, as in row 2", Fix: "id of its own"}},
		{"open quote", head + "1,0,8,5,\"a\n\n", RowError{Row: 2, Value: "not closed", Fix: "close it"}},
		{"quote inside", head + "1,0,8,5,a\"b\"\n", RowError{Row: 2, Value: "bad quotes", Fix: "RFC 4180"}},
		{"after the quote", head + "1,0,8,5,\"a\"b\n", RowError{Row: 2, Value: "bad quotes", Fix: "RFC 4180"}},
		{"a long line", head + strings.Repeat("x", maxCSVRow), RowError{Row: 2, Value: "more than 65536 bytes", Fix: "CSV"}},
		{"a long row", head + "\"" + strings.Repeat("x\n", maxCSVRow), RowError{Row: 2, Value: "not closed", Fix: "close it"}},
		{"cut in the last line", cut, RowError{Value: "has no end", Fix: "cut short"}},
		{"cut after a line", exampleCSV[:strings.LastIndexByte(cut, '\n')+1], RowError{Value: `3 rows, but its metadata says "4"`, Fix: "rows_out"}},
		{"newer version", "# yardmaster.schema_version: 2\n" + head + row, RowError{Value: "schema_version is 2", Fix: "newer"}},
		{"no version", "# yardmaster.source: x\n" + head + row, RowError{Value: "schema_version is missing", Fix: "set the key"}},
		{"another table", "# yardmaster.schema_version: 1\n# yardmaster.table: throughput\n" + head + row, RowError{Value: "throughput", Fix: "jobs table"}},
		{"metadata twice", "# yardmaster.source: x\n# yardmaster.source: y\n" + head + row, RowError{Row: 2, Value: "twice", Fix: "drop one"}},
		{"metadata in bad quotes", "# yardmaster.source: \"x\n" + head + row, RowError{Row: 1, Value: "bad quotes", Fix: "string of Go"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := DecodeCSV(strings.NewReader(test.text), "t.csv")
			checkRowError(t, err, "t.csv", test.want)
		})
	}
}

// The two lists of columns belong together.
func TestCSVHasTheColumnsOfTheTable(t *testing.T) {
	line := (&Row{}).appendCSV(nil)
	if got := bytes.Count(line, []byte(",")) + 1; got != len(columns) {
		t.Errorf("a line has %d values, want one for each of %d columns", got, len(columns))
	}
	if got := len(csvColumns); got != len(columns)+3 {
		t.Errorf("got %d columns that are read, want the table's %d and three in seconds", got, len(columns))
	}
}

func TestParseSecondsIsExact(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1e9, "0.1": 1e8, ".5": 5e8, "3.": 3e9, "1.000000001": 1e9 + 1, "1.0000000010": 1e9 + 1, "3153600000": 3153600000e9} {
		if got, ok := parseSeconds(text); !ok || got != want {
			t.Errorf("%q: got %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".", "-1", "-0.5", "+", "1e3", "NaN", "1.0000000001", "1.x", "1.-5", "9999999999999999999"} {
		if got, ok := parseSeconds(text); ok {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func FuzzDecodeCSV(f *testing.F) {
	f.Add([]byte(exampleCSV))
	f.Add([]byte("job_id,submit_s,gpus,duration_s\n1,0.5,8,60\n"))
	f.Add([]byte("\"job_id\",submit_ns,gpus,steps,model\n1,0,8,1e3,\"a\"\"\r\nb\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := DecodeCSV(bytes.NewReader(text), "t")
		if err != nil {
			if e, ok := errors.AsType[*RowError](err); !ok || e.Fix == "" || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got error %q, want a RowError of one line that says what to do", err)
			}
			return
		}
		again, err := DecodeCSV(bytes.NewReader(csvOf(t, j)), "t")
		if err != nil || again.Hash() != j.Hash() {
			t.Fatalf("the table does not survive a round trip: %v", err)
		}
	})
}
