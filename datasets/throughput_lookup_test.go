package datasets

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// dataParallel returns a row of LM with batch 20 on V100s of one node.
func dataParallel(gpus int32, rate float64) ThroughputRow {
	return ThroughputRow{
		Source: "s", Model: "LM", GPUType: "V100", GPUs: gpus, Nodes: 1, Batch: 20, GlobalBatch: 20 * int64(gpus),
		Plan:           env.Plan{Data: int(gpus), Tensor: 1, Pipeline: 1, MicroBatch: 20},
		StepsPerSecond: rate, OutOfMemory: rate == 0, Quality: Measured,
	}
}

func edited(r ThroughputRow, edit func(*ThroughputRow)) ThroughputRow {
	edit(&r)
	return r
}

func lookUp(t *testing.T, rows []ThroughputRow, q SpeedQuery) (Speed, error) {
	t.Helper()
	table := &ThroughputTable{Rows: rows}
	if err := table.Validate(); err != nil {
		t.Fatal(err)
	}
	q.Model, q.GPUType = "LM", "V100"
	if q.Batch == 0 {
		q.Batch = 20
	}
	return table.Speeds().Lookup(q)
}

func TestLookup(t *testing.T) {
	curve := []ThroughputRow{dataParallel(8, 400), dataParallel(2, 100), dataParallel(32, 800)} // in any order
	tensor := func(gpus int32, rate float64) ThroughputRow {
		return edited(dataParallel(gpus, rate), func(r *ThroughputRow) {
			r.Plan = env.Plan{Data: int(gpus) / 2, Tensor: 2, Pipeline: 1, MicroBatch: 40}
		})
	}
	spread := func(gpus, nodes int32, rate float64) ThroughputRow {
		return edited(dataParallel(gpus, rate), func(r *ThroughputRow) { r.Nodes = nodes })
	}
	tests := []struct {
		name string
		rows []ThroughputRow
		q    SpeedQuery
		want Speed
	}{
		{"a row", curve, SpeedQuery{GPUs: 8}, Speed{400, 8, 8}},
		{"between, on the line of perfect scaling", curve, SpeedQuery{GPUs: 4}, Speed{200, 2, 8}},
		{"between, where twice as many gain by the root of two", curve, SpeedQuery{GPUs: 16}, Speed{400 * math.Sqrt2, 8, 32}},
		{"below: as much for each GPU", curve, SpeedQuery{GPUs: 1}, Speed{50, 2, 2}},
		{"above: no more", curve, SpeedQuery{GPUs: 64}, Speed{800, 32, 32}},
		{"the mean of two rows", append(curve, dataParallel(8, 600)), SpeedQuery{GPUs: 8}, Speed{500, 8, 8}},
		{"out of memory beside a row that ran", append(curve, dataParallel(8, 0)), SpeedQuery{GPUs: 8}, Speed{400, 8, 8}},
		{"modelled beside measured", append(curve, edited(dataParallel(8, 9), func(r *ThroughputRow) { r.Quality = Modelled })), SpeedQuery{GPUs: 8}, Speed{400, 8, 8}},
		{"modelled alone", append(curve, edited(dataParallel(4, 9), func(r *ThroughputRow) { r.Quality = Modelled })), SpeedQuery{GPUs: 4}, Speed{9, 4, 4}},
		{"another batch", append(curve, edited(dataParallel(8, 9), func(r *ThroughputRow) { r.Batch, r.GlobalBatch = 10, 80 })), SpeedQuery{GPUs: 8, Batch: 10}, Speed{9, 8, 8}},
		{"the fastest plan", append(curve, tensor(8, 450), tensor(2, 90)), SpeedQuery{GPUs: 8}, Speed{450, 8, 8}},
		{"between fastest plans", append(curve, tensor(8, 450), tensor(2, 90)), SpeedQuery{GPUs: 4}, Speed{math.Sqrt(100 * 450), 2, 8}},
		{"a slower plan, asked for", append(curve, tensor(8, 450), tensor(2, 90)), SpeedQuery{GPUs: 2, Plan: env.Plan{Data: 9, Tensor: 2, Pipeline: 1}}, Speed{90, 2, 2}},
		{"its micro-batch, too", append(curve, tensor(8, 450)), SpeedQuery{GPUs: 8, Plan: env.Plan{Tensor: 1, Pipeline: 1, MicroBatch: 20}}, Speed{400, 8, 8}},
		{"offloaded rows are left out", append(curve, edited(dataParallel(8, 999), func(r *ThroughputRow) { r.Offload = true })), SpeedQuery{GPUs: 8}, Speed{400, 8, 8}},
		{"the tightest placement", append(curve, spread(8, 2, 500), spread(16, 4, 300), spread(16, 2, 450)), SpeedQuery{GPUs: 16}, Speed{450, 16, 16}},
		{"a looser one, asked for", append(curve, spread(8, 2, 500)), SpeedQuery{GPUs: 8, Nodes: 2}, Speed{500, 8, 8}},
		{"above a row, before one that ran out of memory", []ThroughputRow{dataParallel(2, 100), dataParallel(8, 0)}, SpeedQuery{GPUs: 4}, Speed{100, 2, 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := lookUp(t, test.rows, test.q)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.StepsPerSecond-test.want.StepsPerSecond) > 1e-9*test.want.StepsPerSecond || got.Low != test.want.Low || got.High != test.want.High {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestLookupSaysWhyThereIsNoAnswer(t *testing.T) {
	rows := []ThroughputRow{dataParallel(2, 0), dataParallel(8, 400)}
	tests := []struct {
		name string
		q    SpeedQuery
		want error
		text string
	}{
		{"out of memory", SpeedQuery{GPUs: 2}, ErrOutOfMemory, "2 × V100"},
		{"below out of memory", SpeedQuery{GPUs: 1}, ErrOutOfMemory, "1 × V100"},
		{"above out of memory", SpeedQuery{GPUs: 4}, ErrOutOfMemory, "4 × V100"},
		{"another batch", SpeedQuery{GPUs: 2, Batch: 10}, ErrNotMeasured, "batches that are: [20]"},
		{"another plan", SpeedQuery{GPUs: 2, Plan: env.Plan{Data: 1, Tensor: 2, Pipeline: 1}}, ErrNotMeasured, "plan"},
		{"more nodes", SpeedQuery{GPUs: 8, Nodes: 4}, ErrNotMeasured, "4 nodes"},
		{"no GPUs", SpeedQuery{}, nil, "at least 1"},
		{"more nodes than GPUs", SpeedQuery{GPUs: 1, Nodes: 2}, nil, "no more nodes"},
		{"a negative batch", SpeedQuery{GPUs: 1, Batch: -1}, nil, "batch -1"},
	}
	for _, test := range tests {
		_, err := lookUp(t, rows, test.q)
		if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v, want %v with %q", test.name, err, test.want, test.text)
		}
	}
	table := &ThroughputTable{Rows: rows}
	if _, err := table.Speeds().Lookup(SpeedQuery{Model: "LM", GPUType: "K80", Batch: 20, GPUs: 1}); !errors.Is(err, ErrNotMeasured) || !strings.Contains(err.Error(), "no batch") {
		t.Errorf("got %v of another GPU type", err)
	}
}

// Where the rows rise with GPUs so does the answer, between and beyond them;
// it is never beyond its neighbours, and the order of the rows does not matter.
func TestLookupIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfNDistinct(rapid.Int32Range(1, 64), 1, 6, rapid.ID).Draw(t, "gpus")
		steps := rapid.SliceOfN(rapid.Float64Range(0, 3), 64, 64).Draw(t, "steps")
		rate := func(gpus int32) float64 { // rises with gpus
			x := 1.0
			for _, s := range steps[:gpus] {
				x += s
			}
			return x
		}
		table := &ThroughputTable{}
		for _, gpus := range counts {
			table.Rows = append(table.Rows, dataParallel(gpus, rate(gpus)))
		}
		k := rapid.Float64Range(0.1, 10).Draw(t, "k")
		scaled := &ThroughputTable{}
		for _, r := range rapid.Permutation(table.Rows).Draw(t, "shuffled") {
			r.StepsPerSecond *= k
			scaled.Rows = append(scaled.Rows, r)
		}
		speeds, others := table.Speeds(), scaled.Speeds()
		before := 0.0
		for gpus := 1; gpus <= 70; gpus++ {
			q := SpeedQuery{Model: "LM", GPUType: "V100", Batch: 20, GPUs: gpus}
			got, err := speeds.Lookup(q)
			if err != nil {
				t.Fatal(err)
			}
			if got.StepsPerSecond < before*(1-1e-12) {
				t.Fatalf("%d GPUs: %v steps/s, one less has %v", gpus, got.StepsPerSecond, before)
			}
			before = got.StepsPerSecond
			low, high := rate(int32(got.Low)), rate(int32(got.High))
			if got.Low <= gpus && (got.StepsPerSecond < low || got.StepsPerSecond > high) {
				t.Fatalf("%d GPUs: %v steps/s, want %v to %v", gpus, got.StepsPerSecond, low, high)
			}
			if other, err := others.Lookup(q); err != nil || math.Abs(other.StepsPerSecond-k*got.StepsPerSecond) > 1e-9*other.StepsPerSecond {
				t.Fatalf("%d GPUs: %v steps/s of rows %v times as fast, %v, want %v", gpus, other, k, err, k*got.StepsPerSecond)
			}
		}
	})
}

func TestMeasurements(t *testing.T) {
	edit := func(f func(*ThroughputRow)) ThroughputRow { return edited(dataParallel(4, 10), f) }
	table := &ThroughputTable{Rows: []ThroughputRow{
		dataParallel(4, 10),
		dataParallel(8, 0),
		edit(func(r *ThroughputRow) { r.Plan.MicroBatch = 0 }), // as it is: env/perf chooses
		edit(func(r *ThroughputRow) { r.Plan = env.Plan{} }),   // not known: the zero plan
		edit(func(r *ThroughputRow) { r.Plan = env.Plan{Data: 2, Tensor: 2, Pipeline: 1, MicroBatch: 5} }),
		edit(func(r *ThroughputRow) { r.Plan = env.Plan{Data: 2, Pipeline: 2, Tensor: 1} }),
		edit(func(r *ThroughputRow) { // Rubick's pipelines run one micro-batch
			r.Source, r.Plan = "rubick", env.Plan{Data: 2, Pipeline: 2, Tensor: 1}
		}),
		edit(func(r *ThroughputRow) { r.Offload = true }),
		edit(func(r *ThroughputRow) { r.Batch = 0 }), // not whole
		edit(func(r *ThroughputRow) { r.Nodes, r.Placement = 2, "1+3" }),
		edit(func(r *ThroughputRow) { r.Nodes, r.Placement = 2, "2+2" }),
		edit(func(r *ThroughputRow) { r.Source, r.Model = "morphling", "llama30" }),
		edit(func(r *ThroughputRow) { r.GPUType = "GH-96" }),
		edit(func(r *ThroughputRow) { r.Quality = Modelled }),
		edit(func(r *ThroughputRow) { r.Model = "llama30" }), // of another source: what is it?
		edit(func(r *ThroughputRow) { r.GPUType = "V9000" }),
		edit(func(r *ThroughputRow) { r.Batch, r.GlobalBatch = 0, 0 }),
	}}
	got, report := table.Measurements(MeasurementConfig{})
	m := perf.Measurement{
		Model: "LM", Batch: 20, GPUType: "V100", GPUs: 4, Nodes: 1, StepsPerSecond: 10, Source: "s",
		Plan: env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 20},
	}
	as := func(f func(*perf.Measurement)) perf.Measurement { c := m; f(&c); return c }
	want := []perf.Measurement{
		m,
		as(func(m *perf.Measurement) { m.GPUs, m.StepsPerSecond, m.Plan.Data = 8, 0, 8 }),
		as(func(m *perf.Measurement) { m.Plan.MicroBatch = 0 }),
		as(func(m *perf.Measurement) { m.Plan = env.Plan{} }),
		as(func(m *perf.Measurement) { m.Plan = env.Plan{Data: 2, Tensor: 2, Pipeline: 1, MicroBatch: 5} }),
		as(func(m *perf.Measurement) { m.Plan = env.Plan{Data: 2, Pipeline: 2, Tensor: 1} }),
		as(func(m *perf.Measurement) {
			m.Source, m.Plan = "rubick", env.Plan{Data: 2, Pipeline: 2, Tensor: 1, MicroBatch: 40}
		}),
		as(func(m *perf.Measurement) { m.Plan.Offload = true }),
		as(func(m *perf.Measurement) { m.Batch, m.GlobalBatch = 0, 80 }),
		as(func(m *perf.Measurement) { m.Nodes, m.Fewest = 2, 1 }),
		as(func(m *perf.Measurement) { m.Nodes = 2 }),
		as(func(m *perf.Measurement) { m.Source, m.Model = "morphling", "LLaMA-30B" }),
		as(func(m *perf.Measurement) { m.GPUType = "GH200" }),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantReport := Report{Read: 17, Kept: 13, Dropped: []Count{
		{dropUnknownGPU, 1}, {dropNoBatch, 1}, {dropUnknown, 1}, {dropModelled, 1},
	}}
	if diff := cmp.Diff(wantReport, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if _, err := perf.New(perf.Config{Measured: got}); err != nil {
		t.Errorf("env/perf refuses them: %v", err)
	}
	if all, report := table.Measurements(MeasurementConfig{Modelled: true}); report.Kept != 14 || !all[13].Modelled {
		t.Errorf("with modelled rows: kept %d, want 14, the last one modelled", report.Kept)
	}
	if _, report := table.Measurements(MeasurementConfig{Sources: []string{"t"}}); report.Kept != 0 || report.Dropped[0] != (Count{dropOtherSource, 17}) {
		t.Errorf("of another source: %v", report)
	}
}

// Whatever a valid table gives, env/perf takes.
func TestMeasurementsOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := throughputTables(10).Draw(t, "table")
		for i := range table.Rows {
			table.Rows[i].Model, table.Rows[i].GPUType = "LM", "V100"
		}
		measured, report := table.Measurements(MeasurementConfig{Modelled: true})
		if sum := report.Kept + len(report.Dropped); report.Kept != len(measured) || sum > report.Read {
			t.Fatalf("report %v for %d measurements", report, len(measured))
		}
		if _, err := perf.New(perf.Config{Measured: measured}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOnlyKeepsTheRowsOfSources(t *testing.T) {
	table := throughputs()
	got := table.Only("b")
	if len(got.Rows) != 2 || got.Rows[0].Source != "b" || len(got.Meta.Filters) != 2 || len(table.Meta.Filters) != 1 {
		t.Errorf("got %d rows, filters %v", len(got.Rows), got.Meta.Filters)
	}
}
