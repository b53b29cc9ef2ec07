package importers

import (
	"math"
	"strings"
	"time"
	_ "time/tzdata" // the result must not depend on the machine's zones
)

// Warnings about times of day that a change of the clocks makes doubtful.
const (
	WarnRepeated = "in an hour that the clock change repeats"
	WarnSkipped  = "in an hour that the clock change skips"
)

// Years that times may lie in: all that fit nanoseconds since 1970.
const (
	firstYear = 1970
	lastYear  = 2200
)

// TimeFix says which times are understood, for use in errors.
const TimeFix = "want a time such as 2017-10-09 07:01:55, of the years 1970 to 2200"

// ParseWall reads what a clock showed, "2017-10-09 07:01:55" or with a T, with
// or without decimals, as the time since that clock showed 1970-01-01 00:00:00.
func ParseWall(s string) (time.Duration, bool) {
	const form = "2006-01-02 15:04:05"
	if len(s) < len(form) || s[4] != '-' || s[7] != '-' || s[10] != ' ' && s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	ok := true
	number := func(digits string) int {
		n := 0
		for i := range len(digits) {
			d := digits[i] - '0'
			ok = ok && d <= 9
			n = n*10 + int(d)
		}
		return n
	}
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	fraction, decimals := parseFraction(s[len(form):])
	if !ok || !decimals || year < firstYear || year > lastYear || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	date := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if date.Day() != day { // such as 31 April
		return 0, false
	}
	return time.Duration(date.Unix())*time.Second + fraction, true
}

// parseFraction reads the decimals of a second, "" or ".25", to nanoseconds;
// more digits are cut off.
func parseFraction(s string) (time.Duration, bool) {
	digits, dotted := strings.CutPrefix(s, ".")
	if s == "" || !dotted || digits == "" {
		return 0, s == ""
	}
	unit, total := time.Second, time.Duration(0)
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		unit /= 10
		total += time.Duration(digits[i]-'0') * unit
	}
	return total, true
}

// ParseInstant reads a time with its offset, "2023-03-01 00:18:22+08:00" or
// with Z, as the time since 1970-01-01 00:00:00 UTC. It returns the offset, in
// seconds east of Greenwich, too.
func ParseInstant(s string) (instant time.Duration, offset int, ok bool) {
	if clock, found := strings.CutSuffix(s, "Z"); found {
		instant, ok = ParseWall(clock)
		return instant, 0, ok
	}
	const suffix = "+08:00"
	cut := len(s) - len(suffix)
	if cut < 0 {
		return 0, 0, false
	}
	zone, err := time.Parse("-07:00", s[cut:])
	wall, good := ParseWall(s[:cut])
	if err != nil || !good {
		return 0, 0, false
	}
	_, offset = zone.Zone()
	instant = wall - time.Duration(offset)*time.Second
	return instant, offset, instant >= 0
}

// Doubt says how sure a [Clock] is of an instant.
type Doubt int

// What a clock knows.
const (
	Certain  Doubt = iota
	Repeated       // the clocks showed this time twice
	Skipped        // the clocks never showed this time
)

// Clock tells the instants at which the clocks of a zone showed some time. It
// remembers the last offset: use one Clock for a trace. It is not safe for
// concurrent use.
type Clock struct {
	zone     *time.Location
	from, to time.Duration // what the clock shows while offset holds, with a day to spare
	offset   time.Duration
}

// NewClock returns a clock of this zone.
func NewClock(zone *time.Location) *Clock { return &Clock{zone: zone} }

// Instant returns the time since 1970-01-01 00:00:00 UTC of the moment at which
// the clock showed wall, as [ParseWall] returns it. Of a repeated hour it is
// the first pass; in a skipped hour the time is read as if the clock had not
// been changed yet.
func (c *Clock) Instant(wall time.Duration) (time.Duration, Doubt) {
	if c.from <= wall && wall < c.to {
		return wall - c.offset, Certain
	}
	first, _, doubt := c.instants(wall)
	return first, doubt
}

// InstantFrom is Instant for a moment that is known not to be before earliest:
// it takes the second pass of a repeated hour where the first is too early.
func (c *Clock) InstantFrom(wall, earliest time.Duration) (time.Duration, Doubt) {
	if c.from <= wall && wall < c.to {
		return wall - c.offset, Certain
	}
	first, second, doubt := c.instants(wall)
	if first < earliest {
		return second, doubt
	}
	return first, doubt
}

// instants returns the first and the last moment at which the clock showed
// wall; they differ where doubt is Repeated.
func (c *Clock) instants(wall time.Duration) (first, second time.Duration, doubt Doubt) {
	const day = 24 * time.Hour
	before, after := c.offsetAt(wall-day), c.offsetAt(wall+day)
	first, second = wall-before, wall-after
	if before == after {
		c.remember(first)
		return first, first, Certain
	}
	shown, shownLater := c.offsetAt(first) == before, c.offsetAt(second) == after
	switch {
	case shown && shownLater:
		return first, second, Repeated
	case shown:
		return first, first, Certain
	case shownLater:
		return second, second, Certain
	}
	return first, first, Skipped
}

// at returns an instant in the clock's zone.
func (c *Clock) at(instant time.Duration) time.Time { return unix(instant).In(c.zone) }

func (c *Clock) offsetAt(instant time.Duration) time.Duration {
	_, seconds := c.at(instant).Zone()
	return time.Duration(seconds) * time.Second
}

// remember keeps the offset that holds at instant and how long it does.
func (c *Clock) remember(instant time.Duration) {
	const day = 24 * time.Hour
	start, end := c.at(instant).ZoneBounds()
	c.offset, c.from, c.to = c.offsetAt(instant), 0, math.MaxInt64
	if !start.IsZero() {
		c.from = time.Duration(max(start.Unix(), 0))*time.Second + c.offset + day
	}
	if !end.IsZero() && end.Year() <= lastYear {
		c.to = time.Duration(end.Unix())*time.Second + c.offset - day
	}
}

// unix returns the time that is so long after 1970-01-01 00:00:00 UTC.
func unix(instant time.Duration) time.Time { return time.Unix(0, int64(instant)).UTC() }
