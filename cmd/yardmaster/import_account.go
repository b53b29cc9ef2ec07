package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
)

// account says what an import made of its inputs.
type account struct {
	Format string `json:"format"`
	Table  string `json:"table"`
	importers.Report
	Others []string `json:"other_tables,omitempty"` // that the inputs could become, besides
	// Of jobs with a run time.
	GPUHours float64 `json:"gpu_hours,omitempty"`
	MeanGPUs float64 `json:"mean_gpus,omitempty"` // that they keep busy in the mean over the span
	Hash     string  `json:"hash"`                // of the rows

	title string // of the format
	wrote string // "" for nothing
}

func newAccount(o catalogue.Outcome, wrote string) *account {
	a := &account{
		Format: o.Name, Table: o.Table, Report: o.Report, Others: o.Others, GPUHours: o.GPUHours, Hash: o.Hash, title: o.About, wrote: wrote,
	}
	if span := o.Span(); span > 0 {
		a.MeanGPUs = o.GPUHours / span.Hours()
	}
	return a
}

// String returns the account as lines of text.
func (a *account) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", a.Format, a.title)
	fmt.Fprintf(&b, "%s table: %d rows read, %d kept\n", a.Table, a.Read, a.Kept)
	for _, d := range a.Dropped {
		fmt.Fprintf(&b, "dropped %d: %s\n", d.Rows, d.Reason)
	}
	if a.Table == datasets.KindJobs {
		a.printLoad(&b)
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "warning: %d rows: %s\n", warning.Rows, warning.Reason)
	}
	if len(a.Others) > 0 {
		fmt.Fprintf(&b, "the same input holds a %s table: --table %s\n", strings.Join(a.Others, " and a "), a.Others[0])
	}
	if a.wrote != "" {
		fmt.Fprintf(&b, "wrote %d rows to %s\n", a.Kept, a.wrote)
	}
	return b.String()
}

// printLoad writes when jobs were submitted and what they ask for.
func (a *account) printLoad(b *strings.Builder) {
	fmt.Fprintf(b, "submitted over %s", a.Span().Round(time.Second))
	if !a.First.IsZero() && a.First.Year() > 1 {
		fmt.Fprintf(b, ", %s to %s", a.First.Format(time.RFC3339), a.Last.Format(time.RFC3339))
	}
	b.WriteString("\n")
	if a.GPUHours > 0 {
		fmt.Fprintf(b, "load: %.0f GPU-hours, %.1f GPUs busy in the mean over that span (trace describe --cluster measures it against a cluster)\n", a.GPUHours, a.MeanGPUs)
	}
}
