// Package sacct imports the accounting of a Slurm cluster, as printed by
//
//	sacct --allusers --parsable2 --starttime 2024-01-01 --format \
//	  JobID,JobIDRaw,User,Account,Partition,State,Submit,Start,End,ElapsedRaw,NNodes,ReqTRES,AllocTRES
//
// Source: the fields in Slurm's sacct(1). Columns may be in any order, others
// are ignored, --parsable is read as well. State, Submit, Start, a job id and
// one of AllocTRES, ReqTRES, AllocGRES and ReqGRES are needed, and one of
// ElapsedRaw, Elapsed and End.
//
// # What becomes of a row
//
//   - Submit becomes submit_ns. sacct prints the local time of the machine it
//     runs on, without a zone: name it with [Config.Zone], else UTC is assumed,
//     with a warning. Seconds since 1970 (SLURM_TIME_FORMAT=%s) and times with
//     an offset (…%z) are exact. The epoch is midnight of the day of the first
//     job, in the zone.
//   - duration_ns is ElapsedRaw or Elapsed, which leave out the time that a job
//     was suspended and do not jump with the clocks; without them End − Start.
//   - gpus is the number of GPUs allocated: gres/gpu of AllocTRES, or the sum of
//     its gres/gpu:TYPE. Where that names none, AllocGRES, ReqTRES and ReqGRES are
//     looked at, in this order. The GRES columns of older versions count per
//     node: they are multiplied by NNodes, with a warning.
//   - If all are of one TYPE that the performance catalogue has, it becomes
//     reference_gpu.
//   - User becomes tenant, or what [Config.Tenant] names; State becomes status,
//     without "by" and the user who cancelled.
//   - job_id is JobIDRaw; without it JobID, if no job is part of an array or of
//     several components, else the number of the row, steps included, from 1.
//
// # What is dropped
//
// Steps of jobs (123.batch, 123.0); jobs that were pending, running or
// requeued; jobs without a GPU or with a share of one (gres/shard, gres/mps);
// jobs that never started or have no run time; exact duplicates. Everything is
// counted.
package sacct

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Config chooses what becomes of a row. The zero value is the default.
type Config struct {
	// Zone is the time zone of the machine that sacct ran on. Default UTC, with a
	// warning for each job.
	Zone *time.Location
	// Tenant is the column that tells tenants apart: "User", "Account",
	// "Partition" or "QOS". Default User or, where it is missing, Account.
	Tenant string
}

func (c *Config) validate() error {
	if c.Tenant != "" && !slices.Contains(tenantColumns, c.Tenant) {
		return fmt.Errorf("sacct: Tenant is %q, want one of %s", c.Tenant, strings.Join(tenantColumns, ", "))
	}
	return nil
}

// Report accounts for every row, steps included.
type Report = importers.Report

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "sacct", About: "Slurm: sacct --parsable2 with JobID,State,Submit,Start,ElapsedRaw,AllocTRES and more",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like the output of sacct --parsable2.
func Sniff(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff")), "\n")
	fields := strings.Split(strings.TrimSpace(line), "|")
	has := func(name string) bool { return slices.Contains(fields, name) }
	return has("State") && has("Submit") && (has("JobID") || has("JobIDRaw"))
}

// Import reads an accounting with the default Config; name is what errors call
// it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads an accounting. It fails at the first row it cannot make sense of
// with a [*datasets.RowError] that names the line.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	if err := c.validate(); err != nil {
		return nil, Report{}, err
	}
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, Report{}, err
	}
	defer source.Close()
	columns, err := importers.NewColumns(source, layout)
	if err != nil {
		return nil, Report{}, err
	}
	p := &parser{zone: c.Zone, assumed: c.Zone == nil}
	if p.assumed {
		p.zone = time.UTC
	}
	p.clock = importers.NewClock(p.zone)
	if p.tenant, err = c.tenantColumn(source, columns); err != nil {
		return nil, Report{}, err
	}
	if err := requireColumns(source, columns); err != nil {
		return nil, Report{}, err
	}
	trace := importers.NewTrace(source)
	row := importers.ByColumn(p.row)
	for {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return trace.Finish(p.ending())
		}
		if err != nil {
			return nil, Report{}, err
		}
		if err := trace.Begin(columns.Line); err != nil {
			return nil, Report{}, err
		}
		if err := row(trace, columns, values); err != nil {
			return nil, Report{}, err
		}
	}
}

// ending says how the trace becomes a table.
func (p *parser) ending() importers.Ending {
	zone := p.zone.String() + " (as configured)"
	if p.assumed {
		zone = "UTC (assumed: sacct prints local times)"
		if !p.local {
			zone = "UTC (the times are exact, the cluster's zone is not known)"
		}
	}
	return importers.Ending{
		Zone: p.zone,
		Meta: datasets.Meta{Source: "Slurm accounting (sacct)", Licence: "not stated", Zone: zone},
	}
}
