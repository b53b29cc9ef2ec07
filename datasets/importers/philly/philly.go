// Package philly imports the jobs of Microsoft's Philly cluster in the CSV
// form: timestamp, duration (seconds), num_gpus, gpu_time (GPU-seconds),
// cluster (the virtual cluster), one job per line. Source: Jeon et al.,
// "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
// Workloads", USENIX ATC 2019.
//
// # What becomes of a row
//
//   - timestamp becomes submit_ns. It has no zone; local Pacific time is
//     assumed, as in the original log. An hour that the clock change of
//     2017-11-05 repeats is taken as its first pass. The epoch is midnight,
//     Pacific time, of the day of the first job kept.
//   - duration becomes duration_ns. The CSV does not say on which GPU type, so
//     reference_gpu is null.
//   - num_gpus becomes gpus, cluster becomes tenant.
//   - job_id is the number of the data row in the file, from 1, so that it does
//     not depend on what is dropped.
//   - There is no user, model or status.
//
// # What is dropped
//
// Exact duplicates of an earlier row; a stray first job, submitted more than
// [Config.StrayGap] before the second (one at most); rows with no run time or
// no GPU; with [Config.MinDuration], shorter jobs. Everything is counted.
package philly

import (
	"fmt"
	"io"
	"slices"
	"time"
	_ "time/tzdata" // the result must not depend on the machine's zones

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Zone is the time zone the log is assumed to be in.
const Zone = "America/Los_Angeles"

const (
	defaultStrayGap = 48 * time.Hour
	short           = 60 * time.Second // warned about
)

// Config chooses what to keep. The zero value is the default.
type Config struct {
	// MinDuration drops shorter jobs. Default 0: keep all.
	MinDuration time.Duration
	// StrayGap is the gap after the first job beyond which it is dropped as a
	// stray. Default 48 h; negative keeps it.
	StrayGap time.Duration
}

func (c *Config) fillDefaults() {
	if c.StrayGap == 0 {
		c.StrayGap = defaultStrayGap
	}
}

func (c *Config) validate() error {
	if c.MinDuration < 0 {
		return fmt.Errorf("philly: MinDuration is %v, want >= 0", c.MinDuration)
	}
	return nil
}

// Report accounts for every data row.
type Report struct {
	datasets.Report
	Compression string           `json:"compression"` // of the input: "gzip", "zstd" or "none"
	First       time.Time        `json:"first"`       // submissions kept
	Last        time.Time        `json:"last"`
	Warnings    []datasets.Count `json:"warnings,omitempty"` // suspicious rows, duplicates included, most first
}

// Span returns the time from the first to the last submission.
func (r *Report) Span() time.Duration { return r.Last.Sub(r.First) }

// Import reads a trace with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a trace. It fails at the first row it cannot make sense of with
// a [*datasets.RowError] that names the line.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	c.fillDefaults()
	if err := c.validate(); err != nil {
		return nil, Report{}, err
	}
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, Report{}, err
	}
	defer source.Close()
	p, err := newParser(source)
	if err != nil {
		return nil, Report{}, err
	}
	if err := p.readAll(c.MinDuration); err != nil {
		return nil, Report{}, err
	}
	return c.finish(p)
}

// finish turns the parsed rows into a table.
func (c *Config) finish(p *parser) (*datasets.Jobs, Report, error) {
	jobs := p.jobs
	slices.SortFunc(jobs, compareJobs)
	if len(jobs) > 1 && c.StrayGap > 0 && jobs[1].submit.Sub(jobs[0].submit) > c.StrayGap {
		jobs = jobs[1:]
		p.dropped.Add(dropStray)
	}
	if len(jobs) == 0 {
		return nil, Report{}, p.source.Error(0, "", "no job is left of "+fmt.Sprint(p.read)+" rows", "check the file and the filters")
	}
	digest, err := p.source.SHA256()
	if err != nil {
		return nil, Report{}, err
	}
	report := Report{
		Report:      datasets.Report{Read: p.read, Kept: len(jobs), Dropped: p.dropped.Counts()},
		Compression: p.source.Compression,
		First:       jobs[0].submit, Last: jobs[len(jobs)-1].submit,
	}
	p.warnings.AddRows(warnThin, thinStart(jobs))
	report.Warnings = p.warnings.Counts()
	table, err := c.table(p, jobs)
	if err != nil {
		return nil, Report{}, err
	}
	table.Meta.SourceSHA256 = digest
	for _, d := range report.Dropped {
		table.Meta.Filters = append(table.Meta.Filters, fmt.Sprintf("dropped %d rows: %s", d.Rows, d.Reason))
	}
	return table, report, nil
}

// thinStart returns how many jobs, ordered by submission, fall into the first
// tenth of the span, if they are less than a hundredth of all, else 0. Such a
// start usually holds the long jobs that were running when recording began.
func thinStart(jobs []job) int {
	first, last := jobs[0].submit, jobs[len(jobs)-1].submit
	tenth := first.Add(last.Sub(first) / 10)
	n, _ := slices.BinarySearchFunc(jobs, tenth, func(j job, t time.Time) int { return j.submit.Compare(t) })
	if n*100 < len(jobs) {
		return n
	}
	return 0
}

func (c *Config) table(p *parser, jobs []job) (*datasets.Jobs, error) {
	y, m, d := jobs[0].submit.Date()
	epoch := time.Date(y, m, d, 0, 0, 0, 0, p.zone)
	table := &datasets.Jobs{
		Name: p.source.Name,
		Meta: datasets.Meta{
			SchemaVersion: datasets.SchemaVersion,
			Source:        "Microsoft Philly cluster, 2017 (Jeon et al., USENIX ATC 2019), CSV of jobs",
			Licence:       "CC-BY-4.0",
			Epoch:         epoch,
			Zone:          Zone + " (assumed: the trace has no zone)",
			RowsIn:        int64(p.read),
		},
		Rows: make([]datasets.Row, len(jobs)),
	}
	for i := range jobs {
		table.Rows[i] = datasets.Row{
			ID: jobs[i].id, Submit: jobs[i].submit.Sub(epoch), GPUs: jobs[i].gpus,
			Duration: jobs[i].duration, Tenant: jobs[i].cluster,
		}
	}
	if err := table.Validate(); err != nil {
		return nil, fmt.Errorf("philly: the imported table is not valid: %w", err)
	}
	return table, nil
}
