package synth

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// profile is an arrival rate that is constant within each hour of the day, in
// arrivals per hour. Hours are counted on the trace's clock.
type profile [24]float64

// prior is the number of arrivals that each hour of the day is given at the
// mean rate before any is counted (a gamma prior on the rate), so that an hour
// without arrivals does not get a rate of zero. The rates are then scaled so
// that the window would see as many arrivals as it did.
const prior = 2

// fitProfile counts the arrivals of a window by hour of day, or, where byHour
// is false, only in all.
func fitProfile(jobs []env.Job, from, to time.Duration, byHour bool) profile {
	var p profile
	mean := float64(len(jobs)) / (to - from).Hours()
	for h := range p {
		p[h] = mean
	}
	if !byHour {
		return p
	}
	var arrived, exposed [24]float64 // jobs, hours
	for i := range jobs {
		arrived[hourOf(jobs[i].Submit)]++
	}
	for t := from; t < to; {
		next := min(to, t.Truncate(time.Hour)+time.Hour)
		exposed[hourOf(t)] += (next - t).Hours()
		t = next
	}
	expected := 0.0 // arrivals in the window at these rates
	for h := range p {
		p[h] = (arrived[h] + prior) / (exposed[h] + prior/mean)
		expected += p[h] * exposed[h]
	}
	for h := range p {
		p[h] *= float64(len(jobs)) / expected
	}
	return p
}

func hourOf(t time.Duration) int { return int(t / time.Hour % 24) }

// mean returns the rate averaged over a day.
func (p *profile) mean() float64 {
	sum := 0.0
	for _, r := range p {
		sum += r
	}
	return sum / 24
}

// clock walks through a Poisson process with a profile's rate.
type clock struct {
	rates *profile
	now   time.Duration
}

func (p *profile) start(at time.Duration) clock { return clock{p, at} }

// advance moves on until the integral of the rate has grown by area arrivals,
// and returns the time.
func (c *clock) advance(area float64) time.Duration {
	for {
		rate := c.rates[hourOf(c.now)]
		end := c.now.Truncate(time.Hour) + time.Hour
		if left := rate * (end - c.now).Hours(); area > left {
			area -= left
			c.now = end
			continue
		}
		c.now += time.Duration(area / rate * float64(time.Hour))
		return c.now
	}
}
