package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/lp/oracle"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/rng"
)

// said is a solver that always says the same.
type said verdict

func (said) name() string { return "said 1.0" }
func (said) close() error { return nil }
func (s said) solve(string, string, time.Duration) (verdict, error) {
	return verdict(s), nil
}

// A solver that says something else than ours is reported, in every way it can.
func TestDifferencesAreReported(t *testing.T) {
	p := oracle.Random(rng.New(4, "lporacle/test"), "maxmin", oracle.Size{Jobs: 6, Candidates: 4, Resources: 2})
	r, err := simplex.Solve(t.Context(), p, simplex.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stage := lp.Stage{Problem: p, Result: r}
	optimum := 1.0 / oracle.FromProblem(p, r).Objective(1) * r.Objective // in the model's unit
	if r.Objective <= 0 || math.IsNaN(optimum) {
		t.Fatalf("a problem without an objective: %+v", r)
	}
	for _, c := range []struct {
		said                  said
		agreed, failed, wrong int
	}{
		{said{"optimal", optimum, 0}, 1, 0, 0},
		{said{"optimal", optimum * (1 + 1e-5), 0}, 0, 0, 1},
		{said{"infeasible", 0, 0}, 0, 0, 1},
		{said{"limit", 0, 0}, 0, 1, 0},
		{said{"failed", 0, 0}, 0, 1, 0},
	} {
		one := newComparison("test")
		compare := comparer{ctx: t.Context(), solvers: []solver{c.said}, folder: t.TempDir()}
		if err := compare.stage(&one, "test", stage); err != nil {
			t.Fatal(err)
		}
		if one.agreed["said 1.0"] != c.agreed || one.failed["said 1.0"] != c.failed || len(one.wrong) != c.wrong {
			t.Errorf("%+v: %d agreed, %d failed, wrong %q", c.said, one.agreed["said 1.0"], one.failed["said 1.0"], one.wrong)
		}
		var out bytes.Buffer
		if good := report(&out, []comparison{one}, compare.solvers); good != (c.wrong == 0) || strings.Contains(out.String(), "wrong: ") != (c.wrong > 0) {
			t.Errorf("%+v: report says %v:\n%s", c.said, good, out.String())
		}
	}
}

// Every state for a policy is one that a cluster could send.
func TestStatesAreValid(t *testing.T) {
	r := rng.New(1, "lporacle/states")
	for i := range 200 {
		if s := randomState(r, i); s.Validate() != nil {
			t.Errorf("state %d: %v", i, s.Validate())
		}
	}
}
