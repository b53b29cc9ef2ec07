package importers

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
)

func sources(texts ...string) []Input {
	var inputs []Input
	for i, text := range texts {
		inputs = append(inputs, Input{Name: string(rune('z'-i)) + ".csv", Reader: strings.NewReader(text)})
	}
	return inputs
}

// keepAll reads tables with the columns gpu and rate.
func keepAll(p *Points, inputs []Input) error {
	return p.Each(inputs, func(s *Source) error {
		return p.ReadTable(s, Layout{Names: []string{"gpu", "rate"}}, func(v *Values) error {
			rate := v.Number(1, -1, 100)
			if v.Err() != nil {
				return nil
			}
			if rate == 0 {
				p.Drop(DropNotMeasured)
				return nil
			}
			return p.Keep(s, v.Line(), datasets.ThroughputRow{
				Source: "s", Model: "LM", GPUType: p.GPUType(v.Text(0), map[string]string{"mine": "T4"}), GPUs: 1, StepsPerSecond: rate, Quality: datasets.Measured,
			})
		})
	})
}

func TestPointsAccountForEveryValue(t *testing.T) {
	p := new(Points)
	if err := keepAll(p, sources("gpu,rate\nv100-32,1\nmine,0\n", "gpu,rate\nxpu,3\n")); err != nil {
		t.Fatal(err)
	}
	table, report, err := p.Finish(datasets.Meta{Source: "made up", Licence: "CC0-1.0"})
	if err != nil {
		t.Fatal(err)
	}
	var gpus []string
	for _, r := range table.Rows {
		gpus = append(gpus, r.GPUType)
	}
	if diff := cmp.Diff([]string{"xpu", "V100-32"}, gpus); diff != "" { // y.csv before z.csv
		t.Errorf("GPU types (-want +got):\n%s", diff)
	}
	want := Report{
		Report:      datasets.Report{Read: 3, Kept: 2, Dropped: []datasets.Count{{Reason: DropNotMeasured, Rows: 1}}},
		Compression: "none",
		Warnings:    []datasets.Count{{Reason: `GPU type "xpu" is not in the performance catalogue`, Rows: 1}},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if m := table.Meta; m.RowsIn != 3 || len(m.Filters) != 1 || len(m.SourceSHA256) != 64 || table.Name != "y.csv and 1 more" {
		t.Errorf("got metadata %+v of %s", m, table.Name)
	}
}

// One file has its own hash, several one that does not depend on their order or
// names but on each of them.
func TestPointsHash(t *testing.T) {
	hash := func(inputs ...Input) string {
		p := new(Points)
		if err := keepAll(p, inputs); err != nil {
			t.Fatal(err)
		}
		table, _, err := p.Finish(datasets.Meta{})
		if err != nil {
			t.Fatal(err)
		}
		return table.Meta.SourceSHA256
	}
	a, b := "gpu,rate\nT4,1\n", "gpu,rate\nT4,2\n"
	one := sources(a)
	s, err := Open(strings.NewReader(a), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want, err := s.SHA256(); err != nil || hash(one...) != want {
		t.Errorf("the hash of one file is not its own (%v)", err)
	}
	if hash(sources(a, b)...) != hash(sources(b, a)...) || hash(sources(a, b)...) == hash(sources(a, a)...) {
		t.Error("the hash of several files depends on their order, or not on what they hold")
	}
}

func TestPointsRefuseBadInput(t *testing.T) {
	tests := []struct {
		name   string
		inputs []Input
		want   datasets.RowError
	}{
		{"none", nil, datasets.RowError{Value: "no file", Fix: "name the files"}},
		{"empty", sources(""), datasets.RowError{File: "z.csv", Value: "empty", Fix: "name"}},
		{"no column", sources("gpu\nT4\n"), datasets.RowError{File: "z.csv", Row: 1, Column: "rate", Fix: "want the columns"}},
		{"a bad value", sources("gpu,rate\nT4,x\n"), datasets.RowError{File: "z.csv", Row: 2, Column: "rate", Value: "x", Fix: "number"}},
		{"a bad row", sources("gpu,rate\nT4,-1\n"), datasets.RowError{File: "z.csv", Row: 2, Column: "steps_per_s", Value: "-1", Fix: "> 0"}},
		{"a short row", sources("gpu,rate\nT4\n"), datasets.RowError{File: "z.csv", Row: 2, Value: "1 values", Fix: "want 2"}},
	}
	for _, test := range tests {
		err := keepAll(new(Points), test.inputs)
		got, ok := errors.AsType[*datasets.RowError](err)
		if !ok || got.File != test.want.File || got.Row != test.want.Row || got.Column != test.want.Column ||
			!strings.Contains(got.Value, test.want.Value) || !strings.Contains(got.Fix, test.want.Fix) {
			t.Errorf("%s: got %#v, want %+v", test.name, err, test.want)
		}
	}
	broken := []Input{{Name: "x", Reader: iotest.ErrReader(io.ErrClosedPipe)}}
	if err := keepAll(new(Points), broken); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the reader's error", err)
	}
	p := new(Points)
	if err := keepAll(p, sources("gpu,rate\nT4,0\n")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Finish(datasets.Meta{}); err == nil || !strings.Contains(err.Error(), "of 1 values") {
		t.Errorf("got %v of a table without rows", err)
	}
	p = new(Points)
	p.read = MaxValues
	if err := keepAll(p, sources("gpu,rate\nT4,1\n")); err == nil || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("got %v of too many rows", err)
	}
}

func TestDigits(t *testing.T) {
	if placement, gpus, nodes, ok := Digits("1124"); placement != "1+1+2+4" || gpus != 8 || nodes != 4 || !ok {
		t.Errorf("got %s, %d GPUs, %d nodes, %v", placement, gpus, nodes, ok)
	}
	for _, s := range []string{"", "0", "10", "4+4", "4.0", "-4", "٤"} {
		if _, _, _, ok := Digits(s); ok {
			t.Errorf("%q was taken for a placement", s)
		}
	}
}

func TestPathNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"a/A100/bert.csv": {"A100", "bert"}, `C:\a\A100\bert.csv.gz`: {"A100", "bert"}, "A100/./bert.csv.zst": {"A100", "bert"},
		"bert.csv": {"", "bert"}, "/bert": {"", "bert"}, "../x/b.c": {"x", "b.c"}, "-": {"", "-"},
	} {
		if folder, file := PathNames(name); folder != want[0] || file != want[1] {
			t.Errorf("%s: got folder %q, file %q, want %q", name, folder, file, want)
		}
	}
}
