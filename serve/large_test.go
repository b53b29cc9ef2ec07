package serve_test

import (
	"context"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// A state of 10,000 jobs with 16 strategies each gets its decision, published and
// asked for, through the embedded broker and through one with NATS's default of
// 1 MiB for a message.
func TestLargeStates(t *testing.T) {
	jobs, payload := 10_000, 0
	if servetest.Race {
		jobs, payload = 500, 32<<10
	}
	state := servetest.Large(jobs, 16)
	external := servetest.StartNATS(t, payload)
	for name, url := range map[string]string{"embedded": "", "external": external.URL} {
		g := servetest.Guard(t)
		g.Policy = everyOther{}
		s := start(t, serve.Config{Guard: g, URL: url})
		c, err := client.Connect(t.Context(), client.Config{URL: s.URL(), Cluster: "c1", Retry: patience})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		d := decision(t, c, state)
		published := time.Since(began)
		began = time.Now()
		asked, err := c.Ask(t.Context(), state)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: published %v, asked %v", name, published.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		if len(d.Message.Picks) != jobs/2 || len(asked.Message.Picks) != jobs/2 {
			t.Errorf("%s: got %d and %d picks, want %d", name, len(d.Message.Picks), len(asked.Message.Picks), jobs/2)
		}
		stats, sent := s.Stats(), c.Stats()
		if stats.DecodedBytes < 5*stats.EncodedBytes || stats.EncodedBytes != sent.SentBytes {
			t.Errorf("%s: %d bytes sent, %d came in, %d decompressed", name, sent.SentBytes, stats.EncodedBytes, stats.DecodedBytes)
		}
		if chunked := sent.Chunks > 0; chunked != (url != "") || stats.Chunks != sent.Chunks || stats.ChunksDropped != 0 {
			t.Errorf("%s: %d chunks sent, %d came in, %d dropped", name, sent.Chunks, stats.Chunks, stats.ChunksDropped)
		}
	}
}

// everyOther runs every other job.
type everyOther struct{}

func (everyOther) Decide(_ context.Context, s *env.State) (env.Allocation, error) {
	a := env.NewAllocation(len(s.Jobs))
	for i := 0; i < len(a); i += 2 {
		a[i] = i / 2 % 4 // one GPU, of each type in turn
	}
	return a, nil
}
