package verify

import (
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Row is one run of another simulator beside ours.
type Row struct {
	Name    string   // what was run: policy, trace, cluster
	Figures []Figure // compared
	// Skipped says why the row was not run; "" where it was.
	Skipped string
	// Err says why ours has no result; nil where it has one.
	Err error
}

// Figure is one number of a row.
type Figure struct {
	Name         string
	Ours, Theirs float64
	// Tolerance is the largest relative error that passes. 0 wants equality,
	// +Inf only reports.
	Tolerance float64
	// Low and High are the range of the runs whose median is Ours; equal to it
	// where there was one run.
	Low, High float64
}

// Error returns the error of ours relative to theirs; 0 where both are equal
// and +Inf where one is not a number.
func (f *Figure) Error() float64 {
	switch {
	case f.Ours == f.Theirs:
		return 0
	case math.IsNaN(f.Ours) || math.IsNaN(f.Theirs) || f.Theirs == 0:
		return math.Inf(1)
	}
	return math.Abs(f.Ours-f.Theirs) / math.Abs(f.Theirs)
}

// Pass reports whether the figure is within its tolerance.
func (f *Figure) Pass() bool { return f.Error() <= f.Tolerance }

// Miss returns an error that names every figure of r that is out of tolerance,
// or nil. A row that was skipped misses nothing.
func (r *Row) Miss() error {
	if r.Err != nil {
		return fmt.Errorf("verify: %s: %w", r.Name, r.Err)
	}
	var errs []error
	for i := range r.Figures {
		if f := &r.Figures[i]; !f.Pass() {
			errs = append(errs, fmt.Errorf("verify: %s: %s is %.12g, want %.12g within %g, is off by %.3g", r.Name, f.Name, f.Ours, f.Theirs, f.Tolerance, f.Error()))
		}
	}
	return errors.Join(errs...)
}

// Misses returns every miss of rows, or nil.
func Misses(rows []Row) error {
	errs := make([]error, len(rows))
	for i := range rows {
		errs[i] = rows[i].Miss()
	}
	return errors.Join(errs...)
}

// Worst returns the judged figure that is furthest from what is allowed, or
// closest to it if all pass; nil where the row has none.
func (r *Row) Worst() *Figure {
	var worst *Figure
	for i := range r.Figures {
		f := &r.Figures[i]
		if !math.IsInf(f.Tolerance, 1) && (worst == nil || f.strain() > worst.strain()) {
			worst = f
		}
	}
	return worst
}

// strain returns the error in units of what is allowed.
func (f *Figure) strain() float64 {
	if f.Error() == 0 {
		return 0
	}
	return f.Error() / f.Tolerance
}

// Write writes rows as a table of one line each: the first figure, which is the
// row's main one, and the worst of all that are judged.
func Write(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "run\tours\ttheirs\terror\tworst of all figures\terror\tallowed\t") // errors come with Flush
	for i := range rows {
		r := &rows[i]
		worst := r.Worst()
		if worst == nil {
			writeWithout(t, r)
			continue
		}
		f := &r.Figures[0]
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2g\t%s\t%.2g\t%g\t%s\n", r.Name, short(f.Ours), short(f.Theirs), f.Error(), worst.Name, worst.Error(), worst.Tolerance, verdict(worst))
	}
	return t.Flush()
}

// WriteFigures writes every figure of rows, one line each.
func WriteFigures(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "run\tfigure\tours\trange\ttheirs\terror\tallowed\t")
	for i := range rows {
		r := &rows[i]
		if len(r.Figures) == 0 {
			writeWithout(t, r)
		}
		for k := range r.Figures {
			f := &r.Figures[k]
			allowed, spread := "-", ""
			if !math.IsInf(f.Tolerance, 1) {
				allowed = fmt.Sprintf("%g", f.Tolerance)
			}
			if f.Low < f.High {
				spread = short(f.Low) + " to " + short(f.High)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.2g\t%s\t%s\n", r.Name, f.Name, short(f.Ours), spread, short(f.Theirs), f.Error(), allowed, verdict(f))
		}
	}
	return t.Flush()
}

// writeWithout writes a row that has no figures.
func writeWithout(w io.Writer, r *Row) {
	what := "skipped: " + r.Skipped
	if r.Err != nil {
		what = "FAILED: " + r.Err.Error()
	}
	fmt.Fprintf(w, "%s\t%s\n", r.Name, what)
}

func verdict(f *Figure) string {
	if f.Pass() {
		return "ok"
	}
	return "MISS"
}

func short(x float64) string { return fmt.Sprintf("%.9g", x) }
