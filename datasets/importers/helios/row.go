package helios

import (
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

const warnQuota = "asks for more GPUs than its virtual cluster had that day"

// columnNames are the columns that are read, of the log's twelve.
var columnNames = []string{"job_id", "user", "vc", "gpu_num", "state", "submit_time", "start_time", "end_time", "duration", "queue"}

// Positions of the columns in columnNames.
const (
	colID = iota
	colUser
	colVC
	colGPUs
	colState
	colSubmit
	colStart
	colEnd
	colDuration
	colQueue
)

// logReader reads the rows of a log.
type logReader struct {
	clock *importers.Clock
	zone  *time.Location
	cfg   *Config
}

// row keeps or drops a row. Of a row that is dropped, only what says so is read.
func (l *logReader) row(t *importers.Trace, v *importers.Values) {
	gpus := v.GPUs(colGPUs)
	switch {
	case gpus == 0:
		t.Drop(importers.DropNoGPU)
	case !t.Ended(v.Text(colState)) || v.None(colEnd):
		t.Drop(importers.DropRunning)
	case v.None(colStart):
		t.Drop(importers.DropNoStart)
	default:
		l.job(t, v, gpus)
	}
}

// job keeps a job that ended, if it ran.
func (l *logReader) job(t *importers.Trace, v *importers.Values, gpus int32) {
	submit, start, end := v.Moment(colSubmit, t, l.clock), v.Moment(colStart, t, l.clock), v.Moment(colEnd, t, l.clock)
	if !v.Agrees(colDuration, end-start) {
		t.Warn(importers.WarnDuration)
	}
	if !v.Agrees(colQueue, start-submit) {
		t.Warn(importers.WarnQueue)
	}
	tenant := colVC
	if l.cfg.ByUser {
		tenant = colUser
	}
	row := datasets.Row{ID: v.ID(colID), Submit: submit, GPUs: gpus, Tenant: v.Name(tenant, t), Status: v.Name(colState, t)}
	if v.Err() != nil {
		return
	}
	var drop string
	if row.Duration, drop = t.Ran(submit, start, end); drop != "" {
		t.Drop(drop)
		return
	}
	l.checkQuota(t, v.Text(colVC), &row)
	t.Keep(row)
}

// checkQuota warns if a job is larger than its virtual cluster.
func (l *logReader) checkQuota(t *importers.Trace, vc string, row *datasets.Row) {
	if l.cfg.Quotas == nil {
		return
	}
	at := time.Unix(0, int64(row.Submit)).In(l.zone)
	if most, known := l.cfg.Quotas.GPUs(vc, at); known && int(row.GPUs) > most {
		t.Warn(warnQuota)
	}
}
