package synth

import (
	"math"
	"testing"
	"time"
)

// On a workload that changes its pace half way through the window, what is old is
// forgotten; on a steady one nothing is; in a short window nothing can be told.
func TestChooseHalfLives(t *testing.T) {
	const horizon = 70 * day
	steady := known(1, horizon, map[string]process{"a": poisson(4), "b": poisson(2)})
	c := ChooseHalfLives(steady.Rows, 0, horizon)
	if c.Arrivals > 0 || c.Jobs > 0 || c.Folds != maxFolds || c.Distance != c.Never {
		t.Errorf("a steady workload: %+v, want nothing forgotten and %d forecasts", c, maxFolds)
	}
	half := func(p process, early, late float64) process {
		return thinned(p, func(at time.Duration) float64 {
			if at < horizon*6/10 {
				return early
			}
			return late
		})
	}
	shifting := known(2, horizon, map[string]process{"a": half(poisson(10), 1, 0.1), "b": half(poisson(10), 0.1, 1)})
	for i := range shifting.Rows { // or nobody could tell
		if shifting.Rows[i].Tenant == "b" {
			shifting.Rows[i].Duration *= 20
		}
	}
	c = ChooseHalfLives(shifting.Rows, 0, horizon)
	if c.Arrivals < 0 || c.Distance >= c.Never {
		t.Errorf("a workload that changed: %+v, want what is old forgotten", c)
	}
	if c = ChooseHalfLives(steady.Rows, 0, 20*day); c.Folds != 0 || c.Arrivals > 0 || c.Jobs > 0 {
		t.Errorf("20 days: %+v, want no forecast", c)
	}
}

// Nothing after the window is looked at.
func TestChooseHalfLivesSeesTheWindowOnly(t *testing.T) {
	j := known(3, 80*day, map[string]process{"a": bursts(poisson(1), 5), "b": poisson(2)})
	cfg := ModelConfig{To: 60 * day}
	rows, err := cfg.window(j)
	if err != nil {
		t.Fatal(err)
	}
	before := ChooseHalfLives(rows, 0, 60*day)
	for i := range j.Rows {
		if j.Rows[i].Submit >= 60*day {
			j.Rows[i].Duration, j.Rows[i].GPUs = 1, 1000
		}
	}
	if after := ChooseHalfLives(rows, 0, 60*day); after != before {
		t.Errorf("with another future: %+v, want %+v", after, before)
	}
}

func TestFading(t *testing.T) {
	for _, test := range []struct {
		age, halfLife time.Duration
		want          float64
	}{{0, day, 1}, {day, day, 0.5}, {3 * day, day, 0.125}, {day, -1, 1}, {1000 * day, day, 0x1p-40}} {
		if got := fading(test.age, test.halfLife); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("fading(%v, %v) = %v, want %v", test.age, test.halfLife, got, test.want)
		}
	}
}

// The weight of a gap is the mean weight of its instants, added up here in steps.
func TestMeanWeightAgainstSmallSteps(t *testing.T) {
	for _, h := range []time.Duration{-1, time.Hour, day, 30 * day} {
		f := &fitter{cfg: ModelConfig{To: 10 * day, ArrivalsHalfLife: h}}
		for _, gap := range [][2]time.Duration{{0, time.Second}, {0, 10 * day}, {9 * day, 9*day + time.Hour}} {
			const steps = 10_000
			want := 0.0
			for i := range steps {
				at := gap[0] + time.Duration((float64(i)+0.5)/steps*float64(gap[1]-gap[0]))
				weight := 1.0
				if h > 0 {
					weight = math.Exp2(-float64(10*day-at) / float64(h))
				}
				want += weight / steps
			}
			if got := f.meanWeight(gap[0], gap[1]); math.Abs(got-want) > 1e-4*want+1e-11 {
				t.Errorf("half-life %v, gap %v: weight %v, want %v", h, gap, got, want)
			}
		}
	}
}
