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
// its range, of a part of the score above its unit, of states above a score of 1
// for each part.
const rare = 0.001

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
	observations = slices.DeleteFunc(slices.Clone(observations), func(o *env.Observation) bool { return legal(o) < 2 })
	if len(observations) < MinStates {
		return models.Novelty{}, fmt.Errorf("%w: %d with a choice, want at least %d", ErrFewStates, len(observations), MinStates)
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
		s.setUnits(&n.Classes[k], k, none, held)
		s.generalize(&n.Classes[k], k, held)
	}
	_, err = New(n)
	return *n, err
}

// heldOut returns the parts of every state's score by the statistics of the other
// folds.
func (s *sample) heldOut() ([]parts, error) {
	held := make([]parts, len(s.points))
	w := newScratch(len(s.global), len(s.candidate))
	for fold := range uint32(folds) {
		others, err := New(s.statistics(fold))
		if err != nil {
			return nil, err
		}
		for i, o := range s.observations {
			if s.fold[i] == fold {
				held[i] = others.parts(w, o, others.classes[s.class[i]].Mean)
				held[i].features = slices.Clone(held[i].features)
			}
		}
	}
	return held, nil
}

// setUnits makes the units of a class those quantiles of the held-out parts that
// leave rare above them.
func (s *sample) setUnits(c *models.SizeClass, class int, without uint32, held []parts) {
	values := make([][]float64, 2+len(s.points[0]))
	for i, p := range held {
		if s.class[i] != class || s.fold[i] == without {
			continue
		}
		values[0], values[1] = append(values[0], p.outside), append(values[1], p.distance)
		for d, y := range p.features {
			values[2+d] = append(values[2+d], y)
		}
	}
	c.Outside, c.Distance = max(minOutside, upper(values[0], rare)), max(minDeviations, upper(values[1], rare))
	c.Features = c.Features[:0]
	for _, v := range values[2:] {
		c.Features = append(c.Features, max(minDeviations, upper(v, rare)))
	}
}

// generalize raises the units of a class until each part leaves only a rare share of
// the states of a fold above the units that the other folds alone give. It makes up
// for the features' being many, and for what one episode has and others have not.
func (s *sample) generalize(c *models.SizeClass, class int, held []parts) {
	var outside, distance, feature []float64 // over the units of the other folds
	for fold := range uint32(folds) {
		var others models.SizeClass
		s.setUnits(&others, class, fold, held)
		for i, p := range held {
			if s.class[i] != class || s.fold[i] != fold {
				continue
			}
			outside, distance = append(outside, p.outside/others.Outside), append(distance, p.distance/others.Distance)
			most := 0.0
			for d, y := range p.features {
				most = max(most, y/others.Features[d])
			}
			feature = append(feature, most)
		}
	}
	c.Outside *= max(1, upper(outside, rare))
	c.Distance *= max(1, upper(distance, rare))
	factor := max(1, upper(feature, rare))
	for d := range c.Features {
		c.Features[d] *= factor
	}
	round(c.Features)
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
