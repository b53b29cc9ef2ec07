package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// errPanic is wrapped by the error of a call that panicked.
var errPanic = errors.New("guard: panic")

// runner runs calls of one policy in goroutines of their own, at most a fixed
// number at once.
type runner struct {
	places chan struct{}
	calls  *sync.WaitGroup // shared by all runners of a guard
	logger *slog.Logger
}

// result is what a call came to.
type result[T any] struct {
	value T
	err   error
}

// run starts call and returns where its result will be. The channel is
// buffered: a result that nobody waits for any more blocks nothing.
func run[T any](ctx context.Context, r *runner, call func(context.Context) (T, error)) <-chan result[T] {
	out := make(chan result[T], 1)
	select {
	case r.places <- struct{}{}:
	default:
		out <- result[T]{err: fmt.Errorf("guard: %d calls in flight: %w", cap(r.places), context.DeadlineExceeded)}
		return out
	}
	r.calls.Go(func() {
		defer func() { <-r.places }()
		var res result[T]
		res.value, res.err = protect(ctx, r.logger, call)
		out <- res
	})
	return out
}

// start runs f in a goroutine if there is a place for it, and reports whether there
// is.
func (r *runner) start(f func()) bool {
	select {
	case r.places <- struct{}{}:
	default:
		return false
	}
	r.calls.Go(func() {
		defer func() { <-r.places }()
		f()
	})
	return true
}

// protect turns a panic into an error.
func protect[T any](ctx context.Context, logger *slog.Logger, call func(context.Context) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("policy panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return call(ctx)
}

// reason classifies the error of a call.
func (g *Guard) reason(err error) wire.Reason {
	switch {
	case err == nil:
		return wire.ReasonNone
	case errors.Is(err, errPanic):
		return wire.ReasonPanic
	case errors.Is(err, ErrInfeasible):
		return wire.ReasonInfeasible
	case errors.Is(err, errInvalid):
		return wire.ReasonInvalid
	case g.cfg.NonFinite != nil && errors.Is(err, g.cfg.NonFinite):
		return wire.ReasonNonFinite
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return wire.ReasonLate
	}
	return wire.ReasonError
}
