// Package es minimises a noisy cost by evolution strategies (Salimans et al.,
// arXiv 1703.03864): it evaluates pairs of opposite perturbations of a point,
// estimates the gradient of the smoothed cost from their differences, and takes
// a step of Adam.
//
// All candidates of a generation are to be evaluated on the same episodes (common
// random numbers), so that a difference tells of the candidates and not of their
// luck. Costs enter by their logarithms, episode by episode: an episode of long
// jobs counts no more than one of short jobs.
package es

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Config holds the settings of a search. Its zero value is the default.
type Config struct {
	Pairs int     `json:"pairs"` // pairs of opposite perturbations in a generation; default 8
	Sigma float64 `json:"sigma"` // standard deviation of perturbations, in units of the coordinates; default 0.1
	Rate  float64 `json:"rate"`  // step per generation of each coordinate, in the same units; default 0.08
}

// FillDefaults sets every field that is zero to its default.
func (c *Config) FillDefaults() {
	if c.Pairs == 0 {
		c.Pairs = 8
	}
	if c.Sigma == 0 {
		c.Sigma = 0.1
	}
	if c.Rate == 0 {
		c.Rate = 0.08
	}
}

// Validate reports everything that is wrong with c at once.
func (c *Config) Validate() error {
	var errs []error
	if c.Pairs < 1 {
		errs = append(errs, fmt.Errorf("es: config: Pairs is %d, want >= 1", c.Pairs))
	}
	if !(c.Sigma > 0) || math.IsInf(c.Sigma, 1) || !(c.Rate > 0) || math.IsInf(c.Rate, 1) {
		errs = append(errs, fmt.Errorf("es: config: Sigma is %v and Rate %v, want both finite and > 0", c.Sigma, c.Rate))
	}
	return errors.Join(errs...)
}

// Decay rates of Adam's moments: generations are few and their gradients noisy,
// so both memories are short. The step is not that of package optim: coordinates are
// some dozens, in float64, and only some of them move.
const (
	beta1 = 0.8
	beta2 = 0.95
	tiny  = 1e-8
)

// Search is a search in progress. It is not safe for concurrent use.
type Search struct {
	cfg    Config
	random *rand.Rand
	free   []int     // coordinates that move
	point  []float64 // [D]
	noise  [][]float64
	first  []float64 // Adam's moments, [len(free)]
	second []float64
	steps  int
}

// New returns a search from start, of which it takes a copy; coordinates whose
// fixed is true never move. cfg has its defaults filled in.
func New(cfg Config, start []float64, fixed []bool, random *rand.Rand) (*Search, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if len(fixed) != len(start) {
		return nil, fmt.Errorf("es: %d coordinates, %d of them marked", len(start), len(fixed))
	}
	s := &Search{cfg: cfg, random: random, point: append([]float64(nil), start...)}
	for i := range fixed {
		if !fixed[i] {
			s.free = append(s.free, i)
		}
	}
	s.first, s.second = make([]float64, len(s.free)), make([]float64, len(s.free))
	s.noise = make([][]float64, cfg.Pairs)
	for i := range s.noise {
		s.noise[i] = make([]float64, len(s.free))
	}
	return s, nil
}

// Point returns where the search is, shape [D]; the caller owns it.
func (s *Search) Point() []float64 { return append([]float64(nil), s.point...) }

// State is what a search knows beside its settings and its stream of chance.
type State struct {
	Point  []float64 `json:"point"` // [D]
	First  []float64 `json:"first"` // Adam's moments of the coordinates that move, in their order
	Second []float64 `json:"second"`
	Steps  int       `json:"steps"`
}

// State returns the state between two generations: after Tell, before Ask. The
// caller owns it.
func (s *Search) State() State {
	return State{s.Point(), slices.Clone(s.first), slices.Clone(s.second), s.steps}
}

// Restore makes s, a search of as many coordinates, as many of which move, the one
// whose State this was: it goes on alike if its stream does.
func (s *Search) Restore(state State) error {
	if len(state.Point) != len(s.point) || len(state.First) != len(s.free) || len(state.Second) != len(s.free) || state.Steps < 0 {
		return fmt.Errorf("es: restore: state of %d coordinates, of which %d and %d move, after %d steps, want %d and %d",
			len(state.Point), len(state.First), len(state.Second), state.Steps, len(s.point), len(s.free))
	}
	copy(s.point, state.Point)
	copy(s.first, state.First)
	copy(s.second, state.Second)
	s.steps = state.Steps
	return nil
}

// Ask draws the candidates of the next generation, shape [2·Pairs][D]: candidate
// 2i+1 is the opposite of candidate 2i.
func (s *Search) Ask() [][]float64 {
	candidates := make([][]float64, 0, 2*s.cfg.Pairs)
	for _, noise := range s.noise {
		plus, minus := s.Point(), s.Point()
		for k, i := range s.free {
			noise[k] = s.random.NormFloat64()
			plus[i] += s.cfg.Sigma * noise[k]
			minus[i] -= s.cfg.Sigma * noise[k]
		}
		candidates = append(candidates, plus, minus)
	}
	return candidates
}

// Tell takes the costs of the candidates that Ask returned last, shape
// [2·Pairs][episodes], all finite and > 0, and moves the point. It returns the
// spread of the pairs: the root mean square difference of log costs, which says
// how much the perturbations matter.
func (s *Search) Tell(costs [][]float64) (spread float64, err error) {
	differences, err := s.differences(costs)
	if err != nil {
		return 0, err
	}
	for _, d := range differences {
		spread += d * d / float64(len(differences))
	}
	spread = math.Sqrt(spread)
	if spread == 0 {
		return 0, nil // all alike: nowhere to go
	}
	s.steps++
	c1, c2 := 1-math.Pow(beta1, float64(s.steps)), 1-math.Pow(beta2, float64(s.steps))
	for k, i := range s.free {
		g := 0.0
		for p, d := range differences {
			g += d / spread * s.noise[p][k] / float64(len(differences))
		}
		s.first[k] = float64(beta1*s.first[k]) + float64((1-beta1)*g)
		s.second[k] = float64(beta2*s.second[k]) + float64((1-beta2)*g*g)
		s.point[i] -= s.cfg.Rate * (s.first[k] / c1) / (math.Sqrt(s.second[k]/c2) + tiny)
	}
	return spread, nil
}

// differences returns, for each pair, the mean over the episodes of the log of the
// first's cost over the second's.
func (s *Search) differences(costs [][]float64) ([]float64, error) {
	if len(costs) != 2*s.cfg.Pairs || len(costs[0]) == 0 {
		return nil, fmt.Errorf("es: costs of %d candidates, want %d, of one episode or more", len(costs), 2*s.cfg.Pairs)
	}
	d := make([]float64, s.cfg.Pairs)
	for p := range d {
		plus, minus := costs[2*p], costs[2*p+1]
		if len(plus) != len(costs[0]) || len(minus) != len(costs[0]) {
			return nil, errors.New("es: candidates were evaluated on different numbers of episodes")
		}
		for e := range plus {
			d[p] += math.Log(plus[e]/minus[e]) / float64(len(plus))
		}
		if math.IsNaN(d[p]) || math.IsInf(d[p], 0) {
			return nil, fmt.Errorf("es: pair %d has costs %v and %v, want all finite and > 0", p, plus, minus)
		}
	}
	return d, nil
}
