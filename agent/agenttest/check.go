// Package agenttest checks that a policy keeps the contract of agent.Policy.
//
// It is to policies what testing/fstest is to file systems: one call in the
// test of every implementation.
//
//	if err := agenttest.Check(policy, []uint64{1, 2, 3}); err != nil {
//		t.Error(err)
//	}
//
// Limits: there is no clock here, so that a policy returns soon after its
// context ends is checked by its answer, not by its time.
package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// statesPerSeed is the number of random states that Check draws for a seed,
// besides those with nodes out of service, quotas and shared GPUs.
const statesPerSeed = 12

// goroutines is the number of concurrent calls in the check of concurrent use.
const goroutines = 4

// Check decides many random states per seed with p and returns every broken
// rule, with the seed and the state that showed it. The rules:
//
//   - every allocation is valid, also that of a state without jobs;
//   - the same state gives the same allocation, whatever was decided between
//     and from however many goroutines at once (run the test with -race);
//   - the state is not modified, and the allocation belongs to the caller;
//   - when the context has ended, the answer is its error or the usual
//     allocation: a policy too fast to be worth interrupting may ignore it;
//   - names mean nothing: other names of tenants and IDs shifted by a constant
//     give the same allocation.
func Check(p agent.Policy, seeds []uint64) error {
	var errs []error
	if len(seeds) == 0 {
		errs = append(errs, errors.New("agenttest: no seeds: nothing would be checked"))
	}
	for _, seed := range seeds {
		for i, s := range states(seed) {
			for _, err := range checkState(p, s) {
				errs = append(errs, fmt.Errorf("agenttest: seed %d, state %d (%d jobs, %v): %w", seed, i, len(s.Jobs), s.Knowledge, err))
			}
		}
	}
	return errors.Join(errs...)
}

// states returns the random states of one seed, the corners among them.
func states(seed uint64) []*env.State {
	r := rng.New(seed, "agenttest")
	list := []*env.State{
		RandomState(r, Options{Jobs: 1}),
		RandomState(r, Options{Busy: NoneBusy}),
		RandomState(r, Options{Busy: AllBusy}),
		RandomState(r, Options{Jobs: 200, Busy: AllBusy}),
		RandomState(r, Options{Knowledge: []env.Knowledge{env.Oracle}}),
		RandomState(r, Options{Knowledge: []env.Knowledge{env.Estimate}}),
		RandomState(r, Options{Knowledge: []env.Knowledge{env.None}}),
	}
	empty := RandomState(r, Options{Jobs: 1})
	empty.Jobs = nil
	list = append(list, empty)
	for len(list) < statesPerSeed {
		list = append(list, RandomState(r, Options{}))
	}
	r = rng.New(seed, "agenttest/constrained")
	for _, busy := range []Busy{SomeBusy, SomeBusy, SomeBusy, NoneBusy, AllBusy} {
		list = append(list, RandomState(r, Options{Busy: busy, Constrained: true}))
	}
	return list
}

// checkState returns the rules that p breaks on s. s is left as it was.
func checkState(p agent.Policy, s *env.State) []error {
	ctx := context.Background()
	before := clone(s)
	want, err := p.Decide(ctx, s)
	if !reflect.DeepEqual(s, before) {
		return []error{errors.New("calling Decide modified the state")} // what follows would only repeat it
	}
	if err != nil {
		return []error{fmt.Errorf("calling Decide: %w", err)}
	}
	if err := want.Validate(s); err != nil {
		return []error{err}
	}
	kept := slices.Clone(want)
	var errs []error
	for _, rule := range []func(agent.Policy, *env.State, env.Allocation) error{
		checkOwned, checkConcurrent, checkEnded, checkNames,
	} {
		if err := rule(p, s, slices.Clone(kept)); err != nil {
			errs = append(errs, err)
		}
		if !slices.Equal(want, kept) {
			return append(errs, errors.New("an allocation changed after it was returned: the caller must own it"))
		}
	}
	if !reflect.DeepEqual(s, before) {
		errs = append(errs, errors.New("calling Decide modified the state when called again"))
	}
	return errs
}

// checkOwned decides another state, then s again twice, overwriting the first
// of the two answers: nothing of it may show in the second.
func checkOwned(p agent.Policy, s *env.State, want env.Allocation) error {
	other := RandomState(rng.New(uint64(s.Now), "agenttest/other"), Options{})
	if _, err := p.Decide(context.Background(), other); err != nil {
		return fmt.Errorf("calling Decide on another state: %w", err)
	}
	for range 2 {
		got, err := p.Decide(context.Background(), s)
		if err != nil {
			return fmt.Errorf("calling Decide called again: %w", err)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the same state gave two allocations: %w", difference(s, got, want))
		}
		for i := range got {
			got[i] = env.Idle - 1
		}
	}
	return nil
}

// checkConcurrent decides s in several goroutines at once.
func checkConcurrent(p agent.Policy, s *env.State, want env.Allocation) error {
	var wg sync.WaitGroup
	got := make([]env.Allocation, goroutines)
	errs := make([]error, goroutines)
	for g := range goroutines {
		wg.Go(func() { got[g], errs[g] = p.Decide(context.Background(), s) })
	}
	wg.Wait()
	for g := range goroutines {
		if errs[g] != nil {
			return fmt.Errorf("calling Decide from %d goroutines: %w", goroutines, errs[g])
		}
		if !slices.Equal(got[g], want) {
			return fmt.Errorf("calling Decide from %d goroutines gave another allocation: %w", goroutines, difference(s, got[g], want))
		}
	}
	return nil
}

// checkEnded decides s with a context that has ended.
func checkEnded(p agent.Policy, s *env.State, want env.Allocation) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := p.Decide(ctx, s)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("calling Decide with a cancelled context: %w, want the context's error", err)
	case err == nil && !slices.Equal(got, want):
		return fmt.Errorf("calling Decide with a cancelled context gave another allocation: %w", difference(s, got, want))
	}
	return nil
}

// checkNames decides s under other names of tenants and shifted IDs.
func checkNames(p agent.Policy, s *env.State, want env.Allocation) error {
	renamed := clone(s)
	for i := range renamed.Jobs {
		j := &renamed.Jobs[i]
		j.ID += 1_000_003
		if j.Tenant != "" {
			j.Tenant = otherName(j.Tenant)
		}
	}
	for i := range renamed.Quotas {
		if q := &renamed.Quotas[i]; q.Tenant != "" {
			q.Tenant = otherName(q.Tenant)
		}
	}
	slices.SortFunc(renamed.Quotas, func(a, b env.Quota) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Type, b.Type))
	})
	got, err := p.Decide(context.Background(), renamed)
	if err != nil {
		return fmt.Errorf("calling Decide with other tenants and IDs: %w", err)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("other names of tenants and shifted IDs changed the allocation: %w", difference(s, got, want))
	}
	return nil
}

// otherName returns another name for a tenant; the order of names is reversed.
func otherName(tenant string) string { return "tenant/" + string('z'-tenant[0]+'a') }

// difference names the first job that two allocations treat differently.
func difference(s *env.State, got, want env.Allocation) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d entries, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("job %d: strategy %d, before %d", s.Jobs[i].ID, got[i], want[i])
		}
	}
	return nil
}

// clone returns a deep copy of s.
func clone(s *env.State) *env.State {
	c := *s
	c.Cluster.Types = slices.Clone(s.Cluster.Types)
	c.Cluster.Nodes = slices.Clone(s.Cluster.Nodes)
	c.Down = slices.Clone(s.Down)
	c.Quotas = slices.Clone(s.Quotas)
	c.Jobs = slices.Clone(s.Jobs)
	for i := range c.Jobs {
		c.Jobs[i].Strategies = slices.Clone(c.Jobs[i].Strategies)
	}
	return &c
}
