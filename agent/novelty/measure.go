package novelty

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
)

// folds is the number of parts that the states are divided in: each is scored by
// the statistics of the others.
const folds = 4

// MinStates is the least number of observations that Measure accepts.
const MinStates = 8 * folds

// rare is the share of values that are beyond a limit: of a feature on each side of
// its range, of each part of the score above its unit.
const rare = 0.001

// rareState is the share of states that score above 1.
const rareState = 0.01

// minDeviation is the least standard deviation of a number: what never changed in
// training has none. Encoders scale features to about 1.
const minDeviation = 0.05

// Least units: where no held-out state has any value outside, one in a hundred is
// as unusual as can be said, and so are three standard deviations.
const (
	minOutside    = 0.01
	minDeviations = 3
)

// ErrFewStates is returned by Measure for too few observations.
var ErrFewStates = errors.New("novelty: too few observations")

// Measure returns the statistics of observations, in the order in which they were
// made: those of one episode in a row, as each quarter of the list is scored by the
// statistics of the other three. All must have the same features.
func Measure(observations []*env.Observation) (models.Novelty, error) {
	observations = slices.DeleteFunc(slices.Clone(observations), func(o *env.Observation) bool { return legal(o) < minRows })
	if len(observations) < MinStates {
		return models.Novelty{}, fmt.Errorf("%w: %d with %d legal candidates or more, want at least %d", ErrFewStates, len(observations), minRows, MinStates)
	}
	for i, o := range observations {
		if len(o.Global) != len(observations[0].Global) || len(o.Candidates)*observations[0].N() != len(observations[0].Candidates)*o.N() {
			return models.Novelty{}, fmt.Errorf("novelty: observation %d has other features than the first", i)
		}
	}
	return newSample(observations).measure()
}

// none is no fold: statistics of all.
const none = math.MaxUint32

// measure returns the statistics of all states, with units from the folds.
func (s *sample) measure() (models.Novelty, error) {
	held, err := s.heldOut()
	if err != nil {
		return models.Novelty{}, err
	}
	n := s.statistics(none)
	for k := range n.Classes {
		c := &n.Classes[k]
		units := s.units(held, k)
		c.Outside, c.Distance, c.Features = units[0], units[1], units[2:]
	}
	_, err = New(n)
	return *n, err
}

// heldOut returns the parts of every state's score by the statistics of the other
// folds: the share outside, the distance, the features. Shape [states][2+D].
func (s *sample) heldOut() ([][]float64, error) {
	held := make([][]float64, len(s.points))
	w := newScratch(len(s.global), len(s.candidate))
	for fold := range uint32(folds) {
		others, err := New(s.statistics(fold))
		if err != nil {
			return nil, err
		}
		for i, o := range s.observations {
			if s.fold[i] == fold {
				p := others.parts(w, o, others.classes[s.class[i]].Mean)
				held[i] = append([]float64{p.outside, p.distance}, p.features...)
			}
		}
	}
	return held, nil
}

// units returns the units of the parts of a class, shape [2+D]: the quantiles that
// leave a rare share of the held-out states above them, raised twice. Each is raised
// until it holds in every fold though it was taken from the others: what differs
// from one episode to the next gets room, what does not stays sharp. Then all are
// raised together until rareState of the states are above any of them.
func (s *sample) units(held [][]float64, class int) []float64 {
	var of [folds][][]float64 // states of the class
	for i, parts := range held {
		if s.class[i] == class {
			of[s.fold[i]] = append(of[s.fold[i]], parts)
		}
	}
	var joint []float64
	for fold := range of {
		units := raised(of, fold)
		for _, parts := range of[fold] {
			most := 0.0
			for k, x := range parts {
				most = max(most, x/units[k])
			}
			joint = append(joint, most)
		}
	}
	units := raised(of, -1)
	factor := max(1, upper(joint, rareState))
	for k := range units {
		units[k] *= factor
	}
	round(units)
	return units
}

// raised returns the units from all folds but one, -1 for none, that hold in each
// fold though they are taken from the others.
func raised(of [folds][][]float64, without int) []float64 {
	if without >= 0 {
		of[without] = nil // in the copy
	}
	var units []float64
	for part := range 2 + numbers(of) {
		var ratios []float64
		for fold, states := range of {
			unit := quantile(of, fold, part)
			for _, parts := range states {
				ratios = append(ratios, parts[part]/unit)
			}
		}
		units = append(units, quantile(of, -1, part)*max(1, upper(ratios, rare)))
	}
	return units
}

// numbers returns D.
func numbers(of [folds][][]float64) int {
	for _, states := range of {
		if len(states) > 0 {
			return len(states[0]) - 2
		}
	}
	return 0
}

// quantile returns the unit of a part from the states of all folds but one.
func quantile(of [folds][][]float64, without, part int) float64 {
	var values []float64
	for fold, states := range of {
		if fold == without {
			continue
		}
		for _, p := range states {
			values = append(values, p[part])
		}
	}
	least := float64(minDeviations)
	if part == 0 {
		least = minOutside
	}
	return max(least, upper(values, rare))
}

// upper returns the quantile that leaves a share of values above it, the nearest
// rank from above; 0 of none. It sorts values.
func upper(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(math.Ceil((1-share)*float64(len(values)-1)))]
}
