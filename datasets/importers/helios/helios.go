// Package helios imports the job log of SenseTime's Helios clusters (Earth,
// Saturn, Uranus, Venus), cluster_log.csv, April to September 2020: job_id,
// user, vc, gpu_num, cpu_num, node_num, state, submit_time, start_time,
// end_time, duration (s), queue (s). Source: Hu et al., "Characterization and
// Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC
// 2021; github.com/S-Lab-System-Group/HeliosData describes the log.
//
// # What becomes of a row
//
//   - submit_time becomes submit_ns. It has no zone; China standard time is
//     assumed, which has had no clock changes since 1991. The epoch is midnight
//     of the day of the first job kept.
//   - duration_ns is end_time − start_time; the columns duration and queue are
//     checked against the times, not used.
//   - gpu_num becomes gpus, vc becomes tenant (user with [Config.ByUser]), state
//     becomes status, job_id stays. cpu_num and node_num are left out.
//   - The log does not say on which GPU type a job ran: reference_gpu is null.
//
// # What is dropped
//
// Jobs without a GPU, which are more than half; jobs that never started, have
// no run time, end before they start or had not ended, among them the one that
// was suspended; exact duplicates. Everything is counted. Job ids are unique in
// one cluster only: where they repeat with other values, as in a file of
// several clusters, rows are numbered instead.
//
// # Virtual clusters
//
// The sizes of virtual clusters change by day: [ReadQuotas] reads them from
// cluster_gpu_number.csv.
package helios

import (
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// Zone is the time zone the log is assumed to be in.
const Zone = "Asia/Shanghai"

// Config chooses what becomes of a row. The zero value is the default.
type Config struct {
	// ByUser makes the user the tenant, not the virtual cluster.
	ByUser bool
	// Quotas are the sizes of the virtual clusters. With them, jobs that ask for
	// more than theirs had on the day of submission are warned about.
	Quotas *Quotas
}

// Report accounts for every row.
type Report = importers.Report

// Format describes the format to a command that imports any.
func Format() importers.Format {
	return importers.Format{
		Name: "helios", About: "SenseTime Helios 2020: cluster_log.csv (job_id,user,vc,gpu_num,…)",
		Sniff: Sniff, Import: Import,
	}
}

// Sniff reports whether a text begins like the log.
func Sniff(head []byte) bool { return importers.HasColumns(head, columnNames...) }

// Import reads a log with the default Config; name is what errors call it.
func Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	return Config{}.Import(r, name)
}

// Import reads a log. It fails at the first row it cannot make sense of with a
// [*datasets.RowError] that names the line.
func (c Config) Import(r io.Reader, name string) (*datasets.Jobs, Report, error) {
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		return nil, Report{}, fmt.Errorf("helios: %w", err)
	}
	l := logReader{clock: importers.NewClock(zone), zone: zone, cfg: &c}
	table := importers.Table{
		Layout: importers.Layout{Names: columnNames},
		Row:    importers.ByColumn(l.row),
		Ending: importers.Ending{
			Meta: datasets.Meta{
				Source:  "SenseTime Helios, 2020 (Hu et al., SC 2021), cluster_log.csv",
				Licence: "CC-BY-4.0",
				Zone:    Zone + " (assumed: the trace has no zone)",
			},
			Zone: zone,
		},
	}
	return table.Import(r, name)
}
