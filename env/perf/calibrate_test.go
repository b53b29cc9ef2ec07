package perf

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// pretend returns rows that c would measure: of some models on some GPU types,
// alone and in one and several nodes, each times a factor for its row.
func pretend(c *Catalogue, factor func(i int) float64) []Measurement {
	var rows []Measurement
	for _, model := range []string{"LM", "ResNet-18", "ResNet-50"} {
		for _, gpu := range []string{"K80", "V100"} {
			for _, gpus := range []int{1, 2, 4, 8} {
				for _, nodes := range slices.Compact([]int{1, gpus}) {
					for _, batch := range []int{16, 64} {
						r := Measurement{
							Model: model, GPUType: gpu, GPUs: gpus, Nodes: nodes, Batch: batch, Source: "pretended",
							Plan: env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: batch},
						}
						r.StepsPerSecond = factor(len(rows)) * float64(gpus) / r.query(c).iteration(&r.Plan)
						rows = append(rows, r)
					}
				}
			}
		}
	}
	return rows
}

func none(int) float64 { return 1 }

// errors returns |log(predicted / measured)| of each row, under its plan.
func logErrors(c *Catalogue, rows []Measurement) []float64 {
	out := make([]float64, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = math.Abs(math.Log(float64(r.GPUs) / r.query(c).iteration(&r.Plan) / r.StepsPerSecond))
	}
	return out
}

// Rows of a world with other figures bring the figures there, or to others that
// predict the same.
func TestCalibrateFindsTheWorld(t *testing.T) {
	world := Default()
	m, _ := world.Model("ResNet-50")
	m.Efficiency, m.Overlap, m.HostMS = 0.3, 3, 60
	world.models[m.Name] = *m
	g, _ := world.GPU("K80")
	g.LinkEfficiency, g.Achievable, g.NetworkEfficiency = 0.2, 0.6, 0.5
	world.gpus[g.Name] = *g
	rows := pretend(world, none)
	before := logErrors(builtin(), rows)
	c, err := Default().Calibrate(rows)
	if err != nil {
		t.Fatal(err)
	}
	after := logErrors(c, rows)
	t.Logf("median error %.3f, largest %.3f before; %.4f and %.4f after", quantile(before, 0.5), quantile(before, 1), quantile(after, 0.5), quantile(after, 1))
	if quantile(after, 0.5) > 0.01 || quantile(after, 1) > 0.1 {
		t.Errorf("errors of %v and at most %v are left, want at most 0.01 and 0.1", quantile(after, 0.5), quantile(after, 1))
	}
	if got, _ := c.Model("ResNet-50"); math.Abs(got.Efficiency/m.Efficiency-1) > 0.15 {
		t.Errorf("efficiency of ResNet-50 is %v, want about %v", got.Efficiency, m.Efficiency)
	}
	for _, name := range []string{"P100", "A100-40"} {
		want, _ := builtin().GPU(name)
		if got, _ := c.GPU(name); *got != *want {
			t.Errorf("%s, which no row is of, changed", name)
		}
	}
	// Of a model that no row is of nothing moves but the part of the efficiency
	// that is common to all.
	transformer, _ := c.Model("Transformer")
	vgg, _ := c.Model("VGG16")
	if a, b := transformer.Efficiency/0.37, vgg.Efficiency/0.5; !near(a, b) || a >= 1 || a < 0.7 {
		t.Errorf("efficiencies of others are %v and %v times what they were, want the same, below 1 as ResNet-50's", a, b)
	}
	transformer.Efficiency = 0.37
	if want, _ := builtin().Model("Transformer"); !cmp.Equal(want, transformer) {
		t.Errorf("the Transformer, which no row is of, changed: %+v", transformer)
	}
}

// Rows that the catalogue predicts to the digit leave it as it is.
func TestCalibrateKeepsWhatIsRight(t *testing.T) {
	c, err := Default().Calibrate(pretend(builtin(), none))
	if err != nil {
		t.Fatal(err)
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(a) })
	if diff := cmp.Diff(builtin().models, c.models, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(builtin().gpus, c.gpus, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The order of rows does not matter, to the bit; nor do rows that ran out of
// memory or that are modelled.
func TestCalibrateIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.SliceOfN(rapid.Float64Range(0.5, 2), 84, 84).Draw(t, "noise")
		rows := pretend(builtin(), func(i int) float64 { return noise[i] })
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(rows)-1), 1, 12, rapid.ID[int]).Draw(t, "rows")
		var kept []Measurement
		for _, i := range some {
			kept = append(kept, rows[i])
		}
		a, err := Default().Calibrate(kept)
		if err != nil {
			t.Fatal(err)
		}
		other := slices.Clone(kept)
		slices.Reverse(other)
		failed, modelled := rows[some[0]], rows[some[0]]
		failed.StepsPerSecond = 0
		modelled.StepsPerSecond, modelled.Modelled = 1e-3, true
		b, err := Default().Calibrate(append(other, failed, modelled))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a.models, b.models); diff != "" {
			t.Fatalf("(-one order +another):\n%s", diff)
		}
		if diff := cmp.Diff(a.gpus, b.gpus); diff != "" {
			t.Fatalf("(-one order +another):\n%s", diff)
		}
		// Never worse than before, in its own terms, and still a catalogue.
		for name, m := range a.models {
			if err := m.validate(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for name, g := range a.gpus {
			if err := g.validate(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		before, after := newFit(builtin(), kept), newFit(a, kept)
		if x, y := before.cost(before.residuals(), make([]float64, len(before.factors))), after.cost(after.residuals(), make([]float64, len(after.factors))); y > x*(1+1e-9)+1e-9 {
			t.Fatalf("errors grew from %v to %v", x, y)
		}
	})
}

// One row that went wrong moves the fit by less than what it is off.
func TestCalibrateResistsOutliers(t *testing.T) {
	rows := pretend(builtin(), none)
	rows[5].StepsPerSecond *= 100
	c, err := Default().Calibrate(rows)
	if err != nil {
		t.Fatal(err)
	}
	errs := logErrors(c, slices.Delete(slices.Clone(rows), 5, 6))
	if worst := quantile(errs, 1); worst > 0.2 {
		t.Errorf("a row 100 times too fast moved another by %v, want at most 0.2", worst)
	}
}

// A row of a GPU type tells of the others through the model, and the other way.
func TestCalibrateShares(t *testing.T) {
	rows := pretend(builtin(), none)
	var v100 []Measurement
	for _, r := range rows {
		if r.GPUType == "V100" && r.Model == "ResNet-50" {
			r.StepsPerSecond *= 0.5
			v100 = append(v100, r)
		}
	}
	c, err := Default().Calibrate(v100)
	if err != nil {
		t.Fatal(err)
	}
	before, after := mustNew(t, Config{}), mustNew(t, Config{Catalogue: c})
	for _, tt := range []struct{ model, gpu string }{{"ResNet-50", "P100"}, {"ResNet-18", "V100"}} {
		a, _ := before.Throughput(tt.model, 64, tt.gpu, 1, 1)
		b, err := after.Throughput(tt.model, 64, tt.gpu, 1, 1)
		if err != nil || !(b < a) {
			t.Errorf("%s on %s: %v steps/s, %v, was %v, want less: ResNet-50 on V100 is half as fast", tt.model, tt.gpu, b, err, a)
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	if _, err := Default().Calibrate([]Measurement{{Model: "AlexNet"}}); err == nil {
		t.Error("got no error for an unknown model")
	}
	c, err := Default().Calibrate(nil)
	if err != nil || c == nil || len(c.models) != len(builtin().models) {
		t.Errorf("without rows got %v, %v, want a copy", c, err)
	}
}

// A·x = b for A = L·Lᵀ known by hand.
func TestSolve(t *testing.T) {
	a := [][]float64{{4, 2, 0}, {2, 5, 4}, {0, 4, 9}}
	want := []float64{1, -2, 3}
	b := []float64{0, 4, 19} // A·want
	for i, x := range solve(a, b, 0) {
		if !near(x, want[i]) {
			t.Errorf("x[%d] = %v, want %v", i, x, want[i])
		}
	}
}
