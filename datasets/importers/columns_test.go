package importers

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
)

// table reads every row of text.
func table(t *testing.T, text string, layout Layout) ([][]string, error) {
	t.Helper()
	s, err := Open(strings.NewReader(text), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := NewColumns(s, layout)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for {
		values, err := c.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, append([]string(nil), values...))
	}
}

func TestColumns(t *testing.T) {
	ab := Layout{Names: []string{"a", "b"}}
	for _, test := range []struct {
		name, text string
		layout     Layout
		want       [][]string
	}{
		{"in order", "a,b\n1,2\n3,4\n", ab, [][]string{{"1", "2"}, {"3", "4"}}},
		{"other order, more columns", "\ufeffx,b,a\r\n9, 2 ,1\r\n", ab, [][]string{{"1", "2"}}},
		{"quotes", "a,b\n\"1,5\",\"say \"\"2\"\"\"\n", ab, [][]string{{"1,5", `say "2"`}}},
		{"empty values", "a,b\n,\n", ab, [][]string{{"", ""}}},
		{"comma at the end of rows", "a,b\n1,2,\n", ab, [][]string{{"1", "2"}}},
		{"comma at the end of all lines", "a,b,\n1,2,\n", ab, [][]string{{"1", "2"}}},
		{"no rows", "a,b\n", ab, nil},
		{"bars", "b|a\n2|\"1\n", Layout{Names: []string{"a", "b"}, Comma: '|'}, [][]string{{`"1`, "2"}}},
		{"optional there", "o,a\n9,1\n", Layout{Names: []string{"a"}, Optional: []string{"o"}}, [][]string{{"1", "9"}}},
		{"optional missing", "a\n1\n", Layout{Names: []string{"a"}, Optional: []string{"o"}}, [][]string{{"1", ""}}},
		{"no header", "1,2\n3,4\n", Layout{Names: []string{"a", "b"}, Headless: true}, [][]string{{"1", "2"}, {"3", "4"}}},
		{"a header after all", "a,b\n3,4\n", Layout{Names: []string{"a", "b"}, Headless: true}, [][]string{{"3", "4"}}},
		{"commas in a free column", "a|name|b\n1|x|y||z|2\n1|x|2\n", Layout{Names: []string{"a", "name", "b"}, Comma: '|', Free: "name"}, [][]string{{"1", "x|y||z", "2"}, {"1", "x", "2"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := table(t, test.text, test.layout)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColumnsRefuseBadTables(t *testing.T) {
	ab := Layout{Names: []string{"a", "b"}}
	for _, test := range []struct {
		name, text string
		layout     Layout
		line       int64
		column     string
		fix        string
	}{
		{"blank", "\n \n", ab, 0, "", "want the columns a, b"},
		{"missing column", "a,c\n1,2\n", ab, 1, "b", "want the columns a, b"},
		{"too few values", "a,b\n1,2\n\n1\n", ab, 4, "", "want 2"},
		{"too many values", "a,b\n1,2,3\n", ab, 2, "", "want 2"},
		{"far too many values", "a,b\n" + strings.Repeat(",", 60_000), ab, 2, "", "want 2"},
		{"far too many values around a free one", "a,b\n" + strings.Repeat(",", 60_000), Layout{Names: []string{"a", "b"}, Free: "b"}, 2, "", "want 2"},
		{"too many columns", "a,b" + strings.Repeat(",c", MaxColumns), ab, 1, "", "want the columns"},
		{"too many values, no header", "1,2,3\n", Layout{Names: []string{"a", "b"}, Headless: true}, 1, "", "want 2"},
		{"open quote", "a,b\n\"1,2\n", ab, 2, "", "quote values"},
		{"open quote in the header", "\"a,b\n", ab, 1, "", "want the columns"},
		{"long value", "a,b\n1," + strings.Repeat("x", datasets.MaxName+1), ab, 2, "b", "256 bytes"},
		{"not UTF-8", "a,b\n\xff,1\n", ab, 2, "a", "UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := table(t, test.text, test.layout)
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.csv" || got.Row != test.line || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %#v, want line %d, column %q, fix with %q", err, test.line, test.column, test.fix)
			}
		})
	}
	if _, err := table(t, "a,b\n"+strings.Repeat("x", 300)+",1\n", Layout{Names: []string{"a", "b"}, MaxValue: 300}); err != nil {
		t.Errorf("a value of MaxValue bytes is refused: %v", err)
	}
}
