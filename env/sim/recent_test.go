package sim

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// TestFillKeepsThePast spreads a window over rounds and sums it up again: means
// stay, and counts do where the simulator's window is as long.
func TestFillKeepsThePast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.Int64Range(1, 40).Draw(t, "rounds covered")
		window := rapid.IntRange(1, 40).Draw(t, "window")
		length := time.Duration(rapid.IntRange(1, 1000).Draw(t, "round")) * time.Second
		past := env.Window{
			Length:           time.Duration(rounds) * length,
			Arrivals:         rapid.IntRange(0, 100).Draw(t, "arrivals"),
			ArrivedGPUs:      rapid.IntRange(0, 1000).Draw(t, "GPUs"),
			Completed:        rapid.IntRange(0, 100).Draw(t, "completed"),
			CompletedService: rapid.Float64Range(0, 1e6).Draw(t, "service"),
			CompletedSquare:  rapid.Float64Range(0, 1e9).Draw(t, "square"),
			Queue:            rapid.Float64Range(0, 100).Draw(t, "queue"),
			Running:          rapid.Float64Range(0, 100).Draw(t, "running"),
			BusyGPUs:         rapid.Float64Range(0, 100).Draw(t, "busy"),
		}
		var w recent
		kept := w.fill(window, &past, length)
		got := w.summary(kept, length)
		share := float64(kept) / float64(rounds)
		if got.Length != time.Duration(kept)*length || kept != min(rounds, int64(window)) {
			t.Fatalf("%v in %d rounds, want %d", got.Length, kept, min(rounds, int64(window)))
		}
		for _, c := range []struct {
			name      string
			got, want float64
			slack     float64
		}{
			{"arrivals", float64(got.Arrivals), float64(past.Arrivals) * share, 1},
			{"GPUs", float64(got.ArrivedGPUs), float64(past.ArrivedGPUs) * share, 1},
			{"completed", float64(got.Completed), float64(past.Completed) * share, 1},
			{"service", got.CompletedService, past.CompletedService * share, 1e-6},
			{"square", got.CompletedSquare, past.CompletedSquare * share, 1e-3},
			{"queue", got.Queue, past.Queue, 1e-9},
			{"running", got.Running, past.Running, 1e-9},
			{"busy", got.BusyGPUs, past.BusyGPUs, 1e-9},
		} {
			if kept == rounds && c.slack == 1 {
				c.slack = 0
			}
			if math.Abs(c.got-c.want) > c.slack {
				t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
			}
		}
	})
}
