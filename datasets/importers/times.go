package importers

import (
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
)

// Reasons of logs that say when a job started and ended.
const (
	DropLong = "ran for more than 100 years"

	WarnQueue = "its time in the queue is not its start − its submission"
	WarnState = "its state is none of the format's"
)

// Moment reads what a clock showed as the time since 1970-01-01 UTC, and warns
// of one that the clock's changes make doubtful.
func (v *Values) Moment(column int, t *Trace, c *Clock) time.Duration {
	wall, ok := ParseWall(v.text[column])
	instant, doubt := c.Instant(wall)
	if !ok || instant < 0 { // in UTC
		v.Bad(column, TimeFix)
		return 0
	}
	t.Doubt(doubt, v.columns.names[column])
	return instant
}

// Instant reads a time with its offset, which it returns in seconds, as the
// time since 1970-01-01 UTC.
func (v *Values) Instant(column int) (instant time.Duration, offset int) {
	instant, offset, ok := ParseInstant(v.text[column])
	if !ok {
		v.Bad(column, "want a time with its offset such as 2023-03-01 00:18:22+08:00, of the years 1970 to 2200")
	}
	return instant, offset
}

// None reports whether a column has no value, as [IsNone] says.
func (v *Values) None(column int) bool { return IsNone(v.text[column]) }

// Name returns the trace's copy of a name.
func (v *Values) Name(column int, t *Trace) string {
	name, ok := t.Name(v.text[column])
	if !ok {
		v.Bad(column, "want at most 256 bytes of UTF-8")
	}
	return name
}

// Agrees reports whether a column of seconds, where it has a value, is want, to
// a second: clocks are rounded.
func (v *Values) Agrees(column int, want time.Duration) bool {
	if v.None(column) {
		return true
	}
	seconds, err := strconv.ParseFloat(v.text[column], 64)
	if err != nil {
		v.Bad(column, "want seconds")
	}
	diff := seconds - want.Seconds()
	return -1 <= diff && diff <= 1
}

// Ran returns how long a job ran, or the reason to drop it. It warns of one
// that starts before it is submitted.
func (t *Trace) Ran(submit, start, end time.Duration) (ran time.Duration, drop string) {
	if start < submit {
		t.Warn(WarnEarly)
	}
	switch ran = end - start; {
	case ran < 0:
		return 0, DropBackwards
	case ran == 0:
		return 0, DropNoTime
	case ran > datasets.MaxTime:
		return 0, DropLong
	}
	return ran, ""
}

// Ended reports whether a job in this state of Slurm has ended. It warns of a
// state that Slurm does not have. Source: the states in Slurm's sacct(1).
func (t *Trace) Ended(state string) bool {
	switch state {
	case "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED":
		return true
	case "PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "COMPLETING", "CONFIGURING", "STOPPED":
		return false
	}
	t.Warn(WarnState)
	return true
}
