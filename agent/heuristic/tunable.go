package heuristic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
)

// Names of the policies whose numbers can be tuned.
const (
	densityName                = "density"
	twoStageName               = "two-stage"
	twoStageGittinsName        = "two-stage-gittins"
	twoStageElasticName        = "two-stage-elastic"
	twoStageElasticGittinsName = "two-stage-elastic-gittins"
	tardinessName              = "tardiness"
)

// Range is a knob of a tunable policy with the range in which a search looks for
// its value, from Low to High, and the value of the default.
type Range struct {
	Name               string
	Low, High, Default float64
}

// The knobs, each a field of DensityConfig or, the last, of TardinessConfig.
var (
	gammaKnob     = Range{"gamma", 0, 2.5, 0.4}
	bonusKnob     = Range{"bonus", 0, 1, 0.2}
	affinityKnob  = Range{"affinity", 0, 3, 0}
	halvingKnob   = Range{"halving", -0.5, 1, 0}
	doublingKnob  = Range{"doubling", -1, 0.5, 0}
	slopeKnob     = Range{"slope", -0.2, 1, 0}
	sigmaKnob     = Range{"sigma", 0.2, 3, estimateSigma}
	lookaheadKnob = Range{"lookahead", 0.1, 20, 2}
)

// knobs are the values of a tunable policy, put into its configuration.
type knobs struct {
	density   DensityConfig
	lookahead float64
}

// set sets a knob. In the configuration 0 asks for a default, which a knob that
// is there does not.
func (k *knobs) set(name string, x float64) bool {
	none := func(x float64) float64 {
		if x == 0 {
			return -1
		}
		return x
	}
	switch name {
	case "gamma":
		k.density.Gamma = none(x)
	case "bonus":
		k.density.Bonus = none(x)
	case "penalty":
		k.density.Penalty = none(x)
	case affinityKnob.Name:
		k.density.Affinity = x
	case halvingKnob.Name:
		k.density.Halving = x
	case doublingKnob.Name:
		k.density.Doubling = x
	case slopeKnob.Name:
		k.density.Slope = x
	case sigmaKnob.Name:
		k.density.Sigma = x
	case "median":
		k.density.Median = x
	case lookaheadKnob.Name:
		k.lookahead = x
	default:
		return false
	}
	return true
}

// family is a tunable policy.
type family struct {
	name   string
	ranges []Range // that a search goes through
	extra  []string
	start  DensityConfig
	build  func(knobs) (agent.Policy, error)
}

var families = []family{
	{
		name: densityName, build: buildDensity,
		ranges: []Range{gammaKnob, bonusKnob, affinityKnob, halvingKnob, doublingKnob, slopeKnob}, extra: []string{"penalty"},
	},
	{
		name: twoStageName, build: buildTwoStage, start: DensityConfig{Rigid: true},
		ranges: []Range{gammaKnob, bonusKnob, affinityKnob}, extra: []string{"penalty"},
	},
	{
		name: twoStageGittinsName, build: buildTwoStage, start: DensityConfig{Rigid: true, Gittins: true},
		ranges: []Range{gammaKnob, bonusKnob, affinityKnob, sigmaKnob}, extra: []string{"median", "penalty"},
	},
	{
		name: twoStageElasticName, build: buildTwoStage,
		ranges: []Range{gammaKnob, bonusKnob, affinityKnob, halvingKnob, doublingKnob, slopeKnob}, extra: []string{"penalty"},
	},
	{
		name: twoStageElasticGittinsName, build: buildTwoStage, start: DensityConfig{Gittins: true},
		ranges: []Range{gammaKnob, bonusKnob, affinityKnob, halvingKnob, doublingKnob, slopeKnob, sigmaKnob}, extra: []string{"median", "penalty"},
	},
	{
		name: tardinessName, build: buildTardiness,
		ranges: []Range{lookaheadKnob, gammaKnob, bonusKnob, affinityKnob, halvingKnob, doublingKnob, slopeKnob}, extra: []string{"penalty"},
	},
}

func buildDensity(k knobs) (agent.Policy, error)  { return NewDensity(k.density) }
func buildTwoStage(k knobs) (agent.Policy, error) { return NewTwoStage(k.density) }
func buildTardiness(k knobs) (agent.Policy, error) {
	return NewTardiness(TardinessConfig{K: k.lookahead, Density: k.density})
}

// configured returns a constructor of a tunable policy with its defaults.
func configured(name string) func() (agent.Policy, error) {
	return func() (agent.Policy, error) { return FromConfiguration(env.Configuration{Scheduler: name}) }
}

// from returns the policy with these knobs.
func (f *family) from(list []env.Knob) (agent.Policy, error) {
	k := knobs{density: f.start}
	var errs []error
	for _, knob := range list {
		switch {
		case !slices.Contains(f.knobNames(), knob.Name):
			errs = append(errs, fmt.Errorf("heuristic: %s: unknown knob %q, want one of %s", f.name, knob.Name, strings.Join(f.knobNames(), ", ")))
		case len(knob.Values) != 1:
			errs = append(errs, fmt.Errorf("heuristic: %s: %s has %d values, want 1", f.name, knob.Name, len(knob.Values)))
		case !k.set(knob.Name, knob.Values[0]):
			errs = append(errs, fmt.Errorf("heuristic: %s: knob %q is listed but cannot be set", f.name, knob.Name)) // a fault of the table
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f.build(k)
}

// knobNames lists the knobs of f in ascending order.
func (f *family) knobNames() []string {
	names := slices.Clone(f.extra)
	for _, r := range f.ranges {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

// Tunable lists the policies whose numbers can be tuned.
func Tunable() []string {
	names := make([]string, len(families))
	for i := range families {
		names[i] = families[i].name
	}
	return names
}

// Ranges returns what a search over a tunable policy goes through, or nil for
// others. The caller owns the result.
func Ranges(scheduler string) []Range {
	for i := range families {
		if families[i].name == scheduler {
			return slices.Clone(families[i].ranges)
		}
	}
	return nil
}
