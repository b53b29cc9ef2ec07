package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// QuotaChange sets a tenant's quota at some time of the trace. A decision at or
// after it has to keep to the quota; jobs that run go on until then.
type QuotaChange struct {
	At time.Duration // >= 0
	env.Quota
}

// Unlimited as QuotaChange.GPUs lifts the quota.
const Unlimited = -1

// quotaEra is a time in which quotas stay the same.
type quotaEra struct {
	from   time.Duration
	quotas []env.Quota // ordered; shared by states
}

func validateQuotaChanges(changes []QuotaChange, c *env.Cluster) error {
	var errs []error
	for i := range changes {
		q := changes[i].Quota
		if changes[i].At < 0 || i > 0 && changes[i].At < changes[i-1].At {
			errs = append(errs, fmt.Errorf("sim: config: Quotas[%d] is at %v, want >= 0 and ascending", i, changes[i].At))
		}
		if q.GPUs == Unlimited {
			q.GPUs = 0
		}
		if err := env.ValidateQuotas([]env.Quota{q}, c); err != nil {
			errs = append(errs, fmt.Errorf("sim: config: Quotas[%d] of tenant %q: %w", i, q.Tenant, err))
		}
	}
	return errors.Join(errs...)
}

// eras returns the quotas over time: first those that hold now, then the changes
// after that.
func eras(now time.Duration, hold []env.Quota, changes []QuotaChange) []quotaEra {
	if len(hold)+len(changes) == 0 {
		return nil
	}
	list := []quotaEra{{from: now, quotas: slices.Clone(hold)}}
	for i := range changes {
		last := &list[len(list)-1]
		if at := changes[i].At; at > last.from {
			list = append(list, quotaEra{from: at, quotas: slices.Clone(last.quotas)})
			last = &list[len(list)-1]
		}
		last.quotas = withQuota(last.quotas, changes[i].Quota)
	}
	return list
}

// withQuota changes one quota in a list.
func withQuota(list []env.Quota, q env.Quota) []env.Quota {
	at, found := slices.BinarySearchFunc(list, q, func(a, b env.Quota) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Type, b.Type))
	})
	switch {
	case found && q.GPUs == Unlimited:
		return slices.Delete(list, at, at+1)
	case found:
		list[at] = q
	case q.GPUs != Unlimited:
		return slices.Insert(list, at, q)
	}
	return list
}

// updateQuotas brings State.Quotas up to the clock.
func (s *Sim) updateQuotas() {
	list := s.ep.eras
	for s.era < len(list) && list[s.era].from <= s.state.Now {
		s.state.Quotas = list[s.era].quotas
		s.era++
	}
}
