package datasets

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// momentForms are the instants that are understood, the most precise first.
// Without an offset they are in the table's zone.
var momentForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02",
}

var days = regexp.MustCompile(`^([0-9]+)d(.*)$`)

// Moment reads a time in a table as people write it: since the epoch, such as
// "36h" or "14d12h", or an instant, such as "2017-10-09" or
// "2017-10-09T07:00:00-07:00", in the table's zone where it says no other. It
// returns the time since the epoch, which may be negative.
func (j *Jobs) Moment(s string) (time.Duration, error) {
	if d, ok := parseSpan(s); ok {
		return d, nil
	}
	for _, form := range momentForms {
		at, err := time.ParseInLocation(form, s, j.Meta.location())
		if err != nil {
			continue
		}
		if j.Meta.Epoch.IsZero() {
			return 0, fmt.Errorf("datasets: %s has no epoch: %q is an instant, want the time since its start, such as 36h or 14d", j.Name, s)
		}
		return at.Sub(j.Meta.Epoch), nil
	}
	return 0, fmt.Errorf("datasets: %q is no time: want one since the start such as 36h or 14d12h, or an instant such as 2017-10-09 or 2017-10-09T07:00:00-07:00", s)
}

// parseSpan reads a duration that may begin with days of 24 hours.
func parseSpan(s string) (time.Duration, bool) {
	whole, rest := 0, s
	if m := days.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > int(MaxTime/(24*time.Hour)) {
			return 0, false
		}
		whole, rest = n, m[2]
		if rest == "" {
			rest = "0s"
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, false
	}
	return time.Duration(whole)*24*time.Hour + d, true
}

// Instant returns a time since the epoch as an instant in the table's zone; where
// there is no epoch it counts from the zero time.
func (j *Jobs) Instant(at time.Duration) time.Time {
	return j.Meta.Epoch.Add(at).In(j.Meta.location())
}

// Clock returns a time since the epoch as people read it: what a clock in the
// table's zone shows or, where there is no epoch, the time since the start.
func (j *Jobs) Clock(at time.Duration) string {
	if j.Meta.Epoch.IsZero() {
		return at.String()
	}
	return j.Instant(at).Format("2006-01-02 15:04:05 -0700")
}
