package perf

import (
	"flag"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

var (
	calibrateSteps = flag.Int("calibrate", 1000, "steps of random search over the fitted figures of the catalogue; 40000 to fit anew")
	calibrateOut   = flag.String("calibrate-without", "", "rows to leave out and judge by: P100, V100, K80 or batches (every second size)")
)

// figure is one fitted figure of the catalogue and its bounds.
type figure struct {
	name      string
	x         *float64
	low, high float64
}

// fit is the fitted part of the catalogue and the rows it is fitted to.
type fit struct {
	gpus    map[string]*GPU
	models  map[string]*Model
	figures []figure
	rows    []Measurement
	held    []Measurement
}

// kernelBounds hold the number of kernels near what a count of the operations
// of the forward and backward pass and of the optimizer makes plausible.
var kernelBounds = map[string][2]float64{
	"ResNet-18": {300, 700}, "ResNet-50": {800, 1500}, "Transformer": {500, 3500}, "LM": {300, 900},
	"Recommendation": {40, 150}, "CycleGAN": {2000, 4500}, "A3C": {1000, 8000},
}

func newFit(rows []Measurement) *fit {
	f := &fit{gpus: make(map[string]*GPU), models: make(map[string]*Model)}
	for _, name := range []string{"K80", "P100", "V100"} {
		g, _ := Default().GPU(name)
		f.gpus[name] = g
		if name != "V100" {
			f.add(name+" achievable", &g.Achievable, 0.6, 1)
			f.add(name+" link_efficiency", &g.LinkEfficiency, 0.05, 0.8)
		}
	}
	f.add("K80 kernel_us", &f.gpus["K80"].KernelUS, 5, 35)
	for _, name := range Default().ModelNames() {
		bounds, ok := kernelBounds[name]
		if !ok {
			continue
		}
		m, _ := Default().Model(name)
		f.models[name] = m
		f.add(name+" efficiency", &m.Efficiency, 0.2, 0.9)
		f.add(name+" kernels", &m.Kernels, bounds[0], bounds[1])
		f.add(name+" host_ms", &m.HostMS, 0.05, 150)
		f.add(name+" overlap", &m.Overlap, 1, 4)
	}
	for _, r := range rows {
		out := r.GPUType == *calibrateOut || *calibrateOut == "batches" && bits.Len(uint(r.Batch))%2 == 0
		switch {
		case r.StepsPerSecond == 0:
		case out:
			f.held = append(f.held, r)
		default:
			f.rows = append(f.rows, r)
		}
	}
	return f
}

// forget moves all figures that the rows can tell to where nothing is known of
// them, so that what is left out is not remembered.
func (f *fit) forget() {
	for _, x := range f.figures {
		if !strings.HasPrefix(x.name, *calibrateOut+" ") {
			*x.x = math.Sqrt(x.low * x.high)
		}
	}
}

func (f *fit) add(name string, x *float64, low, high float64) {
	f.figures = append(f.figures, figure{name, x, low, high})
}

// ratio returns predicted / measured.
func (f *fit) ratio(r *Measurement) float64 {
	q := &query{m: f.models[r.Model], g: f.gpus[r.GPUType], gpus: r.GPUs, nodes: r.Nodes, global: r.Batch * r.GPUs}
	p := plain(r)
	return float64(r.GPUs) / q.iteration(&p) / r.StepsPerSecond
}

// loss is the mean of min(1, |ln ratio|): rows that went wrong do not pull.
func (f *fit) loss() float64 {
	sum := 0.0
	for i := range f.rows {
		sum += min(1, math.Abs(math.Log(f.ratio(&f.rows[i]))))
	}
	return sum / float64(len(f.rows))
}

// search moves one or two figures at a time, in ever smaller steps, and keeps
// what lowers the loss, which it returns.
func (f *fit) search(steps int) float64 {
	r := rng.New(1, "calibrate")
	best := f.loss()
	for i := range steps {
		step := 0.3 * math.Exp(-2.5*float64(i)/float64(steps))
		a, b := f.figures[r.IntN(len(f.figures))], f.figures[r.IntN(len(f.figures))]
		beforeA, beforeB := *a.x, *b.x
		*a.x = min(a.high, max(a.low, *a.x*math.Exp(step*r.NormFloat64())))
		if i%2 == 0 {
			*b.x = min(b.high, max(b.low, *b.x*math.Exp(step*r.NormFloat64())))
		}
		if loss := f.loss(); loss < best {
			best = loss
		} else {
			*b.x, *a.x = beforeB, beforeA
		}
	}
	return best
}

// The figures marked [fit] in the catalogue are where a search for better ones
// gains next to nothing.
func TestCatalogueIsCalibrated(t *testing.T) {
	f := newFit(gavelRows(readTable(t), "gavel-phys"))
	if len(f.held) > 0 {
		f.forget()
	}
	before := f.loss()
	after := f.search(*calibrateSteps)
	t.Logf("loss over %d rows: %.4f at the start, %.4f after %d steps", len(f.rows), before, after, *calibrateSteps)
	if *calibrateSteps > 1000 || *calibrateOut != "" {
		for _, x := range f.figures {
			t.Logf("%-28s %.4g", x.name, *x.x)
		}
	}
	if len(f.held) > 0 {
		var errs []float64
		for i := range f.held {
			errs = append(errs, math.Abs(f.ratio(&f.held[i])-1))
		}
		t.Logf("%d rows left out: median error %.1f %%, p90 %.1f %%", len(errs), 100*quantile(errs, 0.5), 100*quantile(errs, 0.9))
		return
	}
	if *calibrateSteps <= 1000 && after < 0.93*before {
		t.Errorf("the loss fell from %v to %v: fit the catalogue anew with -calibrate=40000", before, after)
	}
}
