package heuristic

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
)

// Names of the base scheduler whose configuration is learned and of its knobs.
const (
	tiresiasName   = "tiresias"
	promoteKnob    = "promote"    // one value, see TiresiasConfig.Promote
	thresholdsKnob = "thresholds" // any number of values, see TiresiasConfig.Thresholds
)

// ErrUnknownScheduler is wrapped by the error of [FromConfiguration] for a
// scheduler that has no knobs here.
var ErrUnknownScheduler = errors.New("heuristic: unknown scheduler")

// FromConfiguration returns the policy that c describes: Tiresias or one of
// [Tunable]. A knob that c leaves out has its default; an unknown one is an error.
func FromConfiguration(c env.Configuration) (agent.Policy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Scheduler == tiresiasName {
		return tiresiasFrom(c.Knobs)
	}
	for i := range families {
		if families[i].name == c.Scheduler {
			return families[i].from(c.Knobs)
		}
	}
	return nil, fmt.Errorf("%w %q, want %s or one of %s", ErrUnknownScheduler, c.Scheduler, tiresiasName, strings.Join(Tunable(), ", "))
}

func tiresiasFrom(knobs []env.Knob) (agent.Policy, error) {
	cfg := tiresiasDefault()
	var errs []error
	for _, k := range knobs {
		switch {
		case k.Name == thresholdsKnob:
			cfg.Thresholds = k.Values
		case k.Name == promoteKnob && len(k.Values) == 1:
			cfg.Promote = k.Values[0]
		case k.Name == promoteKnob:
			errs = append(errs, fmt.Errorf("heuristic: tiresias: promote has %d values, want 1", len(k.Values)))
		default:
			errs = append(errs, fmt.Errorf("heuristic: tiresias: unknown knob %q, want %s or %s", k.Name, promoteKnob, thresholdsKnob))
		}
	}
	if err := cfg.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return NewTiresias(cfg)
}

// Configuration returns cfg in the form that is searched, learned and published.
func (c TiresiasConfig) Configuration() env.Configuration {
	return env.Configuration{Scheduler: tiresiasName, Knobs: []env.Knob{
		{Name: promoteKnob, Values: []float64{c.Promote}},
		{Name: thresholdsKnob, Values: append([]float64{}, c.Thresholds...)},
	}}
}

// tiresiasDefault is two queues split at one GPU-hour, without promotion: the
// setting of Tiresias' published simulator (jobs.py) and of TitanSched.
func tiresiasDefault() TiresiasConfig { return TiresiasConfig{Thresholds: []float64{3600}} }

// TiresiasDefault returns Tiresias' published configuration.
func TiresiasDefault() env.Configuration { return tiresiasDefault().Configuration() }

// TiresiasConfigurations returns the candidates among which a configuration is
// searched or learned, the default first. They span one to four queues and
// thresholds from 300 to 1.2 million GPU-seconds, evenly on a logarithmic
// scale. The list is part of what a learned configuration policy means: new
// entries go to the end. The caller owns the result.
func TiresiasConfigurations() []env.Configuration {
	list := []env.Configuration{
		TiresiasDefault(),
		TiresiasConfig{}.Configuration(),
		// The four queues of Tiresias' simulator.
		TiresiasConfig{Thresholds: []float64{3250, 7200, 18000}}.Configuration(),
		// The two limits that TitanSched adds.
		TiresiasConfig{Thresholds: []float64{3600, 1209600}}.Configuration(),
	}
	for _, grid := range []struct{ queues, n int }{{2, 8}, {3, 7}, {4, 5}} {
		for i := range grid.n {
			list = append(list, spaced(grid.queues, float64(i)/float64(grid.n-1)).Configuration())
		}
	}
	return list
}

// spaced returns a configuration whose top threshold lies at x in [0, 1] of the
// logarithmic range and whose others lie below it, each a quarter of the next:
// the top threshold is the knob that matters (see the design's measurements).
func spaced(queues int, x float64) TiresiasConfig {
	const low, high, ratio = 300, 1_200_000, 4
	lowest := low * math.Pow(ratio, float64(queues-2))
	top := lowest * math.Pow(high/lowest, x)
	thresholds := make([]float64, queues-1)
	for i := range thresholds {
		thresholds[i] = math.Round(top / math.Pow(ratio, float64(queues-2-i)))
	}
	return TiresiasConfig{Thresholds: thresholds}
}
