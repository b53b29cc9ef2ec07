package importers

import (
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// Report accounts for every row of an imported trace.
type Report struct {
	datasets.Report
	Compression string `json:"compression"` // of the input: "gzip", "zstd" or "none"
	// First and Last are the submissions kept. Those of a trace without a
	// calendar count from the zero time.
	First    time.Time        `json:"first"`
	Last     time.Time        `json:"last"`
	Warnings []datasets.Count `json:"warnings,omitempty"` // suspicious rows, dropped ones included, most first
}

// Span returns the time from the first to the last submission.
func (r *Report) Span() time.Duration { return r.Last.Sub(r.First) }
