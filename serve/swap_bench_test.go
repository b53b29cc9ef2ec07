package serve_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// BenchmarkModelSwap is a decide request, of which four are on their way at any time,
// without swaps and while the model in charge is swapped as fast as operators can
// ask: by rollback, which only changes a pointer, and by load, which reads, checks
// and warms up the model each time. Any failed request ends it.
func BenchmarkModelSwap(b *testing.B) {
	for _, with := range []string{"none", admin.Rollback, admin.Load} {
		b.Run("by="+with, func(b *testing.B) { benchSwap(b, with) })
	}
}

func benchSwap(b *testing.B, with string) {
	repo, err := repository.Create(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for seed := range uint64(2) {
		if _, err := repo.Add("demo", servetest.Files(b, servetest.Model(b, seed+1)), repository.Version{}); err != nil {
			b.Fatal(err)
		}
	}
	s, err := serve.New(serve.Config{Guard: servetest.Guard(b), Models: serve.Models{Root: repo.Root()}, Broker: broker.Config{StoreDir: b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	operator, err := nats.Connect(s.URL())
	if err != nil {
		b.Fatal(err)
	}
	defer operator.Close()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		if _, refusal := ask(b, operator, admin.Load, admin.LoadRequest{Name: "demo", Version: version, Promote: true}); refusal != nil {
			b.Fatal(refusal)
		}
	}
	var stop atomic.Bool
	var swapping sync.WaitGroup
	var swaps []time.Duration
	if with != "none" {
		swapping.Go(func() {
			for i := 0; !stop.Load(); i++ {
				began := time.Now()
				var request any = admin.KindRequest{Kind: models.JobStrategy}
				if with == admin.Load {
					request = admin.LoadRequest{Name: "demo", Version: fmt.Sprintf("1.%d.0", i%2), Promote: true}
				}
				if _, refusal := ask(b, operator, with, request); refusal != nil {
					b.Error(refusal)
					return
				}
				swaps = append(swaps, time.Since(began))
				time.Sleep(time.Millisecond)
			}
		})
	}
	times := hammer(b, s.URL())
	stop.Store(true)
	swapping.Wait()
	report(b, "request", times)
	if len(swaps) > 0 {
		b.ReportMetric(float64(len(swaps)), "swaps")
		report(b, "swap", swaps)
	}
}

// hammer asks for b.N decisions from four connections and returns how long each
// took.
func hammer(b *testing.B, url string) []time.Duration {
	body := servetest.Body(b, servetest.State(b, 1, 1))
	const clients = 4
	var left atomic.Int64
	var all [clients][]time.Duration
	var wg sync.WaitGroup
	left.Store(int64(b.N))
	b.ResetTimer()
	for c := range clients {
		wg.Go(func() {
			nc := connectQuietly(url)
			if nc == nil {
				b.Error("a client cannot connect")
				return
			}
			defer nc.Close()
			for left.Add(-1) >= 0 {
				began := time.Now()
				m, err := nc.Request("yardmaster.v1.svc.decide", body, patience)
				if err != nil {
					b.Errorf("failed: %v", err)
					return
				}
				all[c] = append(all[c], time.Since(began))
				if a, err := wire.DecodeAllocation(m.Data); err != nil || a.Source != wire.SourcePolicy || a.Model == "" {
					b.Errorf("got %s, %v", m.Data, err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	return slices.Concat(all[:]...)
}

func report(b *testing.B, of string, times []time.Duration) {
	slices.Sort(times)
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		if len(times) > 0 {
			b.ReportMetric(float64(times[int(q*float64(len(times)-1))])/1e3, of+"-"+name+"-µs")
		}
	}
}
