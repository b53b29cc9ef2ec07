package tune

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEach(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		got := make([]int, 20)
		busy := make([]bool, workers)
		err := each(t.Context(), workers, len(got), func(_ context.Context, worker, task int) error {
			if busy[worker] { // also a data race, if two tasks shared a worker
				t.Errorf("worker %d runs two tasks", worker)
			}
			busy[worker] = true
			got[task]++
			busy[worker] = false
			return nil
		})
		if err != nil || slices.Min(got) != 1 || slices.Max(got) != 1 {
			t.Errorf("%d workers: got %v, %v, want every task once", workers, got, err)
		}
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	done := 0
	err := each(t.Context(), 1, 20, func(_ context.Context, _, task int) error {
		done++
		if task == 3 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || done != 4 {
		t.Errorf("got %v after %d tasks, want %v after 4", err, done, broken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := each(ctx, 2, 5, func(context.Context, int, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
