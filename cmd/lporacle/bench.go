package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/yardmaster/yardmaster/agent/lp/oracle"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// bench times our solver beside the others on the same dumped instances, in
// processor time.
type bench struct {
	ctx     context.Context
	solvers []solver
	folder  string
	limit   time.Duration // for another solver's run
	largest int           // jobs; others are asked up to 10,000
}

// timing is one row of the table.
type timing struct {
	name       string
	cold, warm time.Duration // median of several runs
	gap        float64
	pivots     int
	others     []string
}

var benchObjectives = []struct {
	name      string
	objective simplex.Objective
}{{"sum", simplex.Sum}, {"maxmin", simplex.MaxMin}}

// all prints the table.
func (b *bench) all(w, progress io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush() // also of what there is when interrupted
	fmt.Fprint(table, "program\tcold\twarm, 1 % changed\tgap\tpivots")
	for _, s := range b.solvers {
		fmt.Fprintf(table, "\t%s", s.name())
	}
	fmt.Fprintln(table)
	for _, jobs := range []int{1_000, 10_000, 100_000} {
		for _, o := range benchObjectives {
			for _, types := range []int{4, 16} {
				for _, kinds := range []int{0, 5} {
					if jobs > b.largest || kinds > 0 && jobs < 100_000 {
						continue
					}
					s := oracle.Shape{Objective: o.objective, Jobs: jobs, Candidates: 16, Types: types, Kinds: kinds, Seed: 1}
					name := fmt.Sprintf("%s %d × 16, K = %d", o.name, jobs, types)
					if kinds > 0 {
						name += ", near-copies"
					}
					fmt.Fprintln(progress, "lporacle:", name)
					row, err := b.row(name, s)
					if err != nil {
						return err
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%.0e\t%d", row.name, ms(row.cold), ms(row.warm), row.gap, row.pivots)
					for _, text := range row.others {
						fmt.Fprintf(table, "\t%s", text)
					}
					fmt.Fprintln(table)
				}
			}
		}
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3) }

func (b *bench) row(name string, shape oracle.Shape) (timing, error) {
	row := timing{name: name}
	p := oracle.Cluster(shape)
	runs := 7
	if shape.Jobs > 10_000 {
		runs = 1
	}
	var result *simplex.Result
	var err error
	row.cold, err = median(runs, func() (time.Duration, error) {
		start := cpu()
		result, err = simplex.Solve(b.ctx, p, simplex.Options{})
		return cpu() - start, err
	})
	if err != nil {
		return row, err
	}
	row.gap, row.pivots = result.Gap, result.Pivots
	var solver simplex.Solver
	if _, err := solver.Solve(b.ctx, p, simplex.Options{}); err != nil {
		return row, err
	}
	changing, seed := p, uint64(0)
	row.warm, err = median(runs, func() (time.Duration, error) {
		seed++
		changing = oracle.Change(changing, 0.01, seed)
		start := cpu()
		_, err := solver.Solve(b.ctx, changing, simplex.Options{})
		return cpu() - start, err
	})
	if err != nil {
		return row, err
	}
	return row, b.others(&row, p, result)
}

// others asks the other solvers. They get what they are fastest with.
func (b *bench) others(row *timing, p *simplex.Problem, result *simplex.Result) error {
	path := filepath.Join(b.folder, "bench.mps")
	asked := p.Jobs() <= 10_000 && b.limit > 0
	if asked {
		if err := writeModel(oracle.FromProblem(p, result), path); err != nil {
			return err
		}
	}
	for _, s := range b.solvers {
		text := "not asked"
		if asked {
			text = ""
			methods := []string{"simplex"}
			if _, isHighs := s.(*highs); isHighs {
				methods = append(methods, "ipm")
			}
			for _, method := range methods {
				v, err := s.solve(path, method, b.limit)
				if err != nil {
					return err
				}
				if text != "" {
					text += ", "
				}
				if text += method + " "; v.status == "optimal" {
					text += ms(v.time)
				} else {
					text += v.status + " after " + ms(v.time)
				}
			}
		}
		row.others = append(row.others, text)
	}
	return nil
}

// budgets prints what comes out when the search is ended after some processor time.
func (b *bench) budgets(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "program\tended after\tmedian gap\tworst gap\tmedian time\tmedian gap, warm\tworst gap, warm\tinstances")
	for _, o := range benchObjectives {
		for _, types := range []int{4, 16} {
			for _, limit := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond} {
				var gaps, warm []float64
				took, err := median(50, func() (time.Duration, error) {
					p := oracle.Cluster(oracle.Shape{Objective: o.objective, Jobs: 10_000, Candidates: 16, Types: types, Seed: uint64(len(gaps))})
					start := cpu()
					r, err := simplex.Solve(b.ctx, p, simplex.Options{Interrupt: func() bool { return cpu()-start > limit }})
					if err != nil {
						return 0, err
					}
					gaps = append(gaps, r.Gap)
					took := cpu() - start
					gap, err := b.warmGap(p, limit)
					warm = append(warm, gap)
					return took, err
				})
				if err != nil {
					return err
				}
				slices.Sort(gaps)
				slices.Sort(warm)
				fmt.Fprintf(table, "%s 10000 × 16, K = %d\t%v\t%.2f %%\t%.2f %%\t%s\t%.4f %%\t%.2f %%\t%d\n",
					o.name, types, limit, 100*gaps[len(gaps)/2], 100*gaps[len(gaps)-1], ms(took),
					100*warm[len(warm)/2], 100*warm[len(warm)-1], len(gaps))
			}
		}
	}
	return table.Flush()
}

// warmGap returns the gap after the same time where the last problem is known and
// 1 % of the jobs changed since.
func (b *bench) warmGap(p *simplex.Problem, limit time.Duration) (float64, error) {
	var solver simplex.Solver
	if _, err := solver.Solve(b.ctx, p, simplex.Options{}); err != nil {
		return 0, err
	}
	start := cpu()
	r, err := solver.Solve(b.ctx, oracle.Change(p, 0.01, 1), simplex.Options{Interrupt: func() bool { return cpu()-start > limit }})
	if err != nil {
		return 0, err
	}
	return r.Gap, nil
}

// cpu returns the processor time that this process has used, the collector's
// included: on a shared machine the clock says little.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // no input can cause it
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median returns the median of the times that runs calls of f measure.
func median(runs int, f func() (time.Duration, error)) (time.Duration, error) {
	times := make([]time.Duration, runs)
	for i := range times {
		var err error
		if times[i], err = f(); err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[runs/2], nil
}
