package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/lp/oracle"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/rng"
)

// tolerance is how far objectives may differ, relatively.
const tolerance = 1e-6

// perSolve is how long a solver may take for one small program.
const perSolve = 20 * time.Second

// comparison counts what was found for one formulation.
type comparison struct {
	name       string
	instances  int            // states or problems drawn
	programs   int            // linear programs solved for them
	infeasible int            // of them without an answer
	agreed     map[string]int // by solver
	failed     map[string]int // the solver gave no answer
	worst      float64        // relative difference of those that agreed
	wrong      []string
	recorded   []oracle.Record
}

// comparer asks other solvers about programs.
type comparer struct {
	ctx     context.Context
	solvers []solver
	folder  string
	count   int // instances per formulation
	seed    uint64
	record  int // instances to record per formulation
}

// all compares every kind of program and every policy.
func (c *comparer) all(progress io.Writer) ([]comparison, error) {
	var list []comparison
	for _, kind := range oracle.Kinds {
		fmt.Fprintln(progress, "lporacle:", kind)
		one, err := c.kind(kind)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	var r agent.Registry
	lp.Register(&r)
	for _, e := range r.Entries() {
		fmt.Fprintln(progress, "lporacle:", e.Name)
		one, err := c.policy(e.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func newComparison(name string) comparison {
	return comparison{name: name, agreed: make(map[string]int), failed: make(map[string]int)}
}

// kind compares random programs of one kind.
func (c *comparer) kind(kind string) (comparison, error) {
	r := rng.New(c.seed, "lporacle/"+kind)
	one := newComparison(kind)
	for i := range c.count {
		size := oracle.Size{Jobs: 12, Candidates: 5, Resources: 4}
		switch {
		case i%40 == 19 && (kind == "sum" || kind == "maxmin"): // from 200 jobs on prices are smoothed
			size = oracle.Size{Jobs: 600, Candidates: 9, Resources: 6}
		case i%10 == 9:
			size = oracle.Size{Jobs: 60, Candidates: 9, Resources: 6}
		}
		p := oracle.Random(r, kind, size)
		result, err := simplex.Solve(c.ctx, p, simplex.Options{})
		if err != nil {
			return one, fmt.Errorf("lporacle: %s %d: %w", kind, i, err)
		}
		one.instances++
		if err := c.stage(&one, fmt.Sprintf("%s %d", kind, i), lp.Stage{Problem: p, Result: result}); err != nil {
			return one, err
		}
	}
	return one, nil
}

// policy compares all programs that a policy solves for random states.
func (c *comparer) policy(name string) (comparison, error) {
	r := rng.New(c.seed, "lporacle/"+name)
	one := newComparison(name)
	policy, err := lp.New(name, lp.Config{Nodes: 2000})
	if err != nil {
		return one, err
	}
	for i := range c.count {
		s := randomState(r, i)
		stages, err := policy.Stages(c.ctx, s)
		if err != nil {
			return one, fmt.Errorf("lporacle: %s %d: %w", name, i, err)
		}
		one.instances++
		for n, stage := range stages {
			if stage.Parts || n < len(stages)-1 && stages[len(stages)-1].Whole && n > 0 {
				continue // not one linear program; a node of the branch and bound
			}
			if err := c.stage(&one, fmt.Sprintf("%s %d.%d", name, i, n), stage); err != nil {
				return one, err
			}
		}
	}
	return one, nil
}

// stage asks all solvers for the objective of one program.
func (c *comparer) stage(one *comparison, what string, stage lp.Stage) error {
	model := oracle.FromProblem(stage.Problem, stage.Result)
	model.Whole = stage.Whole
	one.programs++
	if stage.Result.Status == simplex.Infeasible {
		one.infeasible++
	}
	if len(model.Cost) == 0 {
		return nil // nothing can run; Solve has checked that
	}
	path := filepath.Join(c.folder, "model.mps")
	if err := writeModel(model, path); err != nil {
		return err
	}
	for _, s := range c.solvers {
		if _, isHighs := s.(*highs); model.Whole && !isHighs {
			continue // CLP has no whole numbers
		}
		v, err := s.solve(path, "choose", perSolve)
		if err != nil {
			return err
		}
		c.judge(one, what, s.name(), model, stage, v)
	}
	return nil
}

// judge compares an answer with what a solver says.
func (c *comparer) judge(one *comparison, what, name string, model *oracle.Model, stage lp.Stage, v verdict) {
	wrong := func(format string, args ...any) {
		one.wrong = append(one.wrong, fmt.Sprintf("%s, %s: ", what, name)+fmt.Sprintf(format, args...))
	}
	r := stage.Result
	feasible := r.Status.Feasible()
	switch {
	case v.status == "failed" || v.status == "limit":
		one.failed[name]++
	case v.status == "infeasible" && feasible:
		wrong("infeasible, ours is %v", r.Objective)
	case v.status == "optimal" && !feasible:
		wrong("%v, ours is %v", model.Objective(v.objective), r.Status)
	case v.status == "infeasible":
		one.agreed[name]++
	default:
		theirs := model.Objective(v.objective)
		size := max(math.Abs(theirs), math.Abs(r.Objective), model.Size, 1e-300)
		off := math.Abs(r.Objective-theirs) / size
		if stage.Whole && r.Status != simplex.Optimal { // the best is within the gap
			off = max(0, theirs-r.Bound, r.Objective-theirs) / size
		}
		if off > tolerance {
			wrong("%v, ours is %v to %v, off by %.1e", theirs, r.Objective, r.Bound, off)
			return
		}
		one.agreed[name]++
		one.worst = max(one.worst, off)
		if len(one.recorded) < c.record && one.instances%3 == 0 && len(stage.Problem.Rate) <= 60 {
			one.recorded = append(one.recorded, oracle.Record{
				Name: one.name, Solver: name, Objective: theirs, Whole: stage.Whole, Problem: stage.Problem,
			})
		}
	}
}

func writeModel(m *oracle.Model, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := m.WriteMPS(f); err != nil {
		return err
	}
	return f.Close()
}

// report prints a table of comparisons and reports whether all agreed.
func report(w io.Writer, list []comparison, solvers []solver) bool {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "formulation\tinstances\tprograms\tinfeasible")
	for _, s := range solvers {
		fmt.Fprintf(table, "\t%s agrees\tno answer", s.name())
	}
	fmt.Fprintln(table, "\tworst difference\twrong")
	good := true
	for _, c := range list {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d", c.name, c.instances, c.programs, c.infeasible)
		for _, s := range solvers {
			fmt.Fprintf(table, "\t%d\t%d", c.agreed[s.name()], c.failed[s.name()])
		}
		fmt.Fprintf(table, "\t%.1e\t%d\n", c.worst, len(c.wrong))
		good = good && len(c.wrong) == 0
	}
	table.Flush()
	for _, c := range list {
		for i, text := range c.wrong {
			if i < 5 {
				fmt.Fprintln(w, "wrong:", text)
			}
		}
	}
	return good
}
