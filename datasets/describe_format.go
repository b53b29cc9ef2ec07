package datasets

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// How numbers, names and bars are written in a description.

// part returns x in percent of whole, 0 where that is 0.
func part(x, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * x / whole
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// thousands returns n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// short returns x with about four significant digits, whole where it is large.
func short(x float64) string {
	switch size := math.Abs(x); {
	case size >= 1e9 || size > 0 && size < 0.001:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case size >= 1000 || x == math.Trunc(x):
		return thousands(int(math.Round(x)))
	case size >= 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case size >= 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// shortSeconds returns a time of so many seconds in the largest unit that it
// has at least one of, to a tenth.
func shortSeconds(s float64) string {
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}} {
		if s >= unit.seconds {
			return strconv.FormatFloat(math.Round(10*s/unit.seconds)/10, 'f', -1, 64) + unit.name
		}
	}
	if s == 0 {
		return "0s"
	}
	return strconv.FormatFloat(1000*s, 'g', 3, 64) + "ms"
}

// readable returns d in days where it is long.
func readable(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// bar returns a bar whose length is to width as x is to most, in eighths of a
// column; at least one eighth where x > 0.
func bar(x, most float64, width int) string {
	if !(x > 0 && most > 0) {
		return ""
	}
	eighths := max(1, int(math.Round(8*float64(width)*x/most)))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}

// level returns one of eight levels for x of most; a dot where x is 0.
func level(x, most float64) string {
	if !(x > 0 && most > 0) {
		return "·"
	}
	return string([]rune("▁▂▃▄▅▆▇█")[min(7, int(8*x/most))])
}

// label returns a name in at most width columns, without what would move the
// cursor of a terminal.
func label(s string, width int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return s
}
