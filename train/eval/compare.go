package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Contestant plays episodes in its own way. Play is called from several
// goroutines at once, never twice with the same seed.
type Contestant struct {
	Name string
	Play func(ctx context.Context, seed uint64) (Episode, error)
}

// Config says what is compared.
type Config struct {
	Contestants []Contestant
	Seeds       []uint64 // one episode each; every contestant plays all
	Reference   string   // the contestant that others are compared with; "" is none
	Objective   string   // what rewards count, where the table is to show it; "" is not
	// By names what jobs are split by, and Of gives the name that each has; "" is nothing.
	By       string
	Of       func(id int64) string
	Progress func(done, total int)
}

// Row holds what one contestant reached, over the seeds. Times are in seconds
// unless the name says otherwise.
type Row struct {
	Policy      string   `json:"policy"`
	MeanJCT     Interval `json:"mean_jct_s"`
	MedianJCT   Interval `json:"median_jct_s"`
	P99JCT      Interval `json:"p99_jct_s"`
	Delay       Interval `json:"mean_delay_s"`
	Makespan    Interval `json:"makespan_s"`
	MeanRho     Interval `json:"mean_rho"`
	MaxRho      Interval `json:"max_rho"`
	Utilization Interval `json:"utilization"`
	Restarts    Interval `json:"restarts"`
	// Cost is what the objective of the table counts for each job, less being
	// better: in hours of weight, or in weight for deadlines missed. nil without.
	Cost *Interval `json:"cost,omitempty"`
	// DecisionMicros is the mean wall time of a decision in microseconds: the
	// only figure here that differs from run to run.
	DecisionMicros float64 `json:"decision_us"`
	// Versus compares with the reference: nil for the reference itself.
	Versus *Paired `json:"versus,omitempty"`

	Summaries []metrics.Summary `json:"summaries"` // [len(Seeds)]
	Groups    []Group           `json:"groups,omitempty"`
}

// Group holds what one contestant reached for the jobs of one name, over the seeds whose
// episodes have some. Times are in seconds.
type Group struct {
	Name     string   `json:"name"`
	Seeds    int      `json:"seeds"`     // that have some
	Jobs     int      `json:"jobs"`      // of all seeds
	GPUHours float64  `json:"gpu_hours"` // held, of all seeds
	MeanJCT  Interval `json:"mean_jct_s"`
	P99JCT   Interval `json:"p99_jct_s"`
	Delay    Interval `json:"mean_delay_s"`
}

// Paired compares mean JCT with the reference, seed by seed.
type Paired struct {
	// Difference is the reference's mean JCT minus this row's, in seconds:
	// below zero the reference is better.
	Difference Interval `json:"difference_s"`
	// Ratio is the mean over seeds of the reference's over this row's.
	Ratio Interval `json:"ratio"`
	// Wins counts the seeds on which the reference is better.
	Wins int `json:"wins"`
}

// Table is the result of Compare.
type Table struct {
	Reference string   `json:"reference,omitempty"`
	Objective string   `json:"objective,omitempty"`
	By        string   `json:"by,omitempty"` // what Groups are
	Seeds     []uint64 `json:"seeds"`
	Rows      []Row    `json:"rows"`
}

// Compare plays every seed with every contestant, on all cores. The table does
// not depend on their number, but for DecisionMicros.
func Compare(ctx context.Context, cfg Config) (*Table, error) {
	episodes, err := PlayAll(ctx, cfg)
	if err != nil {
		return nil, err
	}
	t := &Table{Reference: cfg.Reference, Objective: cfg.Objective, By: cfg.By, Seeds: cfg.Seeds}
	for i := range cfg.Contestants {
		row, err := newRow(cfg.Contestants[i].Name, episodes[i])
		if err != nil {
			return nil, err
		}
		if cfg.Objective != "" {
			row.Cost = costOf(&row, episodes[i])
		}
		if cfg.By != "" {
			row.Groups = groupsOf(row.Policy, episodes[i], cfg.Of)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, t.pair()
}

// PlayAll plays every seed with every contestant, on all cores, and returns the
// episodes, shape [contestants][seeds].
func PlayAll(ctx context.Context, cfg Config) ([][]Episode, error) {
	if len(cfg.Seeds) == 0 {
		return nil, errors.New("eval: no seeds")
	}
	n := len(cfg.Seeds)
	episodes := make([][]Episode, len(cfg.Contestants))
	for i := range episodes {
		episodes[i] = make([]Episode, n)
	}
	err := parallel(ctx, len(episodes)*n, cfg.Progress, func(ctx context.Context, i int) error {
		c := &cfg.Contestants[i/n]
		e, err := c.Play(ctx, cfg.Seeds[i%n])
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		episodes[i/n][i%n] = e
		return nil
	})
	if err != nil {
		return nil, err
	}
	return episodes, nil
}

// parallel calls do for 0 to n-1 from as many goroutines as there are cores and
// returns after the last; the first error stops it.
func parallel(ctx context.Context, n int, progress func(done, total int), do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	var next, done atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex // progress is called by one goroutine at a time
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if errs[i] = do(ctx, i); errs[i] != nil {
					cancel()
					return
				}
				finished := int(done.Add(1))
				if progress != nil {
					mu.Lock()
					progress(finished, n)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs { // the real fault first, not the cancellation it caused
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errors.Join(errs...), context.Cause(ctx))
}

// costOf returns what the rewards of row's episodes took for each job.
func costOf(row *Row, episodes []Episode) *Interval {
	costs := make([]float64, len(episodes))
	for i := range episodes {
		costs[i] = 0 - episodes[i].Reward/float64(row.Summaries[i].Jobs)
	}
	cost := Bootstrap(costs, rng.New(0, "eval/"+row.Policy+"/cost"))
	return &cost
}

func newRow(name string, episodes []Episode) (Row, error) {
	row := Row{Policy: name}
	var decisions int64
	var spent time.Duration
	for i := range episodes {
		s, err := episodes[i].Schedule.Summarize()
		if err != nil {
			return Row{}, fmt.Errorf("eval: %s: %w", name, err)
		}
		row.Summaries = append(row.Summaries, s)
		decisions += episodes[i].Decisions
		spent += episodes[i].DecisionTime
	}
	over := func(figure string, value func(*metrics.Summary) float64) Interval {
		values := make([]float64, len(row.Summaries))
		for i := range row.Summaries {
			values[i] = value(&row.Summaries[i])
		}
		return Bootstrap(values, rng.New(0, "eval/"+name+"/"+figure))
	}
	row.MeanJCT = over("mean JCT", func(s *metrics.Summary) float64 { return s.MeanJCT })
	row.MedianJCT = over("median JCT", func(s *metrics.Summary) float64 { return s.MedianJCT })
	row.P99JCT = over("p99 JCT", func(s *metrics.Summary) float64 { return s.P99JCT })
	row.Delay = over("delay", func(s *metrics.Summary) float64 { return s.MeanDelay })
	row.Makespan = over("makespan", func(s *metrics.Summary) float64 { return s.Makespan })
	row.MeanRho = over("mean rho", func(s *metrics.Summary) float64 { return s.MeanRho })
	row.MaxRho = over("max rho", func(s *metrics.Summary) float64 { return s.MaxRho })
	row.Utilization = over("utilization", func(s *metrics.Summary) float64 { return s.Utilization })
	row.Restarts = over("restarts", func(s *metrics.Summary) float64 { return float64(s.Restarts) })
	row.DecisionMicros = float64(spent.Microseconds()) / float64(max(1, decisions))
	return row, nil
}

// pair fills Versus of every row but the reference's.
func (t *Table) pair() error {
	if t.Reference == "" {
		return nil
	}
	reference := t.Row(t.Reference)
	if reference == nil {
		return fmt.Errorf("eval: reference %q is not among the contestants", t.Reference)
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if row == reference {
			continue
		}
		p := &Paired{}
		differences := make([]float64, len(t.Seeds))
		ratios := make([]float64, len(t.Seeds))
		for k := range t.Seeds {
			ours, theirs := reference.Summaries[k].MeanJCT, row.Summaries[k].MeanJCT
			differences[k], ratios[k] = ours-theirs, ours/theirs
			if ours < theirs {
				p.Wins++
			}
		}
		p.Difference = Bootstrap(differences, rng.New(0, "eval/difference/"+row.Policy))
		p.Ratio = Bootstrap(ratios, rng.New(0, "eval/ratio/"+row.Policy))
		row.Versus = p
	}
	return nil
}

// Row returns the row of the contestant with this name, or nil.
func (t *Table) Row(name string) *Row {
	for i := range t.Rows {
		if t.Rows[i].Policy == name {
			return &t.Rows[i]
		}
	}
	return nil
}
