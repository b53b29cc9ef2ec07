package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

func newTraceHead() *cobra.Command {
	var n int
	c := &cobra.Command{
		Use:   "head JOBS",
		Short: "Print the first jobs of a trace",
		Long: `Print the first jobs of a trace: submissions in its zone, or since its start;
columns in which none of them has a value are left out. JOBS is Parquet or CSV, -
is CSV from standard input. Of a log of decisions: its first decisions.`,
		Example: "  yardmaster trace head jobs.parquet -n 5",
		Args:    exactArgs("JOBS"),
	}
	asJSON := jsonFlag(c)
	c.Flags().IntVarP(&n, "lines", "n", 10, "number of jobs")
	c.RunE = func(c *cobra.Command, args []string) error {
		if n < 1 {
			return usageError{fmt.Errorf("-n is %d, want at least 1", n)}
		}
		if isDecisions(args[0]) {
			return headDecisions(c.OutOrStdout(), args[0], n, *asJSON)
		}
		jobs, all, err := readHead(args[0], c.InOrStdin(), n)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(c.OutOrStdout(), jsonRows(jobs.Rows))
		}
		return printHead(c.OutOrStdout(), jobs, all)
	}
	return c
}

// readHead reads the first n rows of a trace, and how many there are. Of a
// Parquet file no more is read than that takes.
func readHead(path string, stdin io.Reader, n int) (jobs *datasets.Jobs, all int, err error) {
	isCSV := path == "-"
	if !isCSV {
		if isCSV, err = isJobsCSV(path); err != nil {
			return nil, 0, err
		}
	}
	if isCSV {
		if jobs, err = readJobs(path, stdin); err != nil {
			return nil, 0, err
		}
		all = len(jobs.Rows)
		jobs.Rows = jobs.Rows[:min(n, all)]
		return jobs, all, nil
	}
	s, err := datasets.Scan(path, datasets.ScanConfig{})
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	jobs = &datasets.Jobs{Name: path, Meta: s.Meta()}
	for len(jobs.Rows) < min(n, s.Len()) {
		rows, err := s.Next()
		if err != nil {
			return nil, 0, err
		}
		jobs.Rows = append(jobs.Rows, rows[:min(len(rows), n-len(jobs.Rows))]...)
	}
	return jobs, s.Len(), nil
}

// jsonRow is a row under the names of its columns, without nulls.
type jsonRow struct {
	ID           int64         `json:"job_id"`
	Submit       time.Duration `json:"submit_ns"`
	GPUs         int32         `json:"gpus"`
	Duration     time.Duration `json:"duration_ns,omitempty"`
	Steps        float64       `json:"steps,omitempty"`
	Model        string        `json:"model,omitempty"`
	Batch        int32         `json:"batch,omitempty"`
	ReferenceGPU string        `json:"reference_gpu,omitempty"`
	Tenant       string        `json:"tenant,omitempty"`
	Weight       float64       `json:"weight,omitempty"`
	Deadline     time.Duration `json:"deadline_ns,omitempty"`
	Status       string        `json:"status,omitempty"`
}

func jsonRows(rows []datasets.Row) []jsonRow {
	all := make([]jsonRow, len(rows))
	for i := range rows {
		all[i] = jsonRow(rows[i]) // the compiler sees that nothing is forgotten
	}
	return all
}

// headColumns are what is printed of a row: "" is a null.
var headColumns = []struct {
	name string
	text func(j *datasets.Jobs, r *datasets.Row) string
}{
	{"JOB", func(_ *datasets.Jobs, r *datasets.Row) string { return fmt.Sprint(r.ID) }},
	{"SUBMITTED", func(j *datasets.Jobs, r *datasets.Row) string { return j.Clock(r.Submit) }},
	{"GPUS", func(_ *datasets.Jobs, r *datasets.Row) string { return fmt.Sprint(r.GPUs) }},
	{"DURATION", func(_ *datasets.Jobs, r *datasets.Row) string { return orNone(r.Duration, r.Duration.String()) }},
	{"STEPS", func(_ *datasets.Jobs, r *datasets.Row) string { return orNone(r.Steps, fmt.Sprintf("%.6g", r.Steps)) }},
	{"MODEL", func(_ *datasets.Jobs, r *datasets.Row) string { return printable(r.Model) }},
	{"BATCH", func(_ *datasets.Jobs, r *datasets.Row) string { return orNone(r.Batch, fmt.Sprint(r.Batch)) }},
	{"MEASURED ON", func(_ *datasets.Jobs, r *datasets.Row) string { return printable(r.ReferenceGPU) }},
	{"TENANT", func(_ *datasets.Jobs, r *datasets.Row) string { return printable(r.Tenant) }},
	{"WEIGHT", func(_ *datasets.Jobs, r *datasets.Row) string { return orNone(r.Weight, fmt.Sprint(r.Weight)) }},
	{"DEADLINE", func(j *datasets.Jobs, r *datasets.Row) string { return orNone(r.Deadline, j.Clock(r.Deadline)) }},
	{"STATUS", func(_ *datasets.Jobs, r *datasets.Row) string { return printable(r.Status) }},
}

// orNone returns text, or "" where its value is null.
func orNone[T comparable](value T, text string) string {
	var zero T
	if value == zero {
		return ""
	}
	return text
}

// printable returns a name on one line, without what would move the cursor.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// printHead prints the rows of j, the first of all.
func printHead(w io.Writer, j *datasets.Jobs, all int) error {
	var shown []int
	for i, column := range headColumns {
		for r := range j.Rows {
			if column.text(j, &j.Rows[r]) != "" {
				shown = append(shown, i)
				break
			}
		}
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cell func(column int) string) {
		cells := make([]string, len(shown))
		for i, column := range shown {
			if cells[i] = cell(column); cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	line(func(column int) string { return headColumns[column].name })
	for r := range j.Rows {
		line(func(column int) string { return headColumns[column].text(j, &j.Rows[r]) })
	}
	fmt.Fprintf(out, "%d of %d jobs\n", len(j.Rows), all)
	return out.Flush()
}
