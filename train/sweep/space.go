package sweep

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/runfile"
)

// MaxTrials bounds a sweep: a grid grows faster than one thinks.
const MaxTrials = 10_000

// Space is what a sweep tries. Keys and values are those of a run file.
type Space struct {
	Grid   []Axis // every combination of their values
	Random []Draw // a value of each is drawn for every trial
	// Trials is the number of trials. 0: as many as the grid has points. More go
	// round the grid again, which makes sense with draws only.
	Trials int
	// Seeds is how often each trial is trained, with seeds from 1. Default 1.
	Seeds int
	Seed  uint64 // of the draws; default 1
}

// Axis is a setting and its values in a grid.
type Axis struct {
	Key    string
	Values []string
}

// Draw is a setting and what it is drawn from: one of Values, each as likely, or a
// number from Low to High.
type Draw struct {
	Key       string
	Values    []string
	Low, High float64
	Log       bool // the logarithm is uniform, not the number
}

// ParseAxis reads KEY=V1,V2,…
func ParseAxis(text string) (Axis, error) {
	key, values, ok := strings.Cut(text, "=")
	if !ok || key == "" || values == "" {
		return Axis{}, fmt.Errorf("%q is no axis, want KEY=V1,V2,… as in ppo.rate=1e-4,3e-4", text)
	}
	return Axis{key, strings.Split(values, ",")}, nil
}

// ParseDraw reads KEY=LOW..HIGH, KEY=log:LOW..HIGH or KEY=V1,V2,…
func ParseDraw(text string) (Draw, error) {
	key, from, ok := strings.Cut(text, "=")
	if !ok || key == "" || from == "" {
		return Draw{}, fmt.Errorf("%q is nothing to draw, want KEY=LOW..HIGH, KEY=log:LOW..HIGH or KEY=V1,V2,… as in ppo.clip=0.1..0.3", text)
	}
	return parseRange(key, from)
}

// parseRange reads what a setting is drawn from.
func parseRange(key, from string) (Draw, error) {
	d := Draw{Key: key}
	numbers, log := strings.CutPrefix(from, "log:")
	low, high, ok := strings.Cut(numbers, "..")
	if !ok {
		if log {
			return Draw{}, fmt.Errorf("%s is drawn from %q, want log:LOW..HIGH, as in log:1e-5..1e-3", key, from)
		}
		d.Values = strings.Split(from, ",")
		return d, nil
	}
	var errLow, errHigh error
	d.Log = log
	d.Low, errLow = strconv.ParseFloat(low, 64)
	d.High, errHigh = strconv.ParseFloat(high, 64)
	if errLow != nil || errHigh != nil || !(d.Low < d.High) || math.IsInf(d.High-d.Low, 0) || log && !(d.Low > 0) {
		return Draw{}, fmt.Errorf("%s is drawn from %q, want LOW..HIGH with LOW below HIGH, or log:LOW..HIGH with LOW above 0", key, from)
	}
	return d, nil
}

// String writes d as ParseDraw reads what follows the key.
func (d Draw) String() string {
	if d.Values != nil {
		return strings.Join(d.Values, ",")
	}
	text := strconv.FormatFloat(d.Low, 'g', -1, 64) + ".." + strconv.FormatFloat(d.High, 'g', -1, 64)
	if d.Log {
		text = "log:" + text
	}
	return text
}

// Setting is a setting of a trial.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Trial is a run that a sweep tries.
type Trial struct {
	Settings []Setting     // what tells it from the others
	File     *runfile.File // but for the seed
}

// List returns the trials, each a change of base. Errors name the key and what is
// allowed; all are reported.
func (s *Space) List(base *runfile.File) ([]Trial, error) {
	n, err := s.size()
	if err != nil {
		return nil, err
	}
	if err := s.checkDraws(base); err != nil {
		return nil, err
	}
	streams := make([]*rand.Rand, len(s.Random))
	for i, d := range s.Random {
		streams[i] = rng.New(max(1, s.Seed), "sweep/"+d.Key)
	}
	var trials []Trial
	seen := make(map[string]bool)
	for i := range n {
		settings := s.point(i)
		for k, d := range s.Random {
			settings = append(settings, Setting{d.Key, d.draw(streams[k], base)})
		}
		t, err := newTrial(base, settings)
		if err != nil {
			return nil, err
		}
		// Few values are drawn twice, and 1e-4 is 0.0001: equal runs would be in one directory.
		if name := fmt.Sprint(t.File.Settings()); !seen[name] {
			seen[name] = true
			trials = append(trials, t)
		}
	}
	return trials, nil
}

// size returns the number of trials.
func (s *Space) size() (int, error) {
	points := 1
	keys := make(map[string]bool)
	for _, a := range s.Grid {
		if len(a.Values) == 0 {
			return 0, fmt.Errorf("sweep: %s has no values", a.Key)
		}
		if points *= len(a.Values); points > MaxTrials {
			return 0, fmt.Errorf("sweep: the grid has more than %d points", MaxTrials)
		}
	}
	for _, key := range s.Keys() {
		if keys[key] {
			return 0, fmt.Errorf("sweep: %s is listed twice", key)
		}
		if keys[key] = true; key == "seed" {
			return 0, errors.New("sweep: seed is not searched: every trial is trained with as many seeds as are asked for")
		}
	}
	n := s.Trials
	if n == 0 {
		n = points
	}
	switch {
	case n < 0 || n > MaxTrials:
		return 0, fmt.Errorf("sweep: %d trials, want 1 to %d", n, MaxTrials)
	case len(keys) == 0:
		return 0, errors.New("sweep: nothing to search: give a grid or what to draw at random")
	case len(s.Random) > 0 && s.Trials == 0 && len(s.Grid) == 0:
		return 0, errors.New("sweep: how many trials are to be drawn is not said")
	case len(s.Random) == 0 && n > points:
		n = points
	}
	return n, nil
}

// Keys lists what is searched.
func (s *Space) Keys() []string {
	var all []string
	for _, a := range s.Grid {
		all = append(all, a.Key)
	}
	for _, d := range s.Random {
		all = append(all, d.Key)
	}
	return all
}

// point returns the settings of point i of the grid; the last axis moves first.
func (s *Space) point(i int) []Setting {
	settings := make([]Setting, len(s.Grid))
	for k := len(s.Grid) - 1; k >= 0; k-- {
		a := s.Grid[k]
		settings[k] = Setting{a.Key, a.Values[i%len(a.Values)]}
		i /= len(a.Values)
	}
	return settings
}

// checkDraws tries the ends of what is drawn, and every value that is listed.
func (s *Space) checkDraws(base *runfile.File) error {
	var errs []error
	try := func(key, value string) {
		if _, err := newTrial(base, []Setting{{key, value}}); err != nil {
			errs = append(errs, err)
		}
	}
	for _, a := range s.Grid {
		for _, v := range a.Values {
			try(a.Key, v)
		}
	}
	for _, d := range s.Random {
		for _, v := range d.Values {
			try(d.Key, v)
		}
		if d.Values == nil {
			whole := base.Whole(d.Key)
			try(d.Key, number(d.Low, whole))
			try(d.Key, number(d.High, whole))
		}
	}
	return errors.Join(errs...)
}

// draw returns the next value.
func (d *Draw) draw(r *rand.Rand, base *runfile.File) string {
	if d.Values != nil {
		return d.Values[r.IntN(len(d.Values))]
	}
	low, high := d.Low, d.High
	if d.Log {
		low, high = math.Log(low), math.Log(high)
	}
	x := low + r.Float64()*(high-low)
	if d.Log {
		x = math.Exp(x)
	}
	return number(min(max(x, d.Low), d.High), base.Whole(d.Key))
}

// number writes x with the digits that someone would choose: a search is not finer.
func number(x float64, whole bool) string {
	if whole {
		return strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func newTrial(base *runfile.File, settings []Setting) (Trial, error) {
	file := base.Clone()
	for _, s := range settings {
		if err := file.Set(s.Key + "=" + s.Value); err != nil {
			return Trial{}, fmt.Errorf("sweep: %w", err)
		}
	}
	return Trial{settings, file}, nil
}
