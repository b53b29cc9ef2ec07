package tune

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// each calls do for the tasks 0 to n-1 from up to workers goroutines, each with
// a number of its own, and waits for all of them. Which worker runs which
// task is a matter of chance: do stores what it finds by task. The error
// returned is that of the task with the lowest number that failed.
func each(ctx context.Context, workers, n int, do func(ctx context.Context, worker, task int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for w := range min(workers, n) {
		wg.Go(func() {
			for {
				task := int(next.Add(1)) - 1
				if task >= n || failed.Load() || ctx.Err() != nil {
					return
				}
				if errs[task] = do(ctx, w, task); errs[task] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err())
}
