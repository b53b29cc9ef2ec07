package agenttest

import (
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// constrain takes nodes out of service, all of them now and then, gives tenants
// quotas, some of nothing, and makes some strategies share their GPUs.
func constrain(r *rand.Rand, s *env.State) {
	failing := oneOf(r, 0, 0.2, 0.5, 1)
	for n := range s.Cluster.Nodes {
		if r.Float64() < failing {
			s.Down = append(s.Down, n)
		}
	}
	types := []int{env.AnyType}
	for t := range s.Cluster.Types {
		types = append(types, t)
	}
	for _, tenant := range []string{"", "a", "c"} { // b has none
		for _, t := range types {
			if r.IntN(3) == 0 {
				s.Quotas = append(s.Quotas, env.Quota{Tenant: tenant, Type: t, GPUs: r.IntN(12)})
			}
		}
	}
	shareGPUs(r, s.Jobs)
}

// shareGPUs adds strategies on parts of GPUs to the classes of jobs: half as
// many GPUs' worth at somewhat more than half the speed.
func shareGPUs(r *rand.Rand, jobs []env.JobState) {
	shared := make(map[*env.Strategy][]env.Strategy) // by the first strategy of a class
	for i := range jobs {
		first := &jobs[i].Strategies[0]
		if shared[first] == nil {
			shared[first] = withShares(r, jobs[i].Strategies)
		}
		jobs[i].Strategies = shared[first]
	}
}

func withShares(r *rand.Rand, class []env.Strategy) []env.Strategy {
	list := slices.Clone(class)
	for _, st := range class {
		if r.IntN(2) == 0 {
			st.Share = oneOf(r, 1, 2, 4, 8)
			st.Throughput *= (0.5 + 0.5*r.Float64()) / float64(st.Share)
			list = append(list, st)
		}
	}
	if r.IntN(4) == 0 { // a job that runs on a part of a GPU only
		list = list[len(list)-1:]
	}
	return list
}
