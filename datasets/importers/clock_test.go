package importers

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// wallOf returns what a clock shows at an instant.
func wallOf(at time.Time) time.Duration {
	_, offset := at.Zone()
	return time.Duration(at.UnixNano()) + time.Duration(offset)*time.Second
}

func TestParseWall(t *testing.T) {
	for text, want := range map[string]string{
		"2017-10-09 07:01:55":            "2017-10-09T07:01:55Z",
		"2020-02-29T23:59:59":            "2020-02-29T23:59:59Z",
		"1970-01-01 00:00:00":            "1970-01-01T00:00:00Z",
		"2200-12-31 23:59:59.999999999":  "2200-12-31T23:59:59.999999999Z",
		"2017-10-09 07:01:55.25":         "2017-10-09T07:01:55.25Z",
		"2017-10-09 07:01:55.1234567891": "2017-10-09T07:01:55.123456789Z",
	} {
		got, ok := ParseWall(text)
		if s := unix(got).Format(time.RFC3339Nano); !ok || s != want {
			t.Errorf("%s: got %s, %t, want %s", text, s, ok, want)
		}
	}
	for _, text := range []string{
		"", "None", "2017-10-09", "2017-10-09 07:01", "2017-13-09 07:01:55", "2017-00-09 07:01:55", "2017-04-31 07:01:55",
		"2019-02-29 00:00:00", "2017-10-09 24:00:00", "2017-10-09 07:60:55", "2017-10-09 07:01:60", "1969-12-31 23:59:59",
		"2201-01-01 00:00:00", "2017-10-09 07:01:55Z", "2017-10-09 07:01:55.", "2017-10-09 07:01:55.2x", "2017-1a-09 07:01:55",
		"2017/10/09 07:01:55", "+017-10-09 07:01:55", "2017-10-09 07:01:-5",
	} {
		if got, ok := ParseWall(text); ok {
			t.Errorf("%q was read as %v", text, unix(got))
		}
	}
}

// time.Parse is the slow twin.
func TestParseWallAgreesWithTimeParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(19[67]\d|20\d\d|2200)-[01]\d-[0-3]\d [0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,9})?`).Draw(t, "text")
		want, err := time.Parse("2006-01-02 15:04:05", text)
		got, ok := ParseWall(text)
		if valid := err == nil && want.Year() >= 1970 && want.Year() <= 2200; ok != valid || ok && !unix(got).Equal(want) {
			t.Fatalf("%s: got %v, %t, want %v, %v", text, unix(got), ok, want, err)
		}
	})
}

func TestParseInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2023-03-01 00:18:22+08:00":   "2023-02-28T16:18:22Z",
		"2023-05-17 11:00:58+00:00":   "2023-05-17T11:00:58Z",
		"2023-05-17T11:00:58Z":        "2023-05-17T11:00:58Z",
		"2023-05-17 11:00:58.5-03:30": "2023-05-17T14:30:58.5Z",
	} {
		got, _, ok := ParseInstant(text)
		if s := unix(got).Format(time.RFC3339Nano); !ok || s != want {
			t.Errorf("%s: got %s, %t, want %s", text, s, ok, want)
		}
	}
	if _, offset, _ := ParseInstant("2023-03-01 00:18:22+08:00"); offset != 8*3600 {
		t.Errorf("got offset %d s, want 8 h", offset)
	}
	for _, text := range []string{"", "Z", "2023-03-01 00:18:22", "2023-03-01 00:18:22+8", "2023-03-01 00:18:22+0800", "1970-01-01 00:00:00+08:00"} {
		if _, _, ok := ParseInstant(text); ok {
			t.Errorf("%q was read", text)
		}
	}
}

// Every instant's clock time gives that instant or, in an hour that comes
// twice, its first pass; with the moment before known, always that instant.
func TestClockAgainstTheZone(t *testing.T) {
	for _, name := range []string{"America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Shanghai", "UTC"} {
		zone := location(t, name)
		rapid.Check(t, func(t *rapid.T) {
			clock := NewClock(zone)
			day := rapid.SampledFrom([]string{"2017-03-11", "2017-11-04", "2017-03-25", "2017-10-28", "2017-04-01", "2017-09-30", "2017-07-01"}).Draw(t, "day")
			start, err := time.ParseInLocation("2006-01-02", day, zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range rapid.SliceOfN(rapid.IntRange(0, 72*3600), 1, 20).Draw(t, "seconds") {
				at := start.Add(time.Duration(s) * time.Second)
				wall := wallOf(at)
				got, doubt := clock.Instant(wall)
				if want := time.Duration(at.UnixNano()); got != want && !(doubt == Repeated && got < want && wallOf(unix(got).In(zone)) == wall) || doubt == Skipped {
					t.Fatalf("%v imports to %v, doubt %d", at, unix(got).In(zone), doubt)
				}
				if got, _ := clock.InstantFrom(wall, time.Duration(at.UnixNano())); got != time.Duration(at.UnixNano()) {
					t.Fatalf("%v imports to %v though it is known not to be earlier", at, unix(got).In(zone))
				}
			}
		})
	}
}

// The clocks of California went back at 2:00 on 5 November 2017 and forward at
// 2:00 on 12 March.
func TestClockChanges(t *testing.T) {
	clock := NewClock(location(t, "America/Los_Angeles"))
	for _, test := range []struct {
		wall, want string
		doubt      Doubt
	}{
		{"2017-11-05 00:59:59", "2017-11-05T07:59:59Z", Certain},
		{"2017-11-05 01:00:00", "2017-11-05T08:00:00Z", Repeated},
		{"2017-11-05 01:59:59", "2017-11-05T08:59:59Z", Repeated},
		{"2017-11-05 02:00:00", "2017-11-05T10:00:00Z", Certain},
		{"2017-03-12 01:59:59", "2017-03-12T09:59:59Z", Certain},
		{"2017-03-12 02:30:00", "2017-03-12T10:30:00Z", Skipped},
		{"2017-03-12 03:00:00", "2017-03-12T10:00:00Z", Certain},
		{"2017-07-01 12:00:00", "2017-07-01T19:00:00Z", Certain},
		{"2017-12-01 12:00:00", "2017-12-01T20:00:00Z", Certain},
	} {
		wall, ok := ParseWall(test.wall)
		got, doubt := clock.Instant(wall)
		if s := unix(got).Format(time.RFC3339); !ok || s != test.want || doubt != test.doubt {
			t.Errorf("%s: got %s, doubt %d, want %s, doubt %d", test.wall, s, doubt, test.want, test.doubt)
		}
	}
}
