// Package outcome writes what became of every job of a simulation, one row per
// job that left, as CSV or Parquet for other tools to read.
//
// # Units
//
// Times are seconds on the trace's clock as float64, exact to the nanosecond
// within 100 days; service is in GPU-seconds.
package outcome

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// Row is a job that left. The field order is the column order.
type Row struct {
	ID       int64   `parquet:"job_id"`
	Model    string  `parquet:"model,dict"`
	Batch    int64   `parquet:"batch"`
	GPUs     int64   `parquet:"gpus"` // requested
	Tenant   string  `parquet:"tenant,dict"`
	Weight   float64 `parquet:"weight"`
	Submit   float64 `parquet:"submit_s"`
	Start    float64 `parquet:"start_s"` // when it first held GPUs
	Finish   float64 `parquet:"finish_s"`
	JCT      float64 `parquet:"jct_s"`
	Ideal    float64 `parquet:"ideal_s"`    // alone on its fastest candidate
	Isolated float64 `parquet:"isolated_s"` // with an exclusive 1/n share of the cluster
	Rho      float64 `parquet:"rho"`        // JCT / Isolated
	Service  float64 `parquet:"service_gpu_s"`
	Restarts int64   `parquet:"restarts"`
	Deadline float64 `parquet:"deadline_s"`   // 0 where it has none
	Late     float64 `parquet:"tardiness_s"`  // time after the deadline, 0 if in time
	Outcome  string  `parquet:"outcome,dict"` // completed, failed or cancelled

	Interruptions int64 `parquet:"interruptions"` // times a node under it failed

	Status string `parquet:"status,dict"` // how it ended in the trace, in its words, which no policy was told
}

// Of returns a row for every job of a schedule, ordered by ID. jobs
// tells what the schedule does not: models, batches and tenants; status, which may be
// nil, how a job ended in the trace.
func Of(s *metrics.Schedule, jobs []env.Job, status func(id int64) string) []Row {
	index := make(map[int64]*env.Job, len(jobs))
	for i := range jobs {
		index[jobs[i].ID] = &jobs[i]
	}
	rows := make([]Row, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		rows[i] = Row{
			ID: j.ID, GPUs: int64(j.GPUs), Weight: j.Weight,
			Submit: j.Submit.Seconds(), Start: j.Start.Seconds(), Finish: j.Finish.Seconds(), JCT: j.JCT().Seconds(),
			Ideal: j.Ideal.Seconds(), Isolated: j.Isolated.Seconds(), Rho: j.Rho(),
			Service: j.Service, Restarts: int64(j.Restarts), Deadline: j.Deadline.Seconds(), Late: j.Tardiness().Seconds(),
			Outcome: j.Outcome.String(), Interruptions: int64(j.Interruptions),
		}
		if job := index[j.ID]; job != nil {
			rows[i].Model, rows[i].Batch, rows[i].Tenant = job.Model, int64(job.Batch), job.Tenant
		}
		if status != nil {
			rows[i].Status = status(j.ID)
		}
	}
	return rows
}

// Write writes rows to a file: Parquet if its name ends in .parquet, else CSV.
// The file appears under its name when it is complete; equal rows give equal
// files.
func Write(path string, rows []Row) error {
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("outcome: write %s: %w", path, err)
	}
	defer func() { _ = f.Cleanup() }() // does nothing after the rename
	encode := EncodeCSV
	if strings.EqualFold(filepath.Ext(path), ".parquet") {
		encode = EncodeParquet
	}
	if err := encode(f, rows); err != nil {
		return fmt.Errorf("outcome: write %s: %w", path, err)
	}
	return f.CloseAtomicallyReplace()
}

// EncodeParquet writes rows as a Parquet file.
func EncodeParquet(w io.Writer, rows []Row) error {
	p := parquet.NewGenericWriter[Row](w, parquet.Compression(&zstd.Codec{}))
	if _, err := p.Write(rows); err != nil {
		return err
	}
	return p.Close()
}

// EncodeCSV writes rows as CSV with a header.
func EncodeCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	header := make([]string, 0, 20)
	for _, c := range parquet.SchemaOf(Row{}).Fields() {
		header = append(header, c.Name())
	}
	_ = out.Write(header) // errors come with Flush
	for i := range rows {
		_ = out.Write(rows[i].record())
	}
	out.Flush()
	return out.Error()
}

// record returns the values of r in column order.
func (r *Row) record() []string {
	whole := func(x int64) string { return strconv.FormatInt(x, 10) }
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	return []string{
		whole(r.ID), r.Model, whole(r.Batch), whole(r.GPUs), r.Tenant, number(r.Weight),
		number(r.Submit), number(r.Start), number(r.Finish), number(r.JCT), number(r.Ideal), number(r.Isolated), number(r.Rho),
		number(r.Service), whole(r.Restarts), number(r.Deadline), number(r.Late), r.Outcome, whole(r.Interruptions), r.Status,
	}
}
