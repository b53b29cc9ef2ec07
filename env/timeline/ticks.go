package timeline

import (
	"fmt"
	"math"
	"time"
)

// ticks returns round times within a stretch, about so many.
func ticks(from, to time.Duration, about int) []time.Duration {
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if (to-from)/s <= time.Duration(about) {
			step = s
			break
		}
	}
	for (to-from)/step > time.Duration(about) {
		step *= 2
	}
	var out []time.Duration
	for t := (from + step - 1) / step * step; t <= to; t += step {
		out = append(out, t)
	}
	return out
}

const day = 24 * time.Hour

var tickSteps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 5 * day, 10 * day,
}

// span writes a length of time in the largest unit that suits it.
func span(d time.Duration) string {
	switch {
	case d >= 2*day:
		return trim(float64(d)/float64(day)) + " d"
	case d >= time.Hour:
		return trim(d.Hours()) + " h"
	case d >= time.Minute:
		return trim(d.Minutes()) + " min"
	}
	return trim(d.Seconds()) + " s"
}

// clock writes a time of the trace, to be read beside others of a stretch.
func clock(t, stretch time.Duration) string {
	switch {
	case t == 0:
		return "0"
	case stretch >= 5*day:
		return trim(float64(t)/float64(day)) + " d"
	case stretch >= 2*time.Hour:
		return trim(t.Hours()) + " h"
	case stretch >= 2*time.Minute:
		return trim(t.Minutes()) + " min"
	}
	return trim(t.Seconds()) + " s"
}

// trim writes x with at most two digits after the point, and none for naught.
func trim(x float64) string {
	return fmt.Sprintf("%g", math.Round(x*100)/100)
}
