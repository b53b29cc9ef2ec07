package sweep

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Row is a trial in a table.
type Row struct {
	Trial    int       `json:"trial"` // its number, from 1
	Settings []Setting `json:"settings"`
	Mean     float64   `json:"mean"` // over the seeds that were finished
	// Half is half the width of the 95 % interval of the mean over seeds, by
	// Student's t; 0 with one seed, of which nothing can be said.
	Half  float64   `json:"half_width_95,omitempty"`
	Runs  []Outcome `json:"runs"`
	Error string    `json:"error,omitempty"` // of the first run that failed
}

// Rank returns a row for each trial, the lowest mean first, among equals the first
// trial; trials of which a run failed come last.
func Rank(trials []Trial, outcomes [][]Outcome) []Row {
	rows := make([]Row, len(trials))
	for i, t := range trials {
		r := Row{Trial: i + 1, Settings: t.Settings, Runs: outcomes[i]}
		var scores []float64
		for _, o := range outcomes[i] {
			if o.Error != "" {
				r.Error = cmp.Or(r.Error, fmt.Sprintf("seed %d: %s", o.Seed, o.Error))
				continue
			}
			scores = append(scores, o.Score)
		}
		r.Mean, r.Half = interval(scores)
		rows[i] = r
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if bad := cmp.Compare(btoi(a.Error != ""), btoi(b.Error != "")); bad != 0 {
			return bad
		}
		return cmp.Compare(a.Mean, b.Mean)
	})
	return rows
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// interval returns the mean of scores and half the width of its 95 % interval.
func interval(scores []float64) (mean, half float64) {
	n := float64(len(scores))
	switch len(scores) {
	case 0:
		return 0, 0
	case 1:
		return scores[0], 0
	}
	mean, deviation := stat.MeanStdDev(scores, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return mean, t * deviation / math.Sqrt(n)
}

// Render writes rows as a table; show formats a score and unit is what it is in.
func Render(w io.Writer, rows []Row, show func(float64) string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"rank"}
	if len(rows) > 0 {
		for _, s := range rows[0].Settings {
			head = append(head, s.Key)
		}
	}
	fmt.Fprintln(t, strings.Join(append(head, "mean", "± 95 %", "seeds", "run"), "\t"))
	for i, r := range rows {
		line := []string{fmt.Sprint(i + 1)}
		for _, s := range r.Settings {
			line = append(line, s.Value)
		}
		score, half := show(r.Mean), "–"
		switch {
		case r.Error != "":
			score = "failed"
		case len(r.Runs) > 1:
			half = show(r.Half)
		}
		line = append(line, score, half)
		line = append(line, fmt.Sprint(len(r.Runs)), r.Runs[0].Dir)
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.Error != "" {
			if _, err := fmt.Fprintf(w, "trial %d failed: %s\n", r.Trial, r.Error); err != nil {
				return err
			}
		}
	}
	return nil
}
