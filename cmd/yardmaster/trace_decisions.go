package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// isDecisions reports whether a file is a log of decisions. One that cannot be read
// is not: the reader of jobs says what is wrong.
func isDecisions(path string) bool {
	if path == "-" {
		return false
	}
	kind, err := datasets.KindOf(path)
	return err == nil && kind == datasets.KindDecisions
}

// headDecisions prints the first n decisions of a log.
func headDecisions(w io.Writer, path string, n int, asJSON bool) error {
	t, err := datasets.ReadDecisions(path)
	if err != nil {
		return err
	}
	rows := t.Rows[:min(n, len(t.Rows))]
	if asJSON {
		return writeJSON(w, jsonDecisions(rows))
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "DECIDED\tCLUSTER\tEPOCH\tSEQ\tJOBS\tMODE\tSOURCE\tMODEL\tREGRET\tLEARNED IN\tFAILURE")
	for i := range rows {
		r := &rows[i]
		regret := "-"
		if r.Learned != "" {
			regret = fmt.Sprintf("%.4f", r.Regret)
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%v\t%s\n", time.Unix(0, 0).Add(r.Decided).UTC().Format(time.DateTime), printable(r.Cluster), r.Epoch, r.StateSeq,
			r.Jobs, printable(r.Mode), printable(r.Source), orDash(printable(r.Model)), regret, r.Latency.Round(time.Microsecond), orDash(printable(r.Failure)))
	}
	fmt.Fprintf(out, "%d of %d decisions\n", len(rows), len(t.Rows))
	return out.Flush()
}

// jsonDecision is a decision under the names of its columns, without its state.
type jsonDecision struct {
	Decided        time.Duration `json:"decided_ns"`
	Cluster        string        `json:"cluster"`
	Epoch          int64         `json:"epoch"`
	StateSeq       int64         `json:"state_seq"`
	Jobs           int32         `json:"jobs"`
	Mode           string        `json:"mode"`
	Source         string        `json:"source"`
	Reason         string        `json:"reason,omitempty"`
	Model          string        `json:"model,omitempty"`
	Failure        string        `json:"failure,omitempty"`
	Published      string        `json:"published"`
	Learned        string        `json:"learned,omitempty"`
	Program        string        `json:"program,omitempty"`
	PublishedValue float64       `json:"published_value"`
	LearnedValue   float64       `json:"learned_value"`
	ProgramValue   float64       `json:"program_value"`
	Regret         float64       `json:"regret"`
	Latency        time.Duration `json:"latency_ns"`
}

func jsonDecisions(rows []datasets.DecisionRow) []jsonDecision {
	all := make([]jsonDecision, len(rows))
	for i, r := range rows {
		all[i] = jsonDecision{
			r.Decided, r.Cluster, r.Epoch, r.StateSeq, r.Jobs, r.Mode, r.Source, r.Reason, r.Model, r.Failure,
			r.Published, r.Learned, r.Program, r.PublishedValue, r.LearnedValue, r.ProgramValue, r.Regret, r.Latency,
		}
	}
	return all
}

// describeDecisions prints what a log of decisions holds.
func describeDecisions(w io.Writer, path string, asJSON bool) error {
	t, err := datasets.ReadDecisions(path)
	if err != nil {
		return err
	}
	d := t.Describe()
	if asJSON {
		return writeJSON(w, d)
	}
	_, err = fmt.Fprint(w, d)
	return err
}
