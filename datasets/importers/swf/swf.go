// Package swf imports workloads in the Standard Workload Format, versions 2 to
// 2.2, in which the Parallel Workloads Archive and many simulators keep the
// jobs of parallel computers. Definition:
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
//
// # What becomes of a line
//
//   - The submit time becomes submit_ns. Where the header has UnixStartTime, the
//     epoch is midnight of the day of the first job kept, in the zone that
//     TimeZoneString names, else UTC. (The header TimeZone is ignored: the
//     definition calls it buggy.) Otherwise there is no epoch.
//   - The run time becomes duration_ns.
//   - Processors become gpus: those allocated or, where unknown, requested. The
//     format has no GPUs, so by default each processor is taken as one, with a
//     warning; with [Config.ProcessorsPerGPU], so many make up a GPU, rounded up.
//   - The user becomes tenant, as "user 3"; [Config.Tenant] chooses the group,
//     queue or partition.
//   - The status becomes status, in the words of the definition: "completed",
//     "failed", "cancelled". job_id is the job number.
//
// The other eight fields are left out; -1 means that a field is not known.
//
// # What is dropped
//
// Lines of a partial execution (status 2 to 4), whose job has a line of its
// own; jobs without processors or run time, which for jobs of less than half a
// second is 0; exact duplicates. Everything is counted.
package swf

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the result must not depend on the machine's zones

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Reasons for which lines are dropped or warned about.
const (
	dropPartial      = "a part of a job that has a line of its own"
	dropNoProcessors = "has no processors"

	warnProcessors = "processors are taken as GPUs"
)

// Config chooses what becomes of a line. The zero value is the default.
type Config struct {
	// ProcessorsPerGPU is how many processors make up a GPU. Default 1, with a
	// warning for each job.
	ProcessorsPerGPU int
	// Tenant is the field that tells tenants apart: "user" (the default),
	// "group", "queue" or "partition".
	Tenant string
}

func (c *Config) fillDefaults() {
	if c.Tenant == "" {
		c.Tenant = "user"
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.ProcessorsPerGPU < 0 || c.ProcessorsPerGPU > maxProcessors {
		errs = append(errs, fmt.Errorf("swf: ProcessorsPerGPU is %d, want 1 to %d, or 0 for 1", c.ProcessorsPerGPU, maxProcessors))
	}
	if _, known := tenantFields[c.Tenant]; !known {
		errs = append(errs, fmt.Errorf("swf: Tenant is %q, want user, group, queue or partition", c.Tenant))
	}
	return errors.Join(errs...)
}

// Report accounts for every line that is not a comment.
type Report = importers.Report

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "swf", About: "Standard Workload Format of the Parallel Workloads Archive: 18 numbers per line; processors are taken as GPUs",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins with comments that are headers of the
// format, or with a line of 18 numbers.
func Sniff(head []byte) bool {
	lines := strings.Split(string(head), "\n")
	if len(lines) > 1 {
		lines = lines[:len(lines)-1] // the last may be cut
	}
	for _, line := range lines {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if comment, ok := strings.CutPrefix(line, ";"); ok {
			if key, _, ok := strings.Cut(comment, ":"); ok && slices.Contains(headers, strings.TrimSpace(key)) {
				return true
			}
			continue
		}
		if line != "" {
			fields := strings.Fields(line)
			return len(fields) == fieldCount && !slices.ContainsFunc(fields, func(f string) bool { _, ok := parseNumber(f); return !ok })
		}
	}
	return false
}

// Import reads a workload with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a workload. It fails at the first line it cannot make sense of
// with a [*datasets.RowError] that names it.
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
	l := &reader{Trace: importers.NewTrace(source), source: source, cfg: &c}
	for {
		line, number, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Report{}, err
		}
		l.number = number
		if comment, ok := strings.CutPrefix(line, ";"); ok {
			err = l.header.add(l, comment)
		} else {
			err = l.line(line)
		}
		if err != nil {
			return nil, Report{}, err
		}
	}
	return l.Finish(l.header.ending())
}

// headers are the comments that have a meaning, as the definition lists them.
var headers = []string{
	"Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion", "MaxJobs", "MaxRecords", "Preemption",
	"UnixStartTime", "TimeZone", "TimeZoneString", "StartTime", "EndTime", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory",
	"AllowOveruse", "MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions", "Partition", "Note",
}

// header is what the comments say.
type header struct {
	computer, installation string
	started                bool // there is a UnixStartTime
	start                  time.Duration
	zone                   *time.Location // nil: none named
}

// add reads a comment; most are for people.
func (h *header) add(l *reader, comment string) error {
	key, value, _ := strings.Cut(comment, ":")
	value = strings.TrimSpace(value)
	switch strings.TrimSpace(key) {
	case "Computer":
		h.computer = shorten(value)
	case "Installation":
		h.installation = shorten(value)
	case "UnixStartTime":
		seconds, ok := parseNumber(value)
		if !ok || seconds < 0 || seconds > maxInstant.Seconds() {
			return l.bad("UnixStartTime", value, "want seconds since 1970, 0 where it is not known, or no such comment")
		}
		if l.Row() > 0 {
			return l.bad("UnixStartTime", value, "move the comment to the top, before the first job")
		}
		// Zero stands for a start that is not known.
		h.started, h.start = seconds > 0, toDuration(seconds)
	case "TimeZoneString":
		zone, err := time.LoadLocation(value)
		if err != nil || value == "" || value == "Local" {
			return l.bad("TimeZoneString", value, "want a zone such as Europe/Paris, or no such comment")
		}
		h.zone = zone
	}
	return nil
}

func shorten(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if r := []rune(s); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return s
}

// ending says how the trace becomes a table.
func (h *header) ending() importers.Ending {
	e := importers.Ending{Meta: datasets.Meta{Source: "Standard Workload Format", Licence: "not stated"}}
	for _, about := range []string{h.computer, h.installation} {
		if about != "" {
			e.Meta.Source += ", " + about
		}
	}
	switch {
	case !h.started:
	case h.zone == nil:
		e.Zone, e.Meta.Zone = time.UTC, "UTC (assumed: the header names no zone)"
	default:
		e.Zone, e.Meta.Zone = h.zone, h.zone.String()+" (as in the header)"
	}
	return e
}
