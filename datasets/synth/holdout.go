package synth

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// HoldoutConfig says how a model is judged: fitted to a window, it generates as
// long a table as was held out, once for each seed, and each is compared with
// what came.
type HoldoutConfig struct {
	Model ModelConfig // its window is Fit
	// Window is what is held out. Default end: one mean gap after the last job.
	From, To time.Duration
	// Naive is the part of the table that is compared with the window as it is:
	// the baseline. Default: as long as the window, right before it.
	NaiveFrom, NaiveTo time.Duration
	// Seeds is the number of tables generated, with seeds 1, 2, …. Default 20.
	Seeds int
	// Step, where it is not nil, is called after each seed; its error ends the comparison.
	Step func() error
}

// Holdout is how a model did on a window that it had not seen.
type Holdout struct {
	Window   Burstiness `json:"held_out"`
	Naive    Comparison `json:"naive"` // A is the baseline, B the window
	Seeds    int        `json:"seeds"`
	Measures []Measure  `json:"measures"`
}

// Measure is one figure of a comparison: of the held-out window, of the naive
// baseline and of what was generated, over seeds. For a distance Window is 0, and
// the least is the best.
type Measure struct {
	Name      string  `json:"name"`
	Distance  bool    `json:"distance"`
	Window    float64 `json:"held_out"`
	Naive     float64 `json:"naive"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // of single seeds
	Low       float64 `json:"low"`       // 5th percentile of the seeds
	High      float64 `json:"high"`      // 95th
	Better    int     `json:"better"`    // seeds that are closer to the window than the baseline
}

const defaultSeeds = 20

// figures are the measures of a comparison.
var figures = []struct {
	name     string
	distance bool
	of       func(*Comparison) (a, b float64)
}{
	{"KS inter-arrival", true, func(c *Comparison) (float64, float64) { return c.InterArrival, 0 }},
	{"KS duration", true, func(c *Comparison) (float64, float64) { return c.Duration, 0 }},
	{"KS size", true, func(c *Comparison) (float64, float64) { return c.Size, 0 }},
	{"TV hour of day", true, func(c *Comparison) (float64, float64) { return c.HourOfDay, 0 }},
	{"TV tenants", true, func(c *Comparison) (float64, float64) { return c.Tenants, 0 }},
	{"jobs per hour", false, func(c *Comparison) (float64, float64) { return c.A.PerHour, c.B.PerHour }},
	{"hourly dispersion", false, func(c *Comparison) (float64, float64) { return c.A.Dispersion, c.B.Dispersion }},
	{"inter-arrival CV", false, func(c *Comparison) (float64, float64) { return c.A.CV, c.B.CV }},
	{"hourly autocorr.", false, func(c *Comparison) (float64, float64) { return c.A.Persistence, c.B.Persistence }},
	{"inter-arrival autocorr.", false, func(c *Comparison) (float64, float64) { return c.A.GapMemory, c.B.GapMemory }},
	{"duration autocorr.", false, func(c *Comparison) (float64, float64) { return c.A.Alike, c.B.Alike }},
}

func (c *HoldoutConfig) fillDefaults(table *datasets.Jobs) {
	if c.To == 0 && len(table.Rows) > 0 {
		c.To = table.Rows[len(table.Rows)-1].Submit + 1
	}
	if c.NaiveTo == 0 {
		c.NaiveFrom, c.NaiveTo = max(0, c.From-(c.To-c.From)), c.From
	}
	if c.Seeds == 0 {
		c.Seeds = defaultSeeds
	}
}

func (c *HoldoutConfig) validate() error {
	if c.From < 0 || c.To <= c.From || c.NaiveTo <= c.NaiveFrom || c.NaiveFrom < 0 {
		return fmt.Errorf("synth: hold out %v to %v, compared with %v to %v: want windows that are not empty", c.From, c.To, c.NaiveFrom, c.NaiveTo)
	}
	if c.NaiveTo > c.From || c.Model.To > c.From {
		return fmt.Errorf("synth: hold out from %v: the fit ends at %v and the baseline at %v, want neither after it", c.From, c.Model.To, c.NaiveTo)
	}
	if c.Seeds < 1 || c.Seeds > 10_000 {
		return fmt.Errorf("synth: hold out: %d seeds, want 1 to 10000", c.Seeds)
	}
	return nil
}

// FitHoldout fits a model to what came before a window of a table and says how
// what it generates compares with that window.
func FitHoldout(table *datasets.Jobs, cfg HoldoutConfig) (*Model, Holdout, error) {
	cfg.fillDefaults(table)
	if cfg.Model.To == 0 {
		cfg.Model.To = cfg.From
		if len(table.Rows) > 0 && cfg.Model.From == 0 {
			cfg.Model.From = table.Rows[0].Submit
		}
	}
	if err := cfg.validate(); err != nil {
		return nil, Holdout{}, err
	}
	m, err := FitModel(table, cfg.Model)
	if err != nil {
		return nil, Holdout{}, err
	}
	h, err := m.judge(table, &cfg)
	return m, h, err
}

// Judge compares what a model generates with a window of a table, as [FitHoldout]
// does. Whether the model has seen that window is for the caller to know.
func (m *Model) Judge(table *datasets.Jobs, cfg HoldoutConfig) (Holdout, error) {
	cfg.fillDefaults(table)
	if err := cfg.validate(); err != nil {
		return Holdout{}, err
	}
	return m.judge(table, &cfg)
}

func (m *Model) judge(table *datasets.Jobs, cfg *HoldoutConfig) (Holdout, error) {
	window := Between(table, cfg.From, cfg.To)
	window.Name += " (held out)"
	naive := Between(table, cfg.NaiveFrom, cfg.NaiveTo)
	naive.Name += " (baseline)"
	h := Holdout{Seeds: cfg.Seeds}
	var err error
	if h.Naive, err = Compare(naive, window); err != nil {
		return Holdout{}, err
	}
	h.Window = h.Naive.B
	run := ModelRun{Horizon: cfg.To - cfg.From}
	if !table.Meta.Epoch.IsZero() {
		run.Start = table.Meta.Epoch.Add(cfg.From)
	}
	all := make([]Comparison, cfg.Seeds)
	for i := range all {
		run.Seed = uint64(i) + 1
		made, err := m.Generate(run)
		if err != nil {
			return Holdout{}, err
		}
		if all[i], err = Compare(made, window); err != nil {
			return Holdout{}, err
		}
		if cfg.Step == nil {
			continue
		}
		if err := cfg.Step(); err != nil {
			return Holdout{}, err
		}
	}
	for _, f := range figures {
		h.Measures = append(h.Measures, measure(f.name, f.distance, f.of, &h.Naive, all))
	}
	return h, nil
}

func measure(name string, distance bool, of func(*Comparison) (a, b float64), naive *Comparison, all []Comparison) Measure {
	m := Measure{Name: name, Distance: distance}
	m.Naive, m.Window = of(naive)
	x := make([]float64, len(all))
	for i := range all {
		x[i], _ = of(&all[i])
		if math.Abs(x[i]-m.Window) < math.Abs(m.Naive-m.Window) {
			m.Better++
		}
	}
	mean, variance := moments(x)
	if len(x) > 1 {
		variance *= float64(len(x)) / float64(len(x)-1)
	}
	m.Mean, m.Deviation = mean, math.Sqrt(variance)
	slices.Sort(x)
	m.Low, m.High = percentile(x, 0.05), percentile(x, 0.95)
	return m
}

// percentile interpolates between the order statistics at ranks (n−1)·p.
func percentile(sorted []float64, p float64) float64 {
	rank := p * float64(len(sorted)-1)
	i := min(int(rank), len(sorted)-1)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + (rank-float64(i))*(sorted[next]-sorted[i])
}
