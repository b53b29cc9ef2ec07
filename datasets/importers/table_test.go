package importers

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
)

// readOne calls row with the one row of a table with the columns a and b.
func readOne(t *testing.T, a, b string, row func(*Trace, *Values)) (*datasets.Jobs, Report, error) {
	t.Helper()
	table := Table{Layout: Layout{Names: []string{"a", "b"}, Optional: []string{"c"}}, Row: ByColumn(row)}
	return table.Import(strings.NewReader("b,a\n"+b+","+a+"\n"), "t.csv")
}

func TestValuesReadNumbers(t *testing.T) {
	tests := []struct {
		name, text string
		read       func(*Values) any
		want       any // nil: bad
	}{
		{"id", "-7", func(v *Values) any { return v.ID(0) }, int64(-7)},
		{"id with decimals", "7.0", func(v *Values) any { return v.ID(0) }, nil},
		{"GPUs", "8.0", func(v *Values) any { return v.GPUs(0) }, int32(8)},
		{"no GPUs", "0", func(v *Values) any { return v.GPUs(0) }, int32(0)},
		{"too many GPUs", "1000001", func(v *Values) any { return v.GPUs(0) }, nil},
		{"half a GPU", "0.5", func(v *Values) any { return v.GPUs(0) }, nil},
		{"batch", "16777216", func(v *Values) any { return v.Batch(0) }, int32(1 << 24)},
		{"no batch", "0", func(v *Values) any { return v.Batch(0) }, nil},
		{"steps", "1e18", func(v *Values) any { return v.Steps(0) }, 1e18},
		{"too many steps", "1.1e18", func(v *Values) any { return v.Steps(0) }, nil},
		{"NaN", "NaN", func(v *Values) any { return v.Number(0, -1, 1) }, nil},
		{"infinite", "Inf", func(v *Values) any { return v.Number(0, -1, math.MaxFloat64) }, nil},
		{"number", "-0.5", func(v *Values) any { return v.Number(0, -1, 1) }, -0.5},
		{"whole", "1e3", func(v *Values) any { return v.Whole(0, 0, 1000) }, int64(1000)},
		{"above", "1001", func(v *Values) any { return v.Whole(0, 0, 1000) }, nil},
		{"seconds", "1.5", func(v *Values) any { return v.Seconds(0) }, 1500 * time.Millisecond},
		{"milliseconds", "1.5", func(v *Values) any { return v.Millis(0) }, 1500 * time.Microsecond},
		{"milliseconds of a century", "3153600000000", func(v *Values) any { return v.Millis(0) }, datasets.MaxTime},
		{"more than a century", "3153600000001", func(v *Values) any { return v.Millis(0) }, nil},
		{"negative milliseconds", "-1", func(v *Values) any { return v.Millis(0) }, nil},
		{"text", " x ", func(v *Values) any { return v.Text(0) }, "x"},
		{"optional", "x", func(v *Values) any { return v.Has(2) }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got any
			_, _, err := readOne(t, test.text, "y", func(trace *Trace, v *Values) {
				got = test.read(v)
				trace.Drop("read")
			})
			e, ok := errors.AsType[*datasets.RowError](err)
			if test.want == nil {
				if !ok || e.Row != 2 || e.Column != "a" || e.Fix == "" {
					t.Errorf("got %v (%v), want an error about row 2, column a", got, err)
				}
				return
			}
			if got != test.want || !ok || !strings.Contains(e.Value, "1: read") {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
		})
	}
}

func TestTheFirstBadValueCounts(t *testing.T) {
	_, _, err := readOne(t, "x", "y", func(_ *Trace, v *Values) {
		v.ID(1)
		v.ID(0)
		v.CheckSteps(0, math.NaN())
	})
	if e, ok := errors.AsType[*datasets.RowError](err); !ok || e.Column != "b" {
		t.Errorf("got %v, want the error about column b", err)
	}
	_, _, err = readOne(t, "x", "y", func(_ *Trace, v *Values) { v.CheckSteps(0, 2e18) })
	if err == nil || !strings.Contains(err.Error(), "1e18 steps") {
		t.Errorf("got %v of too many steps", err)
	}
}

func TestTableKeepsAndWarns(t *testing.T) {
	models := NewModels(map[string]string{"res": "ResNet-50"})
	j, report, err := readOne(t, "res", "5", func(trace *Trace, v *Values) {
		trace.WarnIfShort(v.Seconds(1))
		trace.WarnIfShort(0)
		trace.Keep(datasets.Row{GPUs: 1, Duration: v.Seconds(1), Model: v.Model(0, trace, models)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := j.Rows[0]; r.Model != "ResNet-50" || r.Duration != 5*time.Second {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff([]datasets.Count{{Reason: WarnShort, Rows: 1}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "a\n1\n", "a,b\n1\n"} {
		table := Table{Layout: Layout{Names: []string{"a", "b"}}, Row: ByColumn(func(*Trace, *Values) {})}
		if _, _, err := table.Import(strings.NewReader(text), "t.csv"); err == nil {
			t.Errorf("%q was imported", text)
		}
	}
}

func TestModelsWithoutNameAreBad(t *testing.T) {
	_, _, err := readOne(t, "", "1", func(trace *Trace, v *Values) { v.Model(0, trace, NewModels(nil)) })
	if e, ok := errors.AsType[*datasets.RowError](err); !ok || e.Column != "a" {
		t.Errorf("got %v, want an error about column a", err)
	}
}

func TestHasColumns(t *testing.T) {
	for head, want := range map[string]bool{
		"a,b\n1,2\n": true, "\ufeffb, a,c\r\n": true, "\n\na,b": true, `"a","b"`: true,
		"a\n": false, "": false, `"a,b` + "\n": false, "ab\n": false,
	} {
		if got := HasColumns([]byte(head), "a", "b"); got != want {
			t.Errorf("%q: got %v, want %v", head, got, want)
		}
	}
}

// A share has whole samples, never fewer than the batch needs, and the steps
// come to as many samples.
func TestShareKeepsTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Work{Iterations: rapid.Float64Range(0, 1e9).Draw(t, "iterations"), Global: rapid.Int64Range(1, datasets.MaxBatch).Draw(t, "global")}
		gpus := rapid.Int32Range(1, datasets.MaxGPUs).Draw(t, "gpus")
		batch, steps, even := w.Share(gpus)
		if int64(batch)*int64(gpus) < w.Global || int64(batch-1)*int64(gpus) >= w.Global || even != (w.Global%int64(gpus) == 0) {
			t.Fatalf("%d samples on %d GPUs: %d each, even %v", w.Global, gpus, batch, even)
		}
		if want, got := w.Iterations*float64(w.Global), steps*float64(batch); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%v samples, want %v", got, want)
		}
		if want := w.Iterations * float64(gpus); even && math.Abs(steps-want) > 1e-9*want {
			t.Fatalf("%v steps, want %v", steps, want)
		}
	})
}

func TestModelsNameAndWarn(t *testing.T) {
	m := NewModels(map[string]string{"res": "ResNet-50"})
	for s, want := range map[string][2]string{
		"res": {"ResNet-50", ""}, "LM": {"LM", ""},
		"vgg": {"vgg", `model "vgg" is not in the performance catalogue: kept by the source's name`},
	} {
		for range 2 {
			if name, warning := m.Name(s); name != want[0] || warning != want[1] {
				t.Errorf("%s: got %q, %q, want %q", s, name, warning, want)
			}
		}
	}
	warnings := make(map[string]bool)
	for i := range 1000 {
		_, warning := m.Name(strings.Repeat("x", 1+i))
		warnings[warning] = true
	}
	if len(warnings) > maxWarned+1 || !warnings[WarnModels] {
		t.Errorf("a thousand models have %d warnings, want at most %d", len(warnings), maxWarned+1)
	}
}
