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
	used := newUsage(s)
	for i, p := range a.Picks {
		j := jobs[p.Job]
		switch {
		case j == nil:
			return Errorf(CodeInvalid, pickPath(i), "job %d is not in the state or is picked twice", p.Job)
		case p.Strategy < 0 || p.Strategy >= len(j.Strategies):
			return Errorf(CodeInvalid, pickPath(i), "job %d has no strategy %d", p.Job, p.Strategy)
		}
		delete(jobs, p.Job) // a second pick finds nothing
		used.add(j.Tenant, &j.Strategies[p.Strategy])
	}
	return used.check(s)
}

// usage is what picks take, in GPUs: by type, and by tenant and type.
type usage struct {
	byType   []float64
	byTenant map[string][]float64 // of the tenants that have a quota
}

func newUsage(s *env.State) usage {
	u := usage{byType: make([]float64, len(s.Cluster.Types)), byTenant: make(map[string][]float64)}
	for i := range s.Quotas {
		u.byTenant[s.Quotas[i].Tenant] = make([]float64, len(s.Cluster.Types))
	}
	return u
}

func (u *usage) add(tenant string, st *env.Strategy) {
	gpus := float64(st.GPUs) // halves, quarters and eighths add up without rounding
	if st.Share > 1 {
		gpus /= float64(st.Share)
	}
	u.byType[st.Type] += gpus
	if types := u.byTenant[tenant]; types != nil {
		types[st.Type] += gpus
	}
}

// check compares u with what s has in service and with its quotas.
func (u *usage) check(s *env.State) error {
	down := make(map[int]bool, len(s.Down))
	for _, n := range s.Down {
		down[n] = true
	}
	for i, n := range s.Cluster.Nodes {
		if !down[i] {
			u.byType[n.Type] -= float64(n.GPUs)
		}
	}
	for t, over := range u.byType {
		if over > 0 {
			return Errorf(CodeInvalid, "allocation", "%v GPUs of type %s more than the cluster has in service", over, s.Cluster.Types[t].Name)
		}
	}
	for _, q := range s.Quotas {
		total := 0.0
		for t, gpus := range u.byTenant[q.Tenant] {
			if q.Type == t || q.Type == env.AnyType {
				total += gpus
			}
		}
		if total > float64(q.GPUs) {
			return Errorf(CodeInvalid, "allocation", "%v GPUs for tenant %.64q, its quota is %d", total, q.Tenant, q.GPUs)
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
