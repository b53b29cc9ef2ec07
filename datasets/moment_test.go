package datasets

import (
	"strings"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	j := &Jobs{Name: "t", Meta: Meta{Epoch: time.Date(2017, 11, 4, 0, 0, 0, 0, time.FixedZone("", -7*3600)), Zone: "America/Los_Angeles (assumed)"}}
	for text, want := range map[string]time.Time{
		"0s":                        j.Meta.Epoch,
		"36h30m":                    j.Meta.Epoch.Add(36*time.Hour + 30*time.Minute),
		"2d":                        j.Meta.Epoch.Add(48 * time.Hour),
		"2d1.5s":                    j.Meta.Epoch.Add(48*time.Hour + 1500*time.Millisecond),
		"2017-11-04":                j.Meta.Epoch,
		"2017-11-06":                time.Date(2017, 11, 6, 0, 0, 0, 0, zone), // after the clocks went back
		"2017-11-06 12:30":          time.Date(2017, 11, 6, 12, 30, 0, 0, zone),
		"2017-11-06 12:30:01.5":     time.Date(2017, 11, 6, 12, 30, 1, 500_000_000, zone),
		"2017-11-06T12:30:00":       time.Date(2017, 11, 6, 12, 30, 0, 0, zone),
		"2017-11-06T12:30:00Z":      time.Date(2017, 11, 6, 12, 30, 0, 0, time.UTC),
		"2017-11-06 12:30:00+08:00": time.Date(2017, 11, 6, 4, 30, 0, 0, time.UTC),
		"2017-11-03":                j.Meta.Epoch.Add(-24 * time.Hour),
	} {
		got, err := j.Moment(text)
		if err != nil || got != want.Sub(j.Meta.Epoch) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want.Sub(j.Meta.Epoch))
		}
	}
	for _, text := range []string{"", "x", "-1h", "1d-1h", "99999999d", "2017-13-01", "12:30", "2017"} {
		if got, err := j.Moment(text); err == nil || !strings.Contains(err.Error(), "36h") {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	if _, err := (&Jobs{Name: "t"}).Moment("2017-11-04"); err == nil || !strings.Contains(err.Error(), "t has no epoch") {
		t.Errorf("no epoch: got error %v", err)
	}
	if got, err := (&Jobs{Name: "t"}).Moment("1d"); err != nil || got != 24*time.Hour {
		t.Errorf("no epoch: got %v, %v", got, err)
	}
}
