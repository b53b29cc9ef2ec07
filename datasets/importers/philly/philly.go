// Package philly imports the jobs of Microsoft's Philly cluster: the original
// log in JSON, or the CSV of timestamp, duration (seconds), num_gpus, gpu_time
// (GPU-seconds) and cluster (the virtual cluster), one job per line. Which it
// is, is told by content. Source: Jeon et al., "Analysis of Large-Scale
// Multi-Tenant GPU Clusters for DNN Training Workloads", USENIX ATC 2019;
// github.com/msr-fiddle/philly-traces describes the log.
//
// # What becomes of a row of the CSV
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
// # What becomes of a job of the log
//
// The log is one list, read job by job. A row is a job, numbered from 1.
//
//   - submitted_time becomes submit_ns, as above. Of an hour that comes twice,
//     an attempt's times are taken as the pass that puts them in order.
//   - gpus is the number of GPUs of the first attempt.
//   - duration_ns is the sum of end_time − start_time over the attempts, without
//     the waiting between them. An attempt without both times is not counted.
//   - vc becomes tenant, status stays; the user and the servers are left out.
//   - job_id is the number of the job in the list: the log's ids are text.
//
// # What is dropped
//
// Exact duplicates of an earlier row; a stray first job, submitted more than
// [Config.StrayGap] before the second (one at most); rows with no run time or
// no GPU; with [Config.MinDuration], shorter jobs; of the log also jobs without
// an attempt, without a submission and those whose last attempt has no end: the
// job was running when the log was taken. Everything is counted.
package philly

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Zone is the time zone the trace is assumed to be in.
const Zone = "America/Los_Angeles"

const (
	defaultStrayGap = 48 * time.Hour
	short           = 60 * time.Second // warned about
)

// Reasons for which rows are dropped or warned about.
const (
	dropNoSubmission = "has no submission time"
	dropShort        = "shorter than the minimum duration"

	warnShort     = "shorter than 60 s"
	warnGPUTime   = "gpu_time is not duration × num_gpus"
	warnAttempt   = "an attempt has no start or no end: not counted"
	warnBackwards = "an attempt ends before it starts: not counted"
	warnGPUs      = "attempts have different numbers of GPUs: the first is taken"
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

// Report accounts for every row. Warnings count duplicates, too.
type Report = importers.Report

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "philly", About: "Microsoft Philly 2017: the job log (JSON) or its CSV (timestamp,duration,num_gpus,gpu_time,cluster)",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like the log or the CSV.
func Sniff(head []byte) bool {
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	if isLog(head) {
		return bytes.Contains(head, []byte(`"jobid"`)) || bytes.Contains(head, []byte(`"attempts"`))
	}
	return importers.HasColumns(head, header...)
}

// isLog reports whether a text is a list in JSON.
func isLog(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")) }

// Import reads a trace with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a trace. It fails at the first row it cannot make sense of with
// a [*datasets.RowError] that names the line of the CSV or the job of the log.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	c.fillDefaults()
	if err := c.validate(); err != nil {
		return nil, Report{}, err
	}
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		return nil, Report{}, fmt.Errorf("philly: %w", err)
	}
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, Report{}, err
	}
	defer source.Close()
	trace, clock := importers.NewTrace(source), importers.NewClock(zone)
	form := "CSV of jobs"
	if isLog(source.Peek(64)) {
		form = "job log"
		err = readLog(source, &logReader{Trace: trace, clock: clock, minimum: c.MinDuration})
	} else {
		err = readTable(source, &tableReader{Trace: trace, clock: clock, minimum: c.MinDuration})
	}
	if err != nil {
		return nil, Report{}, err
	}
	return trace.Finish(importers.Ending{
		Meta: datasets.Meta{
			Source:  "Microsoft Philly cluster, 2017 (Jeon et al., USENIX ATC 2019), " + form,
			Licence: "CC-BY-4.0",
			Zone:    Zone + " (assumed: the trace has no zone)",
		},
		Zone: zone, StrayGap: c.StrayGap,
	})
}
