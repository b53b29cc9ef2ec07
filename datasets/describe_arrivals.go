package datasets

import (
	"math"
	"time"
)

// Arrivals describes when jobs are submitted. Hours and days are those of the
// table's zone or, where there is no epoch, counted from the start.
type Arrivals struct {
	First string        `json:"first,omitempty"` // submission, RFC 3339; "" where the table has no epoch
	Last  string        `json:"last,omitempty"`
	Zone  string        `json:"zone,omitempty"` // in which hours are counted; "" where the table has no epoch
	Span  time.Duration `json:"span_ns"`        // first to last submission

	PerHour float64     `json:"arrivals_per_hour"`
	Gap     Percentiles `json:"gap_s"`  // times between submissions, seconds
	GapCV   float64     `json:"gap_cv"` // standard deviation of the gaps over their mean: 1 for a Poisson process

	ByHour      [24]int     `json:"arrivals_by_hour"`        // jobs by hour of the day
	HourRate    [24]float64 `json:"arrival_rate_by_hour"`    // jobs per hour, in the hours that the span has of each; 0 where it has none
	ByWeekday   [7]int      `json:"arrivals_by_weekday"`     // from Sunday; all 0 where the table has no epoch
	WeekdayRate [7]float64  `json:"arrival_rate_by_weekday"` // jobs per day
	Timeline    []int       `json:"timeline"`                // jobs in equal parts of the span
}

// timelineParts is the number of parts of a timeline.
const timelineParts = 60

// arrivals describes the submissions of a table that has rows.
func (j *Jobs) arrivals() Arrivals {
	first, last := j.Rows[0].Submit, j.Rows[len(j.Rows)-1].Submit
	a := Arrivals{Span: last - first, Timeline: make([]int, timelineParts)}
	if a.Span > 0 {
		a.PerHour = float64(len(j.Rows)-1) / a.Span.Hours()
	}
	zone := j.Meta.location()
	if !j.Meta.Epoch.IsZero() {
		a.First = j.Meta.Epoch.Add(first).In(zone).Format(time.RFC3339)
		a.Last = j.Meta.Epoch.Add(last).In(zone).Format(time.RFC3339)
		a.Zone = zone.String()
	}
	a.countGaps(j.Rows)
	for i := range j.Rows {
		at := j.Meta.Epoch.Add(j.Rows[i].Submit).In(zone)
		a.ByHour[at.Hour()]++
		a.ByWeekday[at.Weekday()]++
		a.Timeline[min(timelineParts-1, int(timelineParts*float64(j.Rows[i].Submit-first)/math.Max(1, float64(a.Span))))]++
	}
	a.rates(j.Meta.Epoch.Add(first).In(zone), j.Meta.Epoch.Add(last).In(zone))
	if j.Meta.Epoch.IsZero() {
		a.ByWeekday, a.WeekdayRate = [7]int{}, [7]float64{}
	}
	return a
}

// countGaps describes the times between submissions.
func (a *Arrivals) countGaps(rows []Row) {
	gaps := make([]float64, 0, len(rows))
	for i := range rows[1:] {
		gaps = append(gaps, seconds(rows[i+1].Submit-rows[i].Submit))
	}
	a.Gap = percentiles(gaps)
	if a.Gap.Mean == 0 {
		return
	}
	variance := 0.0
	for _, g := range gaps {
		variance += (g - a.Gap.Mean) * (g - a.Gap.Mean) / float64(len(gaps))
	}
	a.GapCV = math.Sqrt(variance) / a.Gap.Mean
}

// rates divides the counts by how much of each hour and weekday lies between
// first and last. A change of the clocks is taken into account.
func (a *Arrivals) rates(first, last time.Time) {
	var hours [24]float64
	var days [7]float64
	for at := first; at.Before(last); {
		// To the next full hour of the clock, which is at most an hour away.
		next := at.Add(time.Hour - time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond()))
		if next.After(last) {
			next = last
		}
		hours[at.Hour()] += next.Sub(at).Hours()
		days[at.Weekday()] += next.Sub(at).Hours() / 24
		at = next
	}
	for h := range hours {
		if hours[h] > 0 {
			a.HourRate[h] = float64(a.ByHour[h]) / hours[h]
		}
	}
	for d := range days {
		if days[d] > 0 {
			a.WeekdayRate[d] = float64(a.ByWeekday[d]) / days[d]
		}
	}
}
