package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Loaded is a scenario whose trace was read. It is immutable and safe for
// concurrent use.
type Loaded struct {
	Scenario    Scenario // resolved: no field is left at "default"
	Catalogue   *Catalogue
	Cluster     env.Cluster
	Performance *perf.Performance
	By          func(id int64) string // what a job has in the column of Options.By; nil without
	Report      datasets.Report       // what became of the rows of the trace
	Offered     datasets.Load         // by the trace as recorded, before arrivals were stretched
	TraceHash   string                // of the rows of the trace
	parts       [3]*datasets.Windows
	sets        map[Strategies]sim.Candidates
	switched    switched
}

// Options are what a scenario does not say. The zero value is the default.
type Options struct {
	// Performance is the model of throughputs. Without a Catalogue it has that of the
	// scenario.
	Performance perf.Config
	// Strategies are the sets that SimOf is to offer. Jobs that cannot run in one
	// of them are dropped for all.
	Strategies []Strategies
	// By is a column of the trace that results are to be split by, see datasets.Jobs.By.
	By string
}

// Load fills in the defaults of s, reads its trace, gives every job a model and
// its work, and cuts the trace into its parts.
func Load(s Scenario) (*Loaded, error) { return LoadWith(s, Options{}) }

// LoadWith is Load with options.
func LoadWith(s Scenario, o Options) (*Loaded, error) {
	s.FillDefaults()
	if err := s.validate(); err != nil {
		return nil, err
	}
	if len(s.Switches.Shares) > 0 {
		o.Performance.Shares = s.Switches.Shares
	}
	catalogue, err := ReadCatalogue(s.Catalogue)
	if err != nil {
		return nil, err
	}
	if o.Performance.Catalogue == nil {
		o.Performance.Catalogue = catalogue.Catalogue
	}
	performance, err := perf.New(o.Performance)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Scenario: s, Catalogue: catalogue, Performance: performance, sets: make(map[Strategies]sim.Candidates)}
	if l.Cluster, err = catalogue.ParseCluster(s.Cluster, s.GPUsPerNode); err != nil {
		return nil, err
	}
	if err := l.readSwitches(); err != nil {
		return nil, err
	}
	runnable := common{Performance: performance}
	for _, x := range o.Strategies {
		set, err := x.candidates(o.Performance)
		if err != nil {
			return nil, err
		}
		l.sets[x] = set
		runnable.sets = append(runnable.sets, set)
	}
	table, err := datasets.Read(s.Trace)
	if err != nil {
		return nil, err
	}
	l.TraceHash = table.Hash()
	if o.By != "" {
		if l.By, err = table.By(o.By); err != nil {
			return nil, err
		}
	}
	models, err := Models(catalogue.Catalogue)
	if err != nil {
		return nil, err
	}
	if len(s.Models) > 0 {
		if models, err = Choices(catalogue.Catalogue, s.Models); err != nil {
			return nil, fmt.Errorf("scenario: models: %w", err)
		}
		if table, err = withoutModels(table, performance, &l.Cluster); err != nil {
			return nil, err
		}
	}
	jobs, report, err := datasets.Resolve(table, runnable, datasets.ResolveConfig{Cluster: l.Cluster, Models: models, Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	l.Report = report
	if o := s.Switches.Objective; (o == sim.Tardiness || o == sim.Misses) && !slices.ContainsFunc(jobs, func(j env.Job) bool { return j.Deadline != 0 }) {
		return nil, fmt.Errorf("scenario: objective is %v, but no job of %s has a deadline: take another trace or objective", o, s.Trace)
	}
	return l, l.cut(jobs)
}

// withoutModels returns the table without what it says of models: a row keeps how
// long it ran and on how many GPUs.
func withoutModels(table *datasets.Jobs, p *perf.Performance, c *env.Cluster) (*datasets.Jobs, error) {
	out := *table
	out.Rows = slices.Clone(table.Rows)
	for i := range out.Rows {
		r := &out.Rows[i]
		if r.Duration == 0 && r.Steps > 0 {
			speed, err := p.Throughput(r.Model, int(r.Batch), cmp.Or(r.ReferenceGPU, c.Types[0].Name), int(r.GPUs), 1)
			if err != nil {
				return nil, fmt.Errorf("scenario: models: job %d has steps but no duration: %w", r.ID, err)
			}
			r.Duration = time.Duration(r.Steps / speed * float64(time.Second))
		}
		r.Model, r.Batch, r.Steps, r.ReferenceGPU = "", 0, 0, ""
	}
	return &out, nil
}

// cut divides jobs by time of submission. Arrivals of all parts are stretched
// by one factor, which the training part alone determines: the parts that are
// held out must not shape the setting they are tested in.
func (l *Loaded) cut(jobs []env.Job) error {
	s := &l.Scenario
	begin, done := 0, 0.0
	var factor float64
	for p := Train; p <= Test; p++ {
		done += s.Split[p]
		end := int(done*float64(len(jobs)) + 0.5)
		part := jobs[begin:end]
		if len(part) > 0 {
			l.switched.begins[p] = part[0].Submit
		}
		if len(part) < s.Jobs {
			return fmt.Errorf("scenario: the %v part of %s has %d jobs, want at least the %d of one episode: use a longer trace, fewer jobs per episode or another split", p, s.Trace, len(part), s.Jobs)
		}
		load := s.Load
		if p == Train && part[0].Submit == part[len(part)-1].Submit {
			load = 0 // all arrive at once: there is nothing to stretch
		}
		if p != Train {
			// NewWindows derives its factor from the load it is asked for; asking for
			// this part's own load over the training part's factor gives that factor.
			own, err := datasets.MeasureLoad(part, &l.Cluster, l.Performance)
			if err != nil {
				return err
			}
			load = own.Offered / factor
		}
		w, err := datasets.NewWindows(part, s.Jobs, load, l.Cluster, l.Performance)
		if err != nil {
			return fmt.Errorf("scenario: %v part of %s: %w", p, s.Trace, err)
		}
		if p == Train {
			factor, l.Offered = w.Factor(), w.Load()
		}
		l.parts[p] = w
		begin = end
	}
	return nil
}

// Seeds returns the seeds of the first n episodes of a held-out part: evenly
// spaced windows that share no job. It returns an error if the part is too
// short for as many.
func (l *Loaded) Seeds(p Part, n int) ([]uint64, error) {
	if most := l.parts[p].Disjoint(); n < 1 || n > most {
		return nil, fmt.Errorf("scenario: %d episodes of %d jobs from the %v part, want 1 to %d: use a longer trace or fewer jobs per episode", n, l.Scenario.Jobs, p, most)
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds, nil
}

// Sim returns the simulator of a part. Seeds of the training part draw windows
// that may overlap; those of the other parts are the numbers of windows that
// share no job, as many as fit.
func (l *Loaded) Sim(p Part) sim.Config {
	s, w := &l.Scenario, l.parts[p]
	workload := w.Jobs
	if p != Train {
		workload = func(seed uint64) ([]env.Job, error) {
			most := w.Disjoint()
			if seed >= uint64(most) {
				return nil, fmt.Errorf("scenario: the %v part has no episode %d, only 0 to %d", p, seed, most-1)
			}
			// Windows in an order that spreads any first few over the whole part.
			return w.Window(spread(int(seed), most), most)
		}
	}
	cfg := sim.Config{
		Cluster:       l.Cluster,
		Workload:      workload,
		Candidates:    l.Performance,
		Round:         s.Round,
		Knowledge:     s.Knowledge,
		EstimateSigma: s.EstimateSigma,
	}
	l.apply(&cfg, p)
	return cfg
}

// spread maps 0 to n-1 onto itself so that consecutive numbers land far apart:
// multiples of the golden section of n that shares no divisor with it.
func spread(i, n int) int {
	const golden = 0.6180339887498949
	step := max(1, int(golden*float64(n)))
	for gcd(step, n) != 1 {
		step++
	}
	return i * step % n
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
