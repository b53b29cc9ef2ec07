package soak

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"
)

// fault is something that happens to the service or to the way to it.
type fault struct {
	name   string
	weight int
	do     func(s *soak, ctx context.Context, r *rand.Rand) error
}

// The faults, but for those that kill the process.
var faults = []fault{
	{"stop", 3, (*soak).freeze},
	{"cut", 4, (*soak).cut},
	{"hostile", 8, (*soak).abuse},
}

// inject lets faults happen, one after the other, until ctx ends.
func (s *soak) inject(ctx context.Context, r *rand.Rand) error {
	start := time.Now()
	kill := fault{"kill", 3, (*soak).restart}
	for {
		pause := time.Duration(r.ExpFloat64() * float64(s.cfg.Pause))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(pause, 4*s.cfg.Pause)):
		}
		possible := faults
		if time.Since(start) < time.Duration(s.cfg.KillFor*float64(s.cfg.Duration)) {
			possible = append([]fault{kill}, faults...)
		}
		f := draw(possible, r)
		s.cfg.Logger.Info("fault", "name", f.name)
		if err := f.do(s, ctx, r); err != nil {
			return err
		}
		s.tally.do(func(*Service) { s.injected[f.name]++ })
	}
}

// draw takes one by weight.
func draw(from []fault, r *rand.Rand) fault {
	total := 0
	for _, f := range from {
		total += f.weight
	}
	n := r.IntN(total)
	for _, f := range from {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	return from[len(from)-1]
}

// restart kills the process and starts it again.
func (s *soak) restart(ctx context.Context, _ *rand.Rand) error {
	end := s.outages.begin(everyone)
	defer end()
	s.process.Kill()
	// The process is started also where the soak ends meanwhile.
	return s.process.Start(context.WithoutCancel(ctx))
}

// freeze stops the process for up to two seconds.
func (s *soak) freeze(ctx context.Context, r *rand.Rand) error {
	end := s.outages.begin(everyone)
	defer end()
	s.process.Signal(syscall.SIGSTOP)
	sleep(ctx, 50*time.Millisecond+time.Duration(r.Int64N(int64(2*time.Second))))
	s.process.Signal(syscall.SIGCONT)
	return nil
}

// cut breaks the connections of one group of clusters for up to three seconds.
func (s *soak) cut(ctx context.Context, r *rand.Rand) error {
	group := r.IntN(len(s.proxies))
	end := s.outages.begin(group)
	defer end()
	s.proxies[group].Cut()
	sleep(ctx, 100*time.Millisecond+time.Duration(r.Int64N(int64(3*time.Second))))
	s.proxies[group].Mend()
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
