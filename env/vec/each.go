package vec

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/env"
)

// Each calls do for the tasks 0 to n-1, each with an environment that no other
// task has meanwhile, in whatever state the last one left it: do resets it.
// Which environment a task gets is a matter of chance; slot is its number, below
// Len, and serves for scratch memory only. Tasks begin in order. After an error
// no more begin, and the error returned is that of the first task that has one,
// or else ctx's. The run then needs a Reset.
func (v *Envs) Each(ctx context.Context, n int, do func(ctx context.Context, slot int, e env.Env, task int) error) error {
	v.started = false
	errs := make([]error, n)
	var failed atomic.Bool
	v.share(n, func(slot, task int) bool {
		if failed.Load() || ctx.Err() != nil {
			return false
		}
		if errs[task] = do(ctx, slot, v.envs[slot], task); errs[task] != nil {
			failed.Store(true)
		}
		return true
	})
	for task, err := range errs {
		if err != nil {
			return fmt.Errorf("vec: task %d: %w", task, err)
		}
	}
	return ctx.Err()
}

// Every calls do once for every environment, in whatever state it is, and returns
// all errors in order. It is for what steps environments in a way of its own; a
// run of Step or Rollout then needs a Reset.
func (v *Envs) Every(do func(i int, e env.Env) error) error {
	v.started = false
	return v.all(func(i int) error { return do(i, v.envs[i]) })
}

// share calls do for the tasks 0 to n-1 on all workers, each with a number of
// its own, until do returns false. The caller is a worker too.
func (v *Envs) share(n int, do func(worker, task int) bool) {
	var next atomic.Int64
	work := func(worker int) {
		for {
			task := int(next.Add(1)) - 1
			if task >= n || !do(worker, task) {
				return
			}
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < min(v.cfg.Workers, len(v.envs), n); w++ {
		wg.Go(func() { work(w) })
	}
	work(0)
	wg.Wait()
}
