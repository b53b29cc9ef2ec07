package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers/catalogue"
	"github.com/yardmaster/yardmaster/datasets/synth"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

// completions are the values that a shell completes for flags that take one of a few
// names, by flag, or by command and flag where a flag means something else elsewhere.
// Of other flags shells complete files.
func completions() map[string][]string {
	named := append(policyNames(), learned)
	var sets, objectives []string
	for _, s := range scenario.StrategySets() {
		sets = append(sets, string(s))
	}
	for _, o := range tune.Objectives {
		objectives = append(objectives, o.Name)
	}
	return map[string][]string{
		"knowledge":          {"oracle", "estimate", "none"},
		"objective":          {"jct", "tardiness", "misses", "fair-jct"},
		"only":               {runfile.OnlyAllocation, runfile.OnlyConfiguration},
		"policy":             named,
		"policies":           named,
		"reference":          named,
		"teacher":            policyNames(),
		"strategies":         sets,
		"minimise":           objectives,
		"placement":          {sim.Consolidate.String(), sim.Spread.String()},
		"preset":             synth.Presets(),
		"align":              {alignEpoch, alignStart},
		"split by":           {splitByTime, splitBySpan},
		"arrivals-half-life": {"auto", "never"},
		"jobs-half-life":     {"auto", "never"},
		"import from":        append(catalogue.Names(), catalogue.Auto),
		"import table":       datasets.Kinds(),
		"clone from":         append([]string{"published", "program"}, named...),
	}
}

// offerCompletions gives the flags of all commands below c their values.
func offerCompletions(c *cobra.Command, values map[string][]string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		offered, ok := values[c.Name()+" "+f.Name]
		if !ok {
			offered, ok = values[f.Name]
		}
		if !ok {
			return
		}
		_, list := f.Value.(pflag.SliceValue)
		_ = c.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return complete(offered, begun, list), cobra.ShellCompDirectiveNoFileComp
		}) // fails for a flag that is not there or has one
	})
	for _, sub := range c.Commands() {
		offerCompletions(sub, values)
	}
}

// complete returns what a value that is begun can become; of a list, its last part.
func complete(offered []string, begun string, list bool) (all []string) {
	before := ""
	if i := strings.LastIndexByte(begun, ','); list && i >= 0 {
		before = begun[:i+1]
	}
	for _, value := range offered {
		if strings.HasPrefix(before+value, begun) {
			all = append(all, before+value)
		}
	}
	return all
}
