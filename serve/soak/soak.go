package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// groups is the number of ways to the broker that can be cut apart.
const groups = 5

// stopLimit bounds how long the service may take to end at the end.
const stopLimit = 30 * time.Second

// soak is one in progress.
type soak struct {
	cfg       Config
	process   *Process
	proxies   []*servetest.Proxy
	observer  *nats.Conn
	judge     *Judge
	overheard overheard
	outages   outages
	tally     tally
	injected  map[string]int // under the lock of tally
	meter     meter
}

// Report says what happened.
type Report struct {
	Clusters  int            `json:"clusters"`
	Seconds   float64        `json:"seconds"`
	Faults    map[string]int `json:"faults"`
	Service   Service        `json:"service"`
	LatencyMS [3]float64     `json:"latency_ms"` // p50, p99 and the largest, of the answers
	Wire      Counts         `json:"wire"`
	Resources Resources      `json:"resources"`
	Problems  []string       `json:"problems"`
}

// Run soaks the service and returns what happened. Its error says what could
// not be done; what should not have happened is in the report.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &soak{
		cfg: cfg, judge: NewJudge(), injected: make(map[string]int),
		process: NewProcess(cfg.Command, cfg.HTTP),
		outages: outages{recovery: cfg.Recovery}, meter: meter{url: cfg.HTTP + "/metrics"},
	}
	s.tally.BySource, s.tally.Fallbacks = make(map[string]int64), make(map[string]int64)
	for range groups {
		p, err := servetest.ListenProxy(cfg.Broker)
		if err != nil {
			return nil, fmt.Errorf("soak: %w", err)
		}
		defer p.Close()
		s.proxies = append(s.proxies, p)
	}
	if err := s.process.Start(ctx); err != nil {
		return nil, err
	}
	if err := s.observe(); err != nil {
		return nil, errors.Join(err, s.process.Stop(stopLimit))
	}
	defer s.observer.Close()
	start := time.Now()
	err := s.run(ctx)
	took := time.Since(start)
	if stopped := s.process.Stop(stopLimit); stopped != nil {
		err = errors.Join(err, fmt.Errorf("soak: the service did not end as it should: %w", stopped))
	}
	return s.report(took), err
}

// run plays all clusters while faults happen, and for a while after them.
func (s *soak) run(ctx context.Context) error {
	playing, end := context.WithCancel(ctx)
	defer end()
	errs := make([]error, s.cfg.Clusters)
	var work sync.WaitGroup
	for i := range s.cfg.Clusters {
		m := &member{soak: s, name: fmt.Sprintf("c%02d", i), group: i % groups, url: s.proxies[i%groups].URL()}
		work.Go(func() {
			if errs[i] = m.play(playing, s.cfg.Seed); errs[i] != nil {
				end()
			}
		})
	}
	work.Go(func() { s.meter.watch(playing, max(200*time.Millisecond, s.cfg.Duration/600)) })
	faulty, over := context.WithTimeout(playing, s.cfg.Duration)
	err := s.inject(faulty, rng.New(s.cfg.Seed, "soak/faults"))
	over()
	if err == nil {
		sleep(playing, s.cfg.Recovery+3*s.cfg.Tick) // every cluster gets its last answers
	}
	end()
	work.Wait()
	return errors.Join(append(errs, err)...)
}

// warm is the part of the last life of the process that does not count for its
// memory: caches fill, tables grow to what they will hold.
const warm = 0.4

func (s *soak) report(took time.Duration) *Report {
	r := &Report{Clusters: s.cfg.Clusters, Seconds: took.Seconds(), Faults: s.injected, Service: s.tally.Service}
	r.Wire, r.Problems = s.judge.Verdict()
	r.Problems = append(r.Problems, s.tally.problems...)
	born := s.process.birth()
	r.Resources = s.meter.since(born.Add(time.Duration(warm * float64(time.Since(born)))))
	slices.Sort(s.tally.latencies)
	for i, q := range []float64{0.5, 0.99, 1} {
		if n := len(s.tally.latencies); n > 0 {
			r.LatencyMS[i] = float64(s.tally.latencies[int(math.Ceil(q*float64(n)))-1]) / 1e6
		}
	}
	return r
}

// Check reports what should not have happened; of memory, where the last life
// was watched for at least a minute.
func (r *Report) Check() error {
	var errs []error
	zero := func(what string, n int64) {
		if n != 0 {
			errs = append(errs, fmt.Errorf("soak: %d %s", n, what))
		}
	}
	zero("invalid decisions", r.Wire.Invalid)
	zero("decisions that changed", r.Wire.Changed)
	zero("states unanswered without a fault", r.Service.Unanswered)
	zero("states refused", r.Service.Refused)
	zero("decisions rejected by the client", r.Service.Rejected)
	zero("decisions applied twice or out of order", r.Service.Disordered)
	if r.Service.Answered == 0 {
		errs = append(errs, errors.New("soak: no state was answered"))
	}
	if m := r.Resources; m.Seconds >= 60 {
		if m.SlopeMB > 1 {
			errs = append(errs, fmt.Errorf("soak: memory grows by %.2f MB a minute, want at most 1", m.SlopeMB))
		}
		if m.Goroutines[1] > m.Goroutines[0]+10 || m.OpenFiles[1] > m.OpenFiles[0]+10 {
			errs = append(errs, fmt.Errorf("soak: goroutines went from %d to %d and open files from %d to %d", m.Goroutines[0], m.Goroutines[1], m.OpenFiles[0], m.OpenFiles[1]))
		}
	}
	return errors.Join(errs...)
}
