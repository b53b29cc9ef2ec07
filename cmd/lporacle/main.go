// Command lporacle compares the linear programs of agent/lp, and how long they
// take, with other solvers: HiGHS, which it installs from PyPI where it is
// missing, and CLP and GLPK where they are installed (Debian: coinor-clp,
// glpk-utils).
//
//	lporacle                  compare objectives on random instances
//	lporacle --record FILE    and write some of them for the tests
//	lporacle --bench          time both on the same instances
//
// It exits with 1 where an objective differs by more than 1e-6.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/agent/lp/oracle"
)

type options struct {
	venv, record string
	count        int
	seed         uint64
	bench        bool
	jobs         int
	limit        time.Duration
	glpk         bool
}

func main() {
	var o options
	flag.StringVar(&o.venv, "venv", "bin/oracle", "Python environment that HiGHS is installed into where python3 has none")
	flag.StringVar(&o.record, "record", "", "file to write instances and the objectives found for them to")
	flag.IntVar(&o.count, "count", 720, "instances per formulation; a fifth of them are empty")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the instances")
	flag.BoolVar(&o.bench, "bench", false, "time the solvers instead of comparing objectives")
	flag.IntVar(&o.jobs, "jobs", 100_000, "with --bench, largest number of jobs; other solvers get at most 10,000")
	flag.DurationVar(&o.limit, "limit", 60*time.Second, "with --bench, longest time for another solver's run; 0 asks none")
	flag.BoolVar(&o.glpk, "glpk", false, "ask GLPK too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	folder, err := os.MkdirTemp("", "lporacle")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	solvers, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range solvers {
			err = errors.Join(err, s.close())
		}
	}()
	if o.bench {
		b := &bench{ctx: ctx, solvers: solvers, folder: folder, limit: o.limit, largest: o.jobs}
		if err := b.budgets(os.Stdout); err != nil {
			return err
		}
		return b.all(os.Stdout, os.Stderr)
	}
	c := &comparer{ctx: ctx, solvers: solvers, folder: folder, count: o.count, seed: o.seed}
	if o.record != "" {
		c.record = 6
	}
	list, err := c.all(os.Stderr)
	if err != nil {
		return err
	}
	if !report(os.Stdout, list, solvers) {
		return errors.New("lporacle: objectives differ")
	}
	if o.record == "" {
		return nil
	}
	return write(o.record, list)
}

// start starts all solvers there are; HiGHS is required.
func start(ctx context.Context, o options) ([]solver, error) {
	h, err := newHighs(ctx, o.venv)
	if err != nil {
		return nil, err
	}
	list := []solver{h}
	if c := newCLP(ctx); c != nil {
		list = append(list, c)
	}
	if o.glpk {
		if g := newGLPK(ctx); g != nil {
			list = append(list, g)
		}
	}
	return list, nil
}

func write(path string, list []comparison) error {
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup() // does nothing after the file has its name
	var records []oracle.Record
	for _, c := range list {
		records = append(records, c.recorded...)
	}
	if err := oracle.WriteRecords(f, records); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
