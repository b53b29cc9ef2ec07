// Package pai imports the jobs of Alibaba's Platform for AI, July and August
// 2020, from three of its tables, which it tells apart by their columns:
//
//   - pai_job_table.csv: job_name, inst_id, user, status, start_time, end_time
//   - pai_task_table.csv: job_name, task_name, inst_num, status, start_time,
//     end_time, plan_cpu, plan_mem, plan_gpu, gpu_type
//   - pai_instance_table.csv, which may be left out: job_name, task_name,
//     inst_name, worker_name, inst_id, status, start_time, end_time, machine
//
// The files have no header; one that was added is skipped. Source: Weng et al.,
// "MLaaS in the Wild: Workload Analysis and Scheduling in Large-Scale
// Heterogeneous GPU Clusters", NSDI 2022; github.com/alibaba/clusterdata,
// cluster-trace-gpu-v2020, describes the tables.
//
// # What becomes of a job
//
//   - start_time of the job table, which is its submission, becomes submit_ns.
//     Times are seconds less a constant that is not published, but as seconds
//     since 1970 they give the true hour of the day in China and the true day of
//     the week: that is how they are read, so dates are of 1970.
//   - gpus is Σ inst_num × plan_gpu / 100 over its tasks: plan_gpu is per instance
//     and in percent, empty for roles without a GPU. Most jobs ask for a part of
//     a GPU. A row has whole GPUs: such jobs are dropped or, with
//     [Config.RoundUp], rounded up with a warning; that changes what the jobs ask
//     of the cluster.
//   - duration_ns is from the first start to the last end of the tasks that use
//     GPUs, or of their instances if that table is given. (From the job's start
//     to its task's is the time it waited.) Where no end is known the job's is
//     taken.
//   - gpu_type becomes reference_gpu if all tasks with GPUs have one that the
//     performance catalogue has; MISC, which is several old types, does not.
//   - user becomes tenant, status stays: Terminated is success. job_id is the
//     number of the row in the job table, from 1.
//
// # What is dropped
//
// In this order: jobs with the name of an earlier one, jobs without a task,
// without a GPU, not started (Waiting), not ended (Running), with a part of a
// GPU, with no run time. Tasks and instances have accounts of their own.
package pai

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Zone is the time zone in which times, as seconds since 1970, give the true
// hour of the day.
const Zone = "Asia/Shanghai"

// Config chooses what becomes of a job. The zero value is the default.
type Config struct {
	// RoundUp gives jobs that ask for a part of a GPU whole ones. Default: they
	// are dropped.
	RoundUp bool
}

// Report accounts for every row of the three tables. That of the jobs is the
// embedded one.
type Report struct {
	importers.Report
	Tasks     datasets.Report `json:"tasks"`
	Instances datasets.Report `json:"instances"`
}

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "pai", About: "Alibaba PAI 2020: pai_job_table.csv with pai_task_table.csv and, if there, pai_instance_table.csv",
		Sniff: Sniff, Import: Import,
		Join: func(inputs []importers.Input) (*datasets.Jobs, importers.Report, error) {
			j, report, err := Join(inputs)
			return j, report.Report, err
		},
	}
}

// Sniff reports whether a text begins like one of the three tables.
func Sniff(head []byte) bool { return tableOf(head) != nil }

const joinFix = "name the job table and the task table together and, if there, the instance table"

// Import refuses a single table with an error that names those it takes: no one
// of them says what a job asked for and how long it ran.
func Import(r io.Reader, name string) (*datasets.Jobs, importers.Report, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, importers.Report{}, err
	}
	defer source.Close()
	found := tableOf(source.Peek(sniffed))
	if found == nil {
		return nil, importers.Report{}, notATable(source)
	}
	return nil, importers.Report{}, source.Error(0, "", "the "+found.name+" table alone", joinFix)
}

// Join reads a trace with the default Config.
func Join(inputs []importers.Input) (*datasets.Jobs, Report, error) { return Config{}.Join(inputs) }

// Join reads the tables, given in any order. It fails at the first row it cannot
// make sense of with a [*datasets.RowError] that names the table and the line.
// The jobs and tasks are held in memory, the instances are not.
func (c Config) Join(inputs []importers.Input) (*datasets.Jobs, Report, error) {
	tables, err := openTables(inputs)
	defer tables.close()
	if err != nil {
		return nil, Report{}, err
	}
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		return nil, Report{}, fmt.Errorf("pai: %w", err)
	}
	jobs := tables.sources[jobTable]
	j := &joiner{cfg: &c, trace: importers.NewTrace(jobs), byName: make(map[string]int32)}
	for i, read := range []func(*importers.Values){j.job, j.task, j.instance} {
		if source := tables.sources[i]; source != nil {
			if err := readTable(source, &kinds[i], read); err != nil {
				return nil, Report{}, err
			}
		}
	}
	if err := j.decide(tables.sources[instanceTable] != nil); err != nil {
		return nil, Report{}, err
	}
	filters, err := tables.hashes()
	if err != nil {
		return nil, Report{}, err
	}
	table, report, err := j.trace.Finish(importers.Ending{
		Meta: datasets.Meta{
			Source:  "Alibaba PAI, cluster-trace-gpu-v2020 (Weng et al., NSDI 2022)",
			Licence: "CC-BY-4.0",
			Zone:    Zone + " (hours and days of the week are true, dates are not)",
			Filters: filters,
		},
		Zone: zone,
	})
	if err != nil {
		return nil, Report{}, err
	}
	return table, Report{report, j.tasksReport.report(), j.instancesReport.report()}, nil
}

// readTable calls row with every row of a table.
func readTable(source *importers.Source, k *kind, row func(*importers.Values)) error {
	columns, err := importers.NewColumns(source, importers.Layout{Names: k.columns, Headless: true})
	if err != nil {
		return err
	}
	read := importers.ByColumn(func(_ *importers.Trace, v *importers.Values) { row(v) })
	for n := 1; ; n++ {
		values, err := columns.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n > k.maxRows {
			return source.Error(columns.Line, "", "too many rows", fmt.Sprintf("split the trace: at most %d are read", k.maxRows))
		}
		if err := read(nil, columns, values); err != nil {
			return err
		}
	}
}

// account counts the rows of a table besides that of the jobs.
type account struct {
	read, kept int
	dropped    datasets.Tally
}

func (a *account) report() datasets.Report {
	return datasets.Report{Read: a.read, Kept: a.kept, Dropped: a.dropped.Counts()}
}
