package synth

import (
	"math"
	"slices"
	"strings"
	"time"
)

// calendar knows the activity at every time since the epoch. Activity is
// constant within an hour of the local clock.
type calendar struct {
	epoch time.Time // zero: time 0 is the midnight before a Monday
	zone  *time.Location
	hour  [24]float64
	day   [7]float64 // Monday first
	week  float64    // integral over a week, seconds
}

// newCalendar returns the calendar of c, whose times count from epoch.
func newCalendar(c *Clock, epoch time.Time, zone *time.Location) *calendar {
	cal := &calendar{epoch: epoch, zone: zone}
	for h := range cal.hour {
		cal.hour[h] = 1
		if len(c.ByHour) > 0 {
			cal.hour[h] = c.ByHour[h]
		}
	}
	for d := range cal.day {
		cal.day[d] = 1
		if len(c.ByWeekday) > 0 {
			cal.day[d] = c.ByWeekday[d]
		}
		for _, h := range cal.hour {
			cal.week += cal.day[d] * h * 3600
		}
	}
	return cal
}

// hourAt returns the hour of the day and the weekday (Monday 0) at t, and when
// that hour ends.
func (c *calendar) hourAt(t time.Duration) (hour, day int, end time.Duration) {
	if c.epoch.IsZero() {
		return hourOf(t), int(t / (24 * time.Hour) % 7), t.Truncate(time.Hour) + time.Hour
	}
	local := c.epoch.Add(t).In(c.zone)
	into := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
	return local.Hour(), (int(local.Weekday()) + 6) % 7, t + time.Hour - into
}

// elapsed returns the integral of the activity from one time to another, seconds.
func (c *calendar) elapsed(from, to time.Duration) float64 {
	sum := 0.0
	for t := from; t < to; {
		h, d, end := c.hourAt(t)
		end = min(end, to)
		sum += c.hour[h] * c.day[d] * (end - t).Seconds()
		t = end
	}
	return sum
}

// advance returns when the integral of the activity from a time on reaches area
// seconds: the inverse of elapsed. It skips whole weeks, as if none had a change
// of clocks.
func (c *calendar) advance(t time.Duration, area float64) time.Duration {
	if weeks := math.Floor(area / c.week); weeks >= 1 {
		t += time.Duration(weeks) * 7 * day
		area -= weeks * c.week
	}
	for {
		h, d, end := c.hourAt(t)
		rate := c.hour[h] * c.day[d]
		if left := rate * (end - t).Seconds(); area > left {
			area -= left
			t = end
			continue
		}
		return t + seconds(area/rate)
	}
}

// gap returns the gap between two times as a stream measures it, seconds: its
// first steady seconds as they are, the rest weighted with the activity.
func (c *calendar) gap(from, to time.Duration, steady float64) float64 {
	if wall := (to - from).Seconds(); wall <= steady {
		return wall
	}
	return steady + c.elapsed(from+seconds(steady), to)
}

// after is the inverse of gap: when a gap that begins at from ends.
func (c *calendar) after(from time.Duration, gap, steady float64) time.Duration {
	if gap <= steady {
		return from + seconds(gap)
	}
	return c.advance(from+seconds(steady), gap-steady)
}

// zoneOf returns the location in which a table's hours are counted: the zone
// named first, if there is such a one, else that of the epoch.
func zoneOf(zone string, epoch time.Time) *time.Location {
	name, _, _ := strings.Cut(zone, " ")
	if name == "" || name == "Local" {
		return epoch.Location()
	}
	if loc, err := time.LoadLocation(name); err == nil {
		return loc
	}
	return epoch.Location()
}

// weekdaysFrom is the shortest window from which weekdays are told apart: two of
// each at the least, and a change of pace is not taken for a weekend.
const weekdaysFrom = 21 * day

// fitClock counts the submissions of a window, ascending, by hour of day and weekday. An hour of the
// trace counts as many jobs at most as nine in ten hours at the same time of day
// have, or three times the mean hour and three: else the hour of the largest batch
// would be the busiest of the day. Each hour is given some arrivals in advance (see
// prior).
func fitClock(submits []time.Duration, from, to time.Duration, epoch time.Time, zone *time.Location) Clock {
	flat := newCalendar(&Clock{}, epoch, zone)
	type hour struct{ of, day, jobs int }
	var hours []hour
	var counts [24][]int
	k := 0
	for t := from; t < to; {
		h, d, end := flat.hourAt(t)
		n := 0
		for ; k < len(submits) && submits[k] < end; k++ {
			n++
		}
		hours = append(hours, hour{h, d, n})
		counts[h] = append(counts[h], n)
		t = end
	}
	var most [24]int
	for h, c := range counts {
		if len(c) > 0 {
			slices.Sort(c)
			most[h] = max(c[(len(c)-1)*9/10], 3*len(submits)/len(hours)+3)
		}
	}
	arrivedH, exposedH := make([]float64, 24), make([]float64, 24)
	arrivedD, exposedD := make([]float64, 7), make([]float64, 7)
	for _, h := range hours {
		n := float64(min(h.jobs, most[h.of]))
		arrivedH[h.of] += n
		exposedH[h.of]++
		arrivedD[h.day] += n
		exposedD[h.day]++
	}
	c := Clock{}
	if to-from >= defaultProfileFrom {
		c.ByHour = relative(arrivedH, exposedH)
	}
	if to-from >= weekdaysFrom && !epoch.IsZero() {
		c.ByWeekday = relative(arrivedD, exposedD)
	}
	return c
}

// relative returns rates per exposure, shrunk to their mean and 1 on average.
func relative(arrived, exposed []float64) []float64 {
	jobs, hours := 0.0, 0.0
	for i := range arrived {
		jobs += arrived[i]
		hours += exposed[i]
	}
	mean := jobs / hours
	rates, sum := make([]float64, len(arrived)), 0.0
	for i := range rates {
		rates[i] = (arrived[i] + prior) / (exposed[i] + prior/mean)
		sum += rates[i]
	}
	for i := range rates {
		rates[i] = round(rates[i]/sum*float64(len(rates)), 3)
	}
	return rates
}
