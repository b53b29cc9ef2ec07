package verify

import (
	"context"
	"fmt"
	"slices"

	policies "github.com/yardmaster/yardmaster/agent/gavel"
	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// packingPolicies are those of the table that pack two jobs on the same GPUs.
var packingPolicies = map[string]func(seed uint64) gavel.PackingPolicy{
	"Gandiva_Packing": func(seed uint64) gavel.PackingPolicy { return policies.NewGandiva(seed) },
}

// comparePacking compares a run whose policy packs.
func comparePacking(ctx context.Context, l *loader, ref *files.Reference, policy gavel.PackingPolicy) ([]Figure, error) {
	cfg, err := l.packing(ref)
	if err != nil {
		return nil, err
	}
	cfg.Policy = policy
	p, err := gavel.NewPacking(cfg)
	if err != nil {
		return nil, err
	}
	r, err := toEnd(ctx, p)
	if err != nil {
		return nil, err
	}
	return exactFigures(l, ref, r)
}

// packing returns the simulation of a run whose policy packs, without the policy.
func (l *loader) packing(ref *files.Reference) (gavel.PackingConfig, error) {
	cfg, err := l.config(ref)
	if err != nil {
		return gavel.PackingConfig{}, err
	}
	if cfg.Window.End != 0 {
		return gavel.PackingConfig{}, fmt.Errorf("%s has a window, which runs that pack cannot have", ref.Trace)
	}
	oracle, err := l.oracle(ref.Throughputs)
	if err != nil {
		return gavel.PackingConfig{}, err
	}
	submitted, err := l.submitted(ref)
	if err != nil {
		return gavel.PackingConfig{}, err
	}
	types, jobs := present(cfg)
	pair := func(a, b, t int) (first, second float64) {
		place := files.Place{GPUType: types[t].Name}
		first, second, _ = oracle.Together(place, files.Pair{First: submitted[a].Class, Second: submitted[b].Class})
		return first, second // 0 where they were not measured: they do not run so
	}
	return gavel.PackingConfig{Types: types, Jobs: jobs, Pair: pair}, nil
}

// present returns the types that have GPUs and the jobs with their rates on those.
func present(cfg gavel.Config) (types []gavel.GPUType, jobs []gavel.Job) {
	jobs = slices.Clone(cfg.Jobs)
	for i := range jobs {
		jobs[i].Rates = nil
	}
	for t, typ := range cfg.Types {
		if typ.GPUs == 0 {
			continue
		}
		types = append(types, typ)
		for i := range jobs {
			jobs[i].Rates = append(jobs[i].Rates, cfg.Jobs[i].Rates[t])
		}
	}
	return types, jobs
}
