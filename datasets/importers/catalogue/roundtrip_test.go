package catalogue_test

import (
	"bytes"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// digits are the numbers of a text, from whose first digit on they may change.
var digits = regexp.MustCompile(`[0-9]+`)

// varied draws a text like this one: lines repeated, left out and moved, digits
// changed. Comments and the first line stay: it may be a header. So do all lines,
// but for their digits, of JSON and of a text that says how many they are.
func varied(t *rapid.T, text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	fixed := text[0] == '[' || text[0] == '{' || bytes.Contains(text, []byte("rows_out"))
	var out []byte
	for i, line := range lines {
		if i == 0 || bytes.HasPrefix(line, []byte("#")) {
			out = append(out, line...)
			continue
		}
		switch draw := rapid.IntRange(0, 9).Draw(t, "line"); {
		case draw == 0 && !fixed:
			continue
		case draw == 1 && !fixed:
			line = append(bytes.Clone(line), lines[rapid.IntRange(1, len(lines)-1).Draw(t, "other")]...)
		case draw < 5:
			line = changed(t, line)
		}
		out = append(out, line...)
	}
	return out
}

// changed draws a line with one digit in another's place.
func changed(t *rapid.T, line []byte) []byte {
	found := digits.FindAllIndex(line, -1)
	if len(found) == 0 {
		return line
	}
	at := rapid.SampledFrom(found).Draw(t, "number")
	line = bytes.Clone(line)
	line[rapid.IntRange(at[0], at[1]-1).Draw(t, "digit")] = byte('0' + rapid.IntRange(0, 9).Draw(t, "to"))
	return line
}

// Whatever becomes a table of jobs is the same table after its CSV form was
// imported. (The packages of the importers test the same, and Parquet, on inputs
// that they draw from scratch.)
func TestImportCSVImportGivesEqualTables(t *testing.T) {
	all := fixtures(t)
	for i := range all {
		f := &all[i]
		if f.format.Table != datasets.KindJobs {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			imported, tried := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				files := f.files
				for i := range files {
					files = replaced(files, i, varied(t, files[i].Text))
				}
				tried++
				_, table, _, err := catalogue.Import(f.request(files))
				if err != nil {
					return // the damage tests see to errors
				}
				imported++
				j, ok := table.(*datasets.Jobs)
				if !ok {
					t.Fatalf("got a %T", table)
				}
				if err := importertest.RoundTripCSV(j); err != nil {
					t.Fatal(err)
				}
			})
			if imported*10 < tried {
				t.Errorf("only %d of %d variants could be imported: the test shows little", imported, tried)
			}
		})
	}
}

func replaced(files []importertest.File, i int, text []byte) []importertest.File {
	f := fixture{files: files}
	return f.with(i, text)
}
