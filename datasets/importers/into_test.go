package importers

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
)

// importSmall imports lines of "id submit gpus tenant", in seconds; an id of "-"
// asks for row numbers.
func importSmall(r io.Reader, stray time.Duration) (*datasets.Jobs, Report, error) {
	table := Table{
		Layout: Layout{Names: []string{"id", "submit", "gpus", "tenant"}, Comma: ' '},
		Ending: Ending{Meta: datasets.Meta{Source: "s", Licence: "l"}, Zone: time.UTC, StrayGap: stray},
		Row: ByColumn(func(t *Trace, v *Values) {
			row := datasets.Row{Submit: v.Seconds(1), GPUs: v.GPUs(2), Duration: time.Second, Tenant: v.Name(3, t), Weight: 2.5, Deadline: 1e18, Batch: 7, Steps: 0}
			switch {
			case row.GPUs == 0:
				t.Drop(DropNoGPU)
			case v.Text(0) == "-":
				t.KeepNumbered(row)
			default:
				row.ID = v.ID(0)
				t.Keep(row)
			}
		}),
	}
	return table.Import(r, "t.csv")
}

// What is handed on in runs is the table that is made in memory, with the same
// account: sorted, without copies and a stray job, numbered where ids repeat.
func TestIntoIsTheTableInMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("id submit gpus tenant\n")
		numbered := rapid.Bool().Draw(t, "numbered")
		unique := rapid.Bool().Draw(t, "unique")
		rows := rapid.IntRange(1, 60).Draw(t, "rows")
		for i := range rows {
			id := strconv.Itoa(rapid.IntRange(0, 20).Draw(t, "id"))
			if unique {
				id = strconv.Itoa(rows - i)
			}
			if numbered {
				id = "-"
			}
			for range 1 + rapid.IntRange(0, 8).Draw(t, "copy")/8 {
				b.WriteString(id + " " + strconv.Itoa(rapid.IntRange(0, 12).Draw(t, "submit")*100) + " " + strconv.Itoa(rapid.IntRange(0, 3).Draw(t, "gpus")) + " " + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant") + "\n")
			}
		}
		stray := time.Duration(rapid.IntRange(0, 3).Draw(t, "stray")) * 100 * time.Second
		want, wantReport, wantErr := importSmall(strings.NewReader(b.String()), stray)
		var got []datasets.Row
		in := &Into{
			Reader: strings.NewReader(b.String()), Run: rapid.IntRange(1, 9).Draw(t, "run"),
			Append: func(rows []datasets.Row) error { got = append(got, rows...); return nil },
		}
		table, report, err := importSmall(in, stray)
		if closeErr := in.Close(); closeErr != nil {
			t.Fatal(closeErr)
		}
		if wantErr != nil {
			if err == nil || err.Error() != wantErr.Error() {
				t.Fatalf("got %v, want %v", err, wantErr)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Rows, got); diff != "" || len(table.Rows) > 0 {
			t.Fatalf("%d rows besides, rows (-want +got):\n%s", len(table.Rows), diff)
		}
		if diff := cmp.Diff(want.Meta, table.Meta); diff != "" {
			t.Fatalf("metadata (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantReport, report); diff != "" {
			t.Fatalf("report (-want +got):\n%s", diff)
		}
	})
}

func smallLines(n int) string {
	var b strings.Builder
	b.WriteString("id submit gpus tenant\n")
	for i := range n {
		b.WriteString(strconv.Itoa(i) + " " + strconv.Itoa(1000-i) + " 1 a\n")
	}
	return b.String()
}

func TestIntoHandsErrorsOn(t *testing.T) {
	full := errors.New("full")
	for _, run := range []int{2, 1000} {
		in := &Into{Reader: strings.NewReader(smallLines(9)), Run: run, Append: func([]datasets.Row) error { return full }}
		if _, _, err := importSmall(in, 0); !errors.Is(err, full) {
			t.Errorf("runs of %d: got %v, want the sink's error", run, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	nothing := &Into{Reader: strings.NewReader(smallLines(9)), Run: 2}
	if _, report, err := importSmall(nothing, 0); err != nil || report.Kept != 9 {
		t.Errorf("without a sink: got %s (%v)", report.Report, err)
	}
	if err := errors.Join(nothing.Close(), nothing.Close()); err != nil {
		t.Error(err)
	}
	t.Setenv("TMPDIR", t.TempDir()+"/none")
	in := &Into{Reader: strings.NewReader(smallLines(9)), Run: 2}
	if _, _, err := importSmall(in, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v without a folder for temporary files", err)
	}
}

// Nothing is left in the folder of temporary files.
func TestIntoLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	in := &Into{Reader: strings.NewReader(smallLines(100)), Run: 3}
	if _, _, err := importSmall(in, 0); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v (%v)", entries, err)
	}
}

// A cut temporary file is an error, not a shorter table.
func TestCutRunsAreAnError(t *testing.T) {
	s, err := newSpill()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	rows := []datasets.Row{{ID: 1, GPUs: 1, Duration: 5}, {ID: 2, GPUs: 1, Duration: 5}}
	if err := s.add(rows, []int32{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := s.file.Truncate(s.size - 3); err != nil {
		t.Fatal(err)
	}
	m := s.merge()
	var ids []int64
	for {
		job, err := m.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				t.Errorf("got %v and the end, want an error", ids)
			}
			break
		}
		ids = append(ids, job.ID)
	}
	if slices.Contains(ids, 2) {
		t.Errorf("got %v of a cut file", ids)
	}
}
