package train

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Prior is the policy that an untrained network is: a linear score, in nats,
//
//	Scale · Σ Weights[column] · column
//
// of the columns of a candidate. The hidden layers begin with no say, so that
// training starts from a good greedy policy and can only improve on it.
type Prior struct {
	// Scale turns the sum into logits: how sharply the policy samples while it
	// learns. Default 8.
	Scale float64 `json:"scale"`
	// Weights by the column's name in the environment's space. nil: those of
	// DefaultPrior.
	Weights map[string]float64 `json:"weights"`
}

// DensityPrior returns the weights of the density greedy: the log of weight ×
// speed / remaining time / √GPUs, a bonus for the fastest GPU type, and a penalty
// for moving of ln(round / (round − restart)) at rounds of 360 s and restarts of
// 60 s. Stop comes last: no density is below −10.
func DensityPrior() map[string]float64 {
	return map[string]float64{"log_density": 1, "best_type": 0.1, "moves": -0.18, "is_stop": -10}
}

func (p *Prior) fillDefaults() {
	p.Scale = cmp.Or(p.Scale, 8)
	if p.Weights == nil {
		p.Weights = DefaultPrior()
	}
}

func (p *Prior) validate() error {
	var errs []error
	if !(p.Scale > 0) || math.IsInf(p.Scale, 1) {
		errs = append(errs, fmt.Errorf("train: config: Prior.Scale is %v, want finite and > 0", p.Scale))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Weights)) {
		if w := p.Weights[name]; math.IsNaN(w) || math.IsInf(w, 0) {
			errs = append(errs, fmt.Errorf("train: config: Prior.Weights[%s] is %v, want finite", name, w))
		}
	}
	return errors.Join(errs...)
}

// apply writes the prior to the linear part of params, whose candidates have
// the columns of space.
func (p *Prior) apply(params *nn.Params, space env.Space) error {
	linear := params.Tensors[nn.ScoreLinearWeight].Data
	for _, name := range slices.Sorted(maps.Keys(p.Weights)) {
		i := slices.IndexFunc(space.Candidate, func(f env.Feature) bool { return f.Name == name })
		if i < 0 {
			return fmt.Errorf("train: the prior weighs column %s, which the environment's candidates lack", name)
		}
		linear[i] = float32(p.Scale * p.Weights[name])
	}
	return nil
}
