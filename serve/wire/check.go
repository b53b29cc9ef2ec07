package wire

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
)

// NewAllocation returns the message for allocation a of state s, which a must
// be valid for. The caller fills in who decided and how.
func NewAllocation(s *State, a env.Allocation) *Allocation {
	m := &Allocation{
		Schema: AllocationSchema, Cluster: s.Cluster, Epoch: s.Epoch, StateSeq: s.Seq,
		ID:    DecisionID(s.Key(), KindAllocation),
		Picks: make([]Pick, 0, 16),
	}
	for i, k := range a {
		if k != env.Idle {
			m.Picks = append(m.Picks, Pick{Job: s.State.Jobs[i].ID, Strategy: k})
		}
	}
	return m
}

// Check verifies that a answers state k and can be applied in s. It is the
// independent checker: it reads the message as it goes over the wire and shares
// no code with env.Allocation.Validate, so that one fault cannot hide in both.
// The service runs it on what it sends, the client on what it receives.
func (a *Allocation) Check(k Key, s *env.State) error {
	if a.Key() != k || a.ID != DecisionID(k, KindAllocation) {
		return Errorf(CodeConflict, "id", "decision %.96q answers another state than %s", a.ID, DecisionID(k, KindAllocation))
	}
	jobs := make(map[int64]*env.JobState, len(s.Jobs))
	for i := range s.Jobs {
		jobs[s.Jobs[i].ID] = &s.Jobs[i]
	}
	used := make(map[int]int, len(s.Cluster.Types)) // GPUs by type
	for i, p := range a.Picks {
		j := jobs[p.Job]
		switch {
		case j == nil:
			return Errorf(CodeInvalid, pickPath(i), "job %d is not in the state or is picked twice", p.Job)
		case p.Strategy < 0 || p.Strategy >= len(j.Strategies):
			return Errorf(CodeInvalid, pickPath(i), "job %d has no strategy %d", p.Job, p.Strategy)
		}
		delete(jobs, p.Job) // a second pick finds nothing
		used[j.Strategies[p.Strategy].Type] += j.Strategies[p.Strategy].GPUs
	}
	for _, n := range s.Cluster.Nodes {
		used[n.Type] -= n.GPUs
	}
	for t := range s.Cluster.Types {
		if used[t] > 0 {
			return Errorf(CodeInvalid, "allocation", "%d GPUs of type %s more than the cluster has", used[t], s.Cluster.Types[t].Name)
		}
	}
	return nil
}

func pickPath(i int) string { return fmt.Sprintf("allocation[%d]", i) }

// Allocation returns a as an allocation of s, which Check accepted it for.
func (a *Allocation) Allocation(s *env.State) env.Allocation {
	alloc := env.NewAllocation(len(s.Jobs))
	next := 0 // picks follow the state's order, so one pass suffices; a wrap covers any other order
	for _, p := range a.Picks {
		for range s.Jobs {
			if next == len(s.Jobs) {
				next = 0
			}
			if s.Jobs[next].ID == p.Job {
				alloc[next] = p.Strategy
				break
			}
			next++
		}
	}
	return alloc
}
