package synth

import (
	"math"
	"time"
)

// exponential returns quantile u of the exponential distribution with mean 1.
func exponential(u float64) float64 { return -math.Log1p(-u) }

// peakHour is the hour of the day with the most arrivals.
const peakHour = 15

const day = 24 * time.Hour

// dayCycle bends time so that a constant rate of arrivals becomes one with a
// daily cycle and the same mean over a day.
type dayCycle struct{ amplitude float64 }

// integral returns ∫₀ᵗ (1 + a·cos(2π(s − peak)/day)) ds, t and result in days.
func (c dayCycle) integral(t float64) float64 {
	const phase = peakHour / 24.0
	return t + c.amplitude/(2*math.Pi)*(math.Sin(2*math.Pi*(t-phase))+math.Sin(2*math.Pi*phase))
}

// invert returns the t at which the integral reaches x. The integral rises and
// is within a/π days of t, which brackets a bisection.
func (c dayCycle) invert(x time.Duration) time.Duration {
	if c.amplitude == 0 {
		return x
	}
	target := float64(x) / float64(day)
	low, high := math.Max(0, target-1), target+1
	for high-low > 1e-13*(1+target) {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			break
		}
		if c.integral(middle) < target {
			low = middle
		} else {
			high = middle
		}
	}
	return time.Duration(math.Round(high * float64(day)))
}
