package agenttest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

// policy makes an agent.Policy of a function.
type policy func(context.Context, *env.State) (env.Allocation, error)

func (p policy) Decide(ctx context.Context, s *env.State) (env.Allocation, error) { return p(ctx, s) }

// idle is the simplest policy that keeps the contract.
func idle(ctx context.Context, s *env.State) (env.Allocation, error) {
	return env.NewAllocation(len(s.Jobs)), ctx.Err()
}

// first runs the jobs that fit in their first strategy, in the order given.
func first(s *env.State, before func(a, b *env.JobState) bool) env.Allocation {
	a := env.NewAllocation(len(s.Jobs))
	budget := env.NewBudget(s)
	for {
		best := -1
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if a[i] == env.Idle && budget.Fits(j, &j.Strategies[0]) && (best < 0 || before(&s.Jobs[i], &s.Jobs[best])) {
				best = i
			}
		}
		if best < 0 {
			return a
		}
		a[best] = 0
		budget.Take(&s.Jobs[best], &s.Jobs[best].Strategies[0])
	}
}

func TestCheckAcceptsTheContract(t *testing.T) {
	for name, p := range map[string]policy{
		"idle": idle,
		"first by ID": func(_ context.Context, s *env.State) (env.Allocation, error) {
			return first(s, func(a, b *env.JobState) bool { return a.ID < b.ID }), nil
		},
	} {
		if err := Check(p, []uint64{1, 2, 3}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckFindsBrokenPolicies breaks each rule once.
func TestCheckFindsBrokenPolicies(t *testing.T) {
	var mu sync.Mutex
	var calls int
	var kept env.Allocation
	errOwn := errors.New("no answer")
	for name, c := range map[string]struct {
		decide policy
		want   string
	}{
		"too short": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			return make(env.Allocation, max(0, len(s.Jobs)-1)), nil
		}, "invalid allocation"},
		"too many GPUs": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			return make(env.Allocation, len(s.Jobs)), nil
		}, "GPUs too many"},
		"returns an error": {func(context.Context, *env.State) (env.Allocation, error) {
			return nil, errOwn
		}, "no answer"},
		"refuses states without jobs": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			if len(s.Jobs) == 0 {
				return nil, errOwn
			}
			return env.NewAllocation(len(s.Jobs)), nil
		}, "(0 jobs"},
		"counts its calls": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			mu.Lock()
			calls++
			reverse := calls%2 == 0
			mu.Unlock()
			return first(s, func(a, b *env.JobState) bool { return (a.ID < b.ID) != reverse }), nil
		}, "two allocations"},
		"modifies a job": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			for i := range s.Jobs {
				s.Jobs[i].Weight++
			}
			return env.NewAllocation(len(s.Jobs)), nil
		}, "modified the state"},
		"modifies a shared strategy": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			for i := range s.Jobs {
				s.Jobs[i].Strategies[0].Throughput *= 2
			}
			return env.NewAllocation(len(s.Jobs)), nil
		}, "modified the state"},
		"reuses its result": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept[:0], env.NewAllocation(len(s.Jobs))...)
			return kept, nil
		}, "caller must own it"},
		"another error when cancelled": {func(ctx context.Context, s *env.State) (env.Allocation, error) {
			if ctx.Err() != nil {
				return nil, errOwn
			}
			return env.NewAllocation(len(s.Jobs)), nil
		}, "want the context's error"},
		"half an answer when cancelled": {func(ctx context.Context, s *env.State) (env.Allocation, error) {
			if ctx.Err() != nil {
				return env.NewAllocation(len(s.Jobs)), nil
			}
			return first(s, func(a, b *env.JobState) bool { return a.ID < b.ID }), nil
		}, "cancelled context gave another allocation"},
		"prefers a tenant": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			return first(s, func(a, b *env.JobState) bool { return a.Tenant < b.Tenant }), nil
		}, "other names of tenants"},
		"goes by the value of IDs": {func(_ context.Context, s *env.State) (env.Allocation, error) {
			return first(s, func(a, b *env.JobState) bool { return a.ID%7 < b.ID%7 }), nil
		}, "other names of tenants"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.decide, []uint64{1, 2, 3})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestCheckConcurrentUse(t *testing.T) {
	// A policy that answers differently while another call is in flight.
	var mu sync.Mutex
	inFlight := 0
	var meet sync.WaitGroup
	meet.Add(goroutines)
	arm := false
	p := policy(func(_ context.Context, s *env.State) (env.Allocation, error) {
		mu.Lock()
		inFlight++
		wait := arm
		mu.Unlock()
		if wait {
			meet.Done()
			meet.Wait()
		}
		mu.Lock()
		defer mu.Unlock()
		reverse := inFlight > 1
		if !wait {
			inFlight--
		}
		return first(s, func(a, b *env.JobState) bool { return (a.ID < b.ID) != reverse }), nil
	})
	s := states(1)[3]
	want, _ := p.Decide(context.Background(), s)
	arm = true
	err := checkConcurrent(p, s, want)
	if err == nil || !strings.Contains(err.Error(), "goroutines gave another allocation") {
		t.Errorf("got %v, want another allocation from several goroutines", err)
	}
}

func TestCheckNeedsSeeds(t *testing.T) {
	if Check(policy(idle), nil) == nil {
		t.Error("got nil for no seeds, want an error")
	}
}
