package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	policies "github.com/yardmaster/yardmaster/agent/gavel"
	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

const (
	// ExactTolerance is for runs that no solver decides.
	ExactTolerance = 1e-9
	// ProgramTolerance is for runs of linear programs whose best answer is not
	// unique.
	ProgramTolerance = 0.05
	// Draws is the number of runs of a program whose answer is drawn. On Gavel's
	// traces, single runs vary by 1 to 3.5 % (standard deviation, the last jobs to
	// finish most), and one in five is out of tolerance; so is the published run
	// a draw. The median of this many varies by less than half a percent.
	Draws = 101
)

// referenceRuns is the folder of the runs, below the data.
const referenceRuns = "reference_runs"

// Gavel compares every run of reference_runs/reference.csv in data, the folder
// of Gavel's files, with ours, and then the figures that Gavel's authors
// published for AlloX with six runs on jobs that are generated here. report, if not nil, is called with each row as
// it is done. The error says why there is no comparison; rows out of tolerance
// are told by [Misses].
func Gavel(ctx context.Context, data fs.FS, report func(*Row)) ([]Row, error) {
	return gavelRows(ctx, data, publishedRuns, report)
}

func gavelRows(ctx context.Context, data fs.FS, publications []publishedRun, report func(*Row)) ([]Row, error) {
	f, err := data.Open(path.Join(referenceRuns, "reference.csv"))
	if err != nil {
		return nil, fmt.Errorf("verify: gavel: %w", err)
	}
	defer f.Close()
	all, err := files.ReadReference(f, "reference.csv")
	if err != nil {
		return nil, fmt.Errorf("verify: gavel: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("verify: gavel: reference.csv has no runs")
	}
	l := newLoader(data)
	var rows []Row
	add := func(row Row) bool {
		if ctx.Err() != nil {
			return false
		}
		rows = append(rows, row)
		if report != nil {
			report(&row)
		}
		return true
	}
	for i := range all {
		if !add(compareGavel(ctx, l, &all[i])) {
			return rows, fmt.Errorf("verify: gavel: %w", ctx.Err())
		}
	}
	for i := range publications {
		if !add(comparePublished(ctx, l, &publications[i])) {
			return rows, fmt.Errorf("verify: gavel: %w", ctx.Err())
		}
	}
	return rows, nil
}

// gavelPolicy is how a policy of the table is played here.
type gavelPolicy struct {
	make  func(seed uint64) gavel.Policy
	draws int // 0: no solver decides
}

var gavelPolicies = map[string]gavelPolicy{
	"FIFO_Perf":             {func(uint64) gavel.Policy { return new(policies.FIFO) }, 0},
	"AlloX_Perf":            {func(uint64) gavel.Policy { return new(policies.AlloX) }, 0},
	"Isolated":              {func(uint64) gavel.Policy { return policies.Isolated{} }, 0},
	"MaxMinFairness_Perf":   {func(uint64) gavel.Policy { return new(policies.MaxMinFairness) }, 1},
	"MinTotalDuration_Perf": {func(uint64) gavel.Policy { return new(policies.MinTotalDuration) }, 1},
	"MaxMinFairness":        {func(seed uint64) gavel.Policy { return &policies.MaxMinFairness{Blind: true, Seed: seed} }, Draws},
	"MinTotalDuration":      {func(seed uint64) gavel.Policy { return &policies.MinTotalDuration{Blind: true, Seed: seed} }, Draws},
}

func compareGavel(ctx context.Context, l *loader, ref *files.Reference) Row {
	row := Row{Name: gavelName(ref)}
	if packs, known := packingPolicies[ref.Policy]; known {
		row.Figures, row.Err = comparePacking(ctx, l, ref, packs(seedOf(ref.Trace)))
		return row
	}
	policy, known := gavelPolicies[ref.Policy]
	if !known {
		row.Err = fmt.Errorf("policy %q is unknown", ref.Policy)
		return row
	}
	results := make([]*gavel.Result, max(1, policy.draws))
	for seed := range results {
		cfg, err := l.config(ref)
		if err == nil {
			cfg.Policy = policy.make(uint64(seed))
			results[seed], err = play(ctx, cfg)
		}
		if err != nil {
			row.Err = err
			return row
		}
	}
	if policy.draws > 0 {
		row.Figures, row.Err = programFigures(ref, results)
		return row
	}
	row.Figures, row.Err = exactFigures(l, ref, results[0])
	return row
}

// gavelName names a run by what was run.
func gavelName(ref *files.Reference) string {
	parts := []string{ref.Policy, strings.TrimSuffix(path.Base(ref.Trace), path.Ext(ref.Trace))}
	if ref.Interarrival > 0 {
		parts = append(parts, fmt.Sprintf("%g s", ref.Interarrival))
	}
	parts = append(parts, strings.Trim(strings.ReplaceAll(fmt.Sprint(ref.GPUs), " ", ":"), "[]"))
	if strings.HasPrefix(ref.Throughputs, "physical") {
		parts = append(parts, "physical")
	}
	return strings.Join(parts, " ")
}

func play(ctx context.Context, cfg gavel.Config) (*gavel.Result, error) {
	s, err := gavel.New(cfg)
	if err != nil {
		return nil, err
	}
	return toEnd(ctx, s)
}

// simulation is what [gavel.Sim] and [gavel.Packing] have in common.
type simulation interface {
	Step() (bool, error)
	Result() *gavel.Result
}

// toEnd runs a simulation to its end or that of ctx.
func toEnd(ctx context.Context, s simulation) (*gavel.Result, error) {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		more, err := s.Step()
		if err != nil {
			return nil, err
		}
		if !more {
			return s.Result(), nil
		}
	}
}

// window returns the jobs whose times a run averages.
func window(ref *files.Reference, r *gavel.Result) gavel.Window {
	if ref.End == 0 {
		return gavel.Window{First: 0, End: len(r.JCT)}
	}
	return gavel.Window{First: ref.First, End: ref.End}
}

// exactFigures compares everything that a run tells, job by job where it can.
func exactFigures(l *loader, ref *files.Reference, r *gavel.Result) ([]Figure, error) {
	s, err := r.Summarize(window(ref, r))
	if err != nil {
		return nil, err
	}
	all := []Figure{
		exact("mean JCT", s.Mean, ref.Mean), exact("p50 JCT", s.P50, ref.P50), exact("p99 JCT", s.P99, ref.P99),
		exact("end", r.End, ref.Finish), exact("utilization", r.Utilization, ref.Utilization),
		exact("jobs", float64(s.Jobs), float64(ref.Jobs)), exact("rounds", float64(r.Rounds), float64(ref.Rounds)),
	}
	if ref.JobRounds > 0 {
		all = append(all, exact("job-rounds", float64(r.JobRounds), float64(ref.JobRounds)))
	}
	if ref.Times == "" {
		return all, nil
	}
	worst, err := worstJob(l, ref, r)
	return append(all, worst), err
}

func exact(name string, ours, theirs float64) Figure {
	return Figure{Name: name, Ours: ours, Theirs: theirs, Tolerance: ExactTolerance, Low: ours, High: ours}
}

// worstJob compares the time of every job of the window and returns the one
// that is furthest off. A job that was given up in both counts as equal.
func worstJob(l *loader, ref *files.Reference, r *gavel.Result) (Figure, error) {
	times, err := l.times(ref.Times)
	if err != nil {
		return Figure{}, err
	}
	w := window(ref, r)
	if len(times) != w.End-w.First {
		return Figure{}, fmt.Errorf("%s has %d jobs, want the %d of the window", ref.Times, len(times), w.End-w.First)
	}
	worst := Figure{Name: "every JCT", Tolerance: ExactTolerance}
	for i, t := range times {
		if t.ID != w.First+i {
			return Figure{}, fmt.Errorf("%s has job %d where job %d is due", ref.Times, t.ID, w.First+i)
		}
		f := exact(fmt.Sprintf("JCT of job %d, the worst of %d", t.ID, len(times)), r.JCT[t.ID], t.JCT)
		if math.IsNaN(f.Ours) && math.IsNaN(f.Theirs) {
			continue
		}
		if i == 0 || f.Error() > worst.Error() {
			worst = f
		}
	}
	return worst, nil
}

// programFigures compares the figures of runs that a solver decides. A run may
// give up a job that another finishes.
func programFigures(ref *files.Reference, runs []*gavel.Result) ([]Figure, error) {
	all := []Figure{
		{Name: "mean JCT", Theirs: ref.Mean, Tolerance: ProgramTolerance},
		{Name: "end", Theirs: ref.Finish, Tolerance: ProgramTolerance},
		{Name: "utilization", Theirs: ref.Utilization, Tolerance: ProgramTolerance},
		{Name: "jobs", Theirs: float64(ref.Jobs), Tolerance: ExactTolerance},
		{Name: "p50 JCT", Theirs: ref.P50, Tolerance: math.Inf(1)}, // percentiles of a tie are not claimed
		{Name: "p99 JCT", Theirs: ref.P99, Tolerance: math.Inf(1)},
	}
	ours := make([][]float64, len(all))
	for _, r := range runs {
		s, err := r.Summarize(window(ref, r))
		if err != nil {
			return nil, err
		}
		for i, x := range []float64{s.Mean, r.End, r.Utilization, float64(s.Jobs), s.P50, s.P99} {
			ours[i] = append(ours[i], x)
		}
	}
	for i := range all {
		slices.Sort(ours[i])
		n := len(ours[i])
		all[i].Ours, all[i].Low, all[i].High = ours[i][n/2], ours[i][0], ours[i][n-1]
	}
	return all, nil
}
