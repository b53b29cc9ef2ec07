package perf

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A held-out row may say what it likes: nothing that predicts it changes, for
// any split and fold.
func TestHeldOutRowsLeakNothing(t *testing.T) {
	clean := pretend(builtin(), func(i int) float64 { return 1 + 0.1*float64(i%5) })
	for _, split := range []Split{HeldOutGPUs, HeldOutModel, HeldOutType} {
		planted := slices.Clone(clean)
		fold := split.fold(&planted[0])
		for i := range planted {
			if split.fold(&planted[i]) == fold {
				planted[i].StepsPerSecond *= 1000 * float64(i+1)
			}
		}
		a, err := learn(Default().Unfitted(), split, clean, fold)
		if err != nil {
			t.Fatal(err)
		}
		b, err := learn(Default().Unfitted(), split, planted, fold)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a.cfg.Catalogue.models, b.cfg.Catalogue.models); diff != "" {
			t.Errorf("%s: outliers in the held-out rows changed the models (-without +with):\n%s", split, diff)
		}
		if diff := cmp.Diff(a.cfg.Catalogue.gpus, b.cfg.Catalogue.gpus); diff != "" {
			t.Errorf("%s: outliers in the held-out rows changed the GPU types (-without +with):\n%s", split, diff)
		}
		if diff := cmp.Diff(a.cfg.Measured, b.cfg.Measured); diff != "" {
			t.Errorf("%s: outliers in the held-out rows correct predictions (-without +with):\n%s", split, diff)
		}
		for i := range clean {
			x, _ := a.corrected(&clean[i])
			y, _ := b.corrected(&clean[i])
			if x != y {
				t.Errorf("%s: row %d is predicted as %v and, with outliers held out, %v", split, i, x, y)
			}
		}
	}
}

// Nor does what the catalogue's fitted figures remember.
func TestCrossValidationStartsFromNothing(t *testing.T) {
	rows := pretend(builtin(), func(i int) float64 { return 1 + 0.1*float64(i%5) })
	c := Default()
	want, err := c.CrossValidate(HeldOutGPUs, rows)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range c.models {
		if m.Prior.Efficiency != 0 {
			m.Efficiency, m.Kernels = 0.9, 2*m.Kernels
			m.Kernels *= float64(min(1, int(1e9*m.Prior.Kernels))) // 0 prior: it was not fitted
		}
		if m.Prior.Kernels == 0 {
			m.Kernels = builtin().models[name].Kernels
		}
		c.models[name] = m
	}
	got, err := c.CrossValidate(HeldOutGPUs, rows)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other fitted figures give another outcome (-want +got):\n%s", diff)
	}
}

// In a world that scales as the model says, held-out numbers of GPUs are
// foreseen; each split leaves out what it must.
func TestCrossValidate(t *testing.T) {
	rows := pretend(builtin(), none)
	first := rows[0]
	first.Source = "another"                                                                                       // took it over: counts once in all
	alone := Measurement{Model: "A3C", GPUType: "V100", GPUs: 1, Batch: 4, StepsPerSecond: 7, Source: "pretended"} // known from one number of GPUs only
	modelled := rows[0]
	modelled.Modelled = true
	rows = append(rows, first, alone, modelled)
	for _, tt := range []struct {
		split                   Split
		rows, another           int // judged
		unknown, anotherUnknown int
		median                  float64
	}{
		{HeldOutGPUs, 84, 0, 1, 1, 0.15},
		{HeldOutModel, 85, 0, 0, 1, 2},
		{HeldOutType, 84, 0, 1, 1, 2},
	} {
		got, err := Default().CrossValidate(tt.split, rows)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Sources) != 2 || got.Sources[0].Source != "another" || got.Sources[1].Source != "pretended" {
			t.Fatalf("%s: got sources %+v", tt.split, got.Sources)
		}
		other, main := got.Sources[0], got.Sources[1]
		if main.Rows != tt.rows || main.Unknown != tt.unknown || other.Rows != tt.another || other.Unknown != tt.anotherUnknown {
			t.Errorf("%s: %d rows and %d unknown, %d and %d of another source, want %+v", tt.split, main.Rows, main.Unknown, other.Rows, other.Unknown, tt)
		}
		if main.Median > tt.median || math.IsNaN(main.Median) {
			t.Errorf("%s: median error %v, want at most %v", tt.split, main.Median, tt.median)
		}
		if n := got.All.Rows + got.All.Unknown; n != 85 {
			t.Errorf("%s: %d rows in all, want 85: a copy counts once", tt.split, n)
		}
	}
	if _, err := Default().CrossValidate("month", rows); err == nil {
		t.Error("got no error for a split that there is not")
	}
	if _, err := Default().CrossValidate(HeldOutGPUs, []Measurement{{}}); err == nil {
		t.Error("got no error for an empty row")
	}
}

// Titan's rows of one GPU are all there is of it: nothing to hold out.
func TestHeldOutGPUsOnPublishedRows(t *testing.T) {
	table := readTable(t)
	rows := gavelRows(table, "gavel-phys")
	rows = append(rows, elasticFlowRows(table)...)
	got, err := Default().CrossValidate(HeldOutGPUs, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows: median error %.1f %%, p90 %.1f %%", got.All.Rows, 100*got.All.Median, 100*got.All.P90)
	if got.All.Rows < 400 || got.All.Median > 0.15 || got.All.P90 > 0.4 {
		t.Errorf("got %+v, want a median of at most 0.15 and a p90 of at most 0.4", got.All)
	}
}
