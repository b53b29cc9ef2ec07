package sim

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// Objective says what rewards add up to over an episode. All are in job-hours
// and none is positive.
type Objective uint8

const (
	// JCT rewards with −∫ Σ weights of the jobs in the system dt: the sum is
	// exactly −Σ weight × completion time.
	JCT Objective = iota
	// Delay rewards with that plus what the round got done, measured in the time
	// that the jobs' fastest candidates would have needed for it. The sum is
	// −Σ weight × (completion time − time on the fastest candidate), which
	// differs from JCT by what no policy can change, so both have the same best
	// policies. But a job's long run no longer drowns the decisions: one that runs
	// at full speed costs nothing, one that waits costs all of its time, and a
	// choice shows in the reward of its own round. It is the potential-based
	// shaping of Ng, Harada and Russell (ICML 1999) with the potential
	// −Σ weight × time still needed, but for what arrivals add to it.
	Delay
)

var objectiveNames = [...]string{"jct", "delay"}

func (o Objective) String() string {
	if int(o) < len(objectiveNames) {
		return objectiveNames[o]
	}
	return fmt.Sprintf("Objective(%d)", uint8(o))
}

// reward returns the reward, in job-hours, of a round in which jobs spent flow
// weighted seconds in the system and got done what takes ideal weighted seconds
// on their fastest candidates.
func (o Objective) reward(flow, ideal float64) float64 {
	if o == Delay {
		flow -= ideal
	}
	return -flow / 3600
}

// fastest returns the highest throughput, in steps/s, among the strategies that
// fit the cluster.
func (s *Sim) fastest(strategies []env.Strategy) float64 {
	best := 0.0
	for k := range strategies {
		if st := &strategies[k]; st.GPUs <= s.capacity[st.Type] {
			best = max(best, st.Throughput)
		}
	}
	return best
}
