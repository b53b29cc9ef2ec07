package synth

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyCalendar draws one with a zone that changes its clocks, or without an epoch.
func anyCalendar(t *rapid.T) *calendar {
	var c Clock
	for range 24 {
		c.ByHour = append(c.ByHour, rapid.Float64Range(0.05, 2).Draw(t, "hour"))
	}
	for range 7 {
		c.ByWeekday = append(c.ByWeekday, rapid.Float64Range(0.2, 2).Draw(t, "day"))
	}
	zone, err := time.LoadLocation(rapid.SampledFrom([]string{"America/Los_Angeles", "Asia/Kolkata", "UTC"}).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Date(2017, 10, 30, 13, 27, 11, 5, zone)
	if rapid.Bool().Draw(t, "no epoch") {
		epoch = time.Time{}
	}
	return newCalendar(&c, epoch, zone)
}

// after is the inverse of gap, up to the nanosecond that times are rounded to.
func TestAfterIsTheInverseOfGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCalendar(t)
		from := time.Duration(rapid.Int64Range(0, int64(20*day)).Draw(t, "from"))
		wall := time.Duration(rapid.Int64Range(0, int64(5*day)).Draw(t, "gap"))
		steady := rapid.SampledFrom(steadies).Draw(t, "steady")
		gap := c.gap(from, from+wall, steady)
		if got := c.after(from, gap, steady) - from; math.Abs((got - wall).Seconds()) > 1e-5 {
			t.Fatalf("a gap of %v from %v is %v s, and that is %v", wall, from, gap, got)
		}
	})
}

// The integral of the activity is the sum of minutes, each at the activity of its
// hour of the local clock.
func TestElapsedAgainstMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCalendar(t)
		from := rapid.Int64Range(0, 10*24*60).Draw(t, "from")
		minutes := rapid.Int64Range(0, 3*24*60).Draw(t, "minutes")
		// Whole minutes of the local clock, which the epoch need not be.
		offset := time.Duration(0)
		if !c.epoch.IsZero() {
			offset = time.Minute - time.Duration(c.epoch.Second())*time.Second - time.Duration(c.epoch.Nanosecond())
		}
		start := offset + time.Duration(from)*time.Minute
		want := 0.0
		for m := range minutes {
			h, d := int((start+time.Duration(m)*time.Minute).Hours())%24, int((start+time.Duration(m)*time.Minute).Hours()/24)%7
			if !c.epoch.IsZero() {
				local := c.epoch.Add(start + time.Duration(m)*time.Minute).In(c.zone)
				h, d = local.Hour(), (int(local.Weekday())+6)%7
			}
			want += 60 * c.hour[h] * c.day[d]
		}
		got := c.elapsed(start, start+time.Duration(minutes)*time.Minute)
		if math.Abs(got-want) > 1e-6*(1+want) {
			t.Fatalf("%d minutes from %v: %v, want %v", minutes, start, got, want)
		}
	})
}

func TestZoneOf(t *testing.T) {
	east := time.FixedZone("", 8*3600)
	epoch := time.Date(2023, 3, 1, 0, 0, 0, 0, east)
	for zone, want := range map[string]string{
		"America/Los_Angeles (assumed)": "America/Los_Angeles", "": "", "Local": "", "Nowhere/Town": "",
	} {
		if got := zoneOf(zone, epoch).String(); got != want {
			t.Errorf("zone %q: got %q, want %q", zone, got, want)
		}
	}
}

// The hour of the largest batch is not the busiest hour of the day.
func TestClockIsNotThatOfOneBatch(t *testing.T) {
	var submits []time.Duration
	for h := range 40 * 24 {
		n := 2
		if h%24 == 15 {
			n = 6
		}
		if h == 10*24+3 {
			n = 5000
		}
		for k := range n {
			submits = append(submits, time.Duration(h)*time.Hour+time.Duration(k)*100*time.Millisecond)
		}
	}
	c := fitClock(submits, 0, 40*day, time.Time{}, time.UTC)
	if c.ByHour[3] > 1.3 || c.ByHour[15] < 2 {
		t.Errorf("activity at 3:00 %v and at 15:00 %v, want about 1 and 2.6", c.ByHour[3], c.ByHour[15])
	}
	if c.ByWeekday != nil {
		t.Errorf("weekdays %v without an epoch, want none", c.ByWeekday)
	}
}
