package verify

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestFigureError(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		ours, theirs, tolerance, want float64
		pass                          bool
	}{
		{2, 2, 0, 0, true},
		{1.5, 1, 0.5, 0.5, true},
		{1.5, 1, 0.4, 0.5, false},
		{-1, -2, 0.5, 0.5, true},
		{0, 0, 0, 0, true},
		{1, 0, 1e9, inf, false},
		{nan, 1, 0.05, inf, false},
		{1, nan, 0.05, inf, false},
		{nan, nan, 0.05, inf, false},
		{9, 1, inf, 8, true},
	} {
		f := Figure{Ours: test.ours, Theirs: test.theirs, Tolerance: test.tolerance}
		if f.Error() != test.want || f.Pass() != test.pass {
			t.Errorf("%+v: got error %v, pass %v, want %v, %v", f, f.Error(), f.Pass(), test.want, test.pass)
		}
	}
}

func TestMissesAndTables(t *testing.T) {
	rows := []Row{
		{Name: "good", Figures: []Figure{{Name: "mean", Ours: 1, Theirs: 1, Tolerance: 1e-9}, {Name: "end", Ours: 1.01, Theirs: 1, Tolerance: 0.05, Low: 0.9, High: 1.2}}},
		{Name: "bad", Figures: []Figure{{Name: "mean", Ours: 2, Theirs: 1, Tolerance: 0.05}, {Name: "p99", Ours: 9, Theirs: 1, Tolerance: math.Inf(1)}}},
		{Name: "left out", Skipped: "co-location"},
		{Name: "broken", Err: errors.New("no such file")},
	}
	if rows[0].Worst().Name != "end" || rows[1].Worst().Name != "mean" || rows[2].Worst() != nil {
		t.Error("the worst figure is not the one closest to what is allowed")
	}
	for i, want := range []string{"", "bad: mean is 2, want 1 within 0.05, is off by 1", "", "broken: no such file"} {
		err := rows[i].Miss()
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", rows[i].Name, err, want)
		}
	}
	if err := Misses(rows); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two misses", err)
	}
	if err := Misses(rows[:1]); err != nil {
		t.Error(err)
	}
	var brief, full strings.Builder
	if err := errors.Join(Write(&brief, rows), WriteFigures(&full, rows)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(brief.String(), "\n"); got != 1+len(rows) {
		t.Errorf("%d lines, want a header and one for each row:\n%s", got, brief.String())
	}
	for _, want := range []string{"good", "ok", "MISS", "skipped: co-location", "FAILED: no such file"} {
		if !strings.Contains(brief.String(), want) || !strings.Contains(full.String(), want) {
			t.Errorf("a table does not say %q:\n%s\n%s", want, brief.String(), full.String())
		}
	}
	if !strings.Contains(full.String(), "0.9 to 1.2") {
		t.Errorf("the range is missing:\n%s", full.String())
	}
}
