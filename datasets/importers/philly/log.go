package philly

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// maxJob is the most bytes that one job of the log may have; one of 128 GPUs
// with ten attempts has about 30 kB.
const maxJob = 1 << 20

// logJob is a job of the log. Times may be "None", null or missing.
type logJob struct {
	Status    string    `json:"status"`
	VC        string    `json:"vc"`
	ID        string    `json:"jobid"`
	Attempts  []attempt `json:"attempts"`
	Submitted string    `json:"submitted_time"`
}

// attempt is one time that a job was scheduled.
type attempt struct {
	Start  string `json:"start_time"`
	End    string `json:"end_time"`
	Detail []struct {
		GPUs []string `json:"gpus"`
	} `json:"detail"`
}

// gpus returns how many GPUs the attempt had on all servers.
func (a *attempt) gpus() int {
	n := 0
	for i := range a.Detail {
		n += len(a.Detail[i].GPUs)
	}
	return n
}

// logReader reads the jobs of the log.
type logReader struct {
	*importers.Trace
	source  *importers.Source
	clock   *importers.Clock
	minimum time.Duration
}

// readLog reads every job of the list.
func readLog(source *importers.Source, r *logReader) error {
	r.source = source
	bounded := &boundedReader{reader: source.Text(), left: maxJob}
	decoder := json.NewDecoder(bounded)
	if _, err := decoder.Token(); err != nil { // the bracket that Sniff saw
		return r.refuse(err)
	}
	for decoder.More() {
		if err := r.Begin(r.Row() + 1); err != nil {
			return err
		}
		bounded.left = maxJob
		var job logJob
		if err := decoder.Decode(&job); err != nil {
			return r.refuse(err)
		}
		if err := r.job(&job); err != nil {
			return err
		}
	}
	bounded.left = maxJob
	if _, err := decoder.Token(); err != nil { // the closing bracket
		return r.refuse(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return source.Error(0, "", "there is text behind the list of jobs", "name a file with one list")
	}
	return nil
}

// refuse explains an error of the decoder.
func (r *logReader) refuse(err error) error {
	if rowErr, ok := errors.AsType[*datasets.RowError](err); ok {
		return rowErr // the input is damaged
	}
	row := max(r.Row(), 1)
	const fix = "want a list of jobs, each with jobid, vc, status, submitted_time and attempts"
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return r.source.Error(row, typeErr.Field, typeErr.Value, fix)
	}
	if errors.Is(err, errLargeJob) {
		return r.source.Error(row, "", fmt.Sprintf("a job of more than %d bytes", maxJob), fix)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.source.Error(row, "", "the list ends in the middle", "copy or download the file again")
	}
	return r.source.Error(row, "", "not JSON ("+datasets.Excerpt(err.Error())+")", fix)
}

// job keeps, drops or refuses a job.
func (r *logReader) job(job *logJob) error {
	if job.ID == "" || len(job.ID) > datasets.MaxName {
		return r.source.Error(r.Row(), "jobid", datasets.Excerpt(job.ID), "want the job's id, of at most 256 bytes")
	}
	row := datasets.Row{GPUs: 1}
	for _, name := range []struct {
		column, value string
		to            *string
	}{{"vc", job.VC, &row.Tenant}, {"status", job.Status, &row.Status}} {
		known, ok := r.Name(name.value)
		if !ok {
			return r.source.Error(r.Row(), name.column, datasets.Excerpt(name.value), "want at most 256 bytes of UTF-8")
		}
		*name.to = known
	}
	reason, err := r.times(job, &row)
	if err != nil {
		return err
	}
	if reason != "" {
		r.Drop(reason)
		return nil
	}
	if row.Duration < short {
		r.Warn(warnShort)
	}
	if row.Duration < r.minimum {
		r.Drop(dropShort)
		return nil
	}
	r.KeepNamed(job.ID, row)
	return nil
}

// times sets the submission, GPUs and duration of a row, or returns the reason
// to drop it.
func (r *logReader) times(job *logJob, row *datasets.Row) (reason string, err error) {
	submitted, known, err := r.wall("submitted_time", job.Submitted)
	switch {
	case err != nil:
		return "", err
	case !known:
		return dropNoSubmission, nil
	case len(job.Attempts) == 0:
		return importers.DropNoStart, nil
	case importers.IsNone(job.Attempts[len(job.Attempts)-1].End):
		return importers.DropRunning, nil
	}
	var doubt importers.Doubt
	row.Submit, doubt = r.clock.Instant(submitted)
	r.Doubt(doubt, "submitted")
	gpus := job.Attempts[0].gpus()
	if gpus == 0 {
		return importers.DropNoGPU, nil
	}
	if gpus > datasets.MaxGPUs {
		return "", r.source.Error(r.Row(), "attempts.detail.gpus", fmt.Sprint(gpus), "want at most 1000000 GPUs")
	}
	row.GPUs = int32(gpus)
	if row.Duration, err = r.duration(job, row.Submit); err != nil {
		return "", err
	}
	if row.Duration == 0 {
		return importers.DropNoTime, nil
	}
	return "", nil
}

// duration returns the time that the attempts ran, in all.
func (r *logReader) duration(job *logJob, submit time.Duration) (time.Duration, error) {
	var total time.Duration
	unequal, after := false, submit
	for i := range job.Attempts {
		a := &job.Attempts[i]
		unequal = unequal || a.gpus() != job.Attempts[0].gpus()
		startWall, started, err := r.wall("attempts.start_time", a.Start)
		if err != nil {
			return 0, err
		}
		endWall, ended, err := r.wall("attempts.end_time", a.End)
		if err != nil {
			return 0, err
		}
		if !started || !ended {
			r.Warn(warnAttempt)
			continue
		}
		start, _ := r.clock.InstantFrom(startWall, after)
		end, _ := r.clock.InstantFrom(endWall, start)
		if start < submit {
			r.Warn(importers.WarnEarly)
		}
		if end < start {
			r.Warn(warnBackwards)
			continue
		}
		total, after = total+end-start, end
		if total > datasets.MaxTime { // before it overflows
			return 0, r.source.Error(r.Row(), "attempts", total.String(), "want attempts of at most 100 years in all")
		}
	}
	if unequal {
		r.Warn(warnGPUs)
	}
	return total, nil
}

// wall reads a time of the log; known is false where it has none.
func (r *logReader) wall(column, s string) (wall time.Duration, known bool, err error) {
	if importers.IsNone(s) {
		return 0, false, nil
	}
	wall, ok := importers.ParseWall(s)
	if !ok {
		return 0, false, r.source.Error(r.Row(), column, datasets.Excerpt(s), importers.TimeFix+`, or "None"`)
	}
	return wall, true, nil
}

var errLargeJob = errors.New("philly: a job is too large")

// boundedReader fails once it gave more bytes than left, which the caller sets
// again for each job: so no job makes the decoder's buffer grow beyond bounds.
type boundedReader struct {
	reader io.Reader
	left   int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLargeJob
	}
	n, err := b.reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
