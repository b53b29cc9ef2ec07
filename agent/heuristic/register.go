package heuristic

import "github.com/yardmaster/yardmaster/agent"

// entries lists every policy of this package with its defaults.
var entries = []agent.Entry{
	{Name: "fifo", About: "first in, first out, no preemption", New: always(FIFO{})},
	{Name: "srtf", About: "shortest remaining time first", New: always(SRTF{})},
	{Name: "srsf", About: "shortest remaining service first: time × GPUs", New: always(SRSF{})},
	{Name: "las", About: "least attained service first", New: always(LAS{})},
	{Name: "las-migrate", About: "least attained service, GPU types traded freely between jobs", New: always(LASMigrate{})},
	{Name: tiresiasName, About: "discretized least attained service, published defaults", New: func() (agent.Policy, error) { return NewTiresias(tiresiasDefault()) }},
	{Name: "gittins", About: "Tiresias' Gittins index of attained service, by the distribution of recent jobs", New: func() (agent.Policy, error) { return NewGittins(GittinsConfig{}) }},
	{Name: "themis", About: "finish-time fairness: the worst off first, leases (Themis, auction simplified)", New: func() (agent.Policy, error) { return NewThemis(ThemisConfig{}) }},
	{Name: "gandiva", About: "time slices, packing, trial of GPU types (Gandiva)", New: func() (agent.Policy, error) { return NewGandiva(GandivaConfig{}) }},
	{Name: "allox", About: "matching of waiting jobs to free GPUs for least total completion time (AlloX)", New: always(AlloX{})},
	{Name: densityName, About: "greedy by weighted work per GPU and time left, elastic", New: configured(densityName)},
	{Name: twoStageName, About: "greedy, then swaps of GPU types, rigid", New: configured(twoStageName)},
	{Name: twoStageGittinsName, About: "two-stage by the Gittins index where work is not known for certain", New: configured(twoStageGittinsName)},
	{Name: twoStageElasticName, About: "two-stage over all numbers of GPUs", New: configured(twoStageElasticName)},
	{Name: twoStageElasticGittinsName, About: "two-stage over all numbers of GPUs, by the Gittins index", New: configured(twoStageElasticGittinsName)},
	{Name: "edf", About: "earliest deadline first", New: always(EDF{})},
	{Name: "laxity", About: "least laxity first: time to the deadline less time needed", New: always(LeastLaxity{})},
	{Name: tardinessName, About: "apparent tardiness cost: weighted density that rises towards the deadline, elastic", New: configured(tardinessName)},
	{Name: "elasticflow", About: "least share that meets each deadline, the rest by marginal return (ElasticFlow)", New: always(ElasticFlow{})},
	{Name: "optimus", About: "GPUs to whom they save most remaining time (Optimus)", New: always(Optimus{})},
	{Name: "afs", About: "elastic sharing by pairwise comparison of gains (AFS-L)", New: always(AFS{})},
	{Name: "random", About: "a random maximal allocation", New: always(Random{})},
}

// Register adds every policy of this package to r, with its defaults.
func Register(r *agent.Registry) {
	for _, e := range entries {
		r.Register(e)
	}
}

// always returns a constructor of the policy p, which holds nothing.
func always(p agent.Policy) func() (agent.Policy, error) {
	return func() (agent.Policy, error) { return p, nil }
}
