package sim

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// recent gathers State.Recent: one bucket for each of the last rounds, and one
// for the round to come, in a ring.
type recent struct {
	ring  []bucket // [window + 1]; round r is at r mod len
	round int64    // round of the newest bucket
}

// bucket is what happened in one round.
type bucket struct {
	arrivals, gpus  int     // jobs submitted, and the GPUs they requested
	completed       int     // jobs finished
	service, square float64 // GPU-seconds attained by those, and the sum of squares
	inSystem        float64 // ∫ jobs in the system dt, job-seconds
	running         float64 // ∫ jobs that run dt, job-seconds
	busy            float64 // ∫ busy GPUs dt, GPU-seconds
}

// reset empties the window; the next round is number 0.
func (w *recent) reset(rounds int) {
	if cap(w.ring) < rounds+1 {
		w.ring = make([]bucket, rounds+1)
	}
	w.ring = w.ring[:rounds+1]
	clear(w.ring)
	w.round = 0
}

// fill empties the window and then spreads past evenly over the rounds, each of
// this length, that it covers. It returns how many of them, the last ones, are
// in the window: the number of the next round.
func (w *recent) fill(window int, past *env.Window, length time.Duration) int64 {
	rounds := int64(past.Length / length)
	kept := min(rounds, int64(window))
	w.reset(window)
	w.round = kept
	n, seconds := float64(rounds), length.Seconds()
	for r := range kept {
		part := rounds - kept + r
		*w.at(r) = bucket{
			arrivals:  share(past.Arrivals, part, rounds),
			gpus:      share(past.ArrivedGPUs, part, rounds),
			completed: share(past.Completed, part, rounds),
			service:   past.CompletedService / n,
			square:    past.CompletedSquare / n,
			inSystem:  (past.Queue + past.Running) * seconds,
			running:   past.Running * seconds,
			busy:      past.BusyGPUs * seconds,
		}
	}
	return kept
}

// share returns part r of total split into parts integers that differ by at
// most one.
func share(total int, r, parts int64) int {
	whole, rest := int64(total)/parts, int64(total)%parts
	return int(whole + rest*(r+1)/parts - rest*r/parts)
}

// at returns the bucket of a round that is still in the ring.
func (w *recent) at(round int64) *bucket { return &w.ring[round%int64(len(w.ring))] }

// advance makes round the newest bucket.
func (w *recent) advance(round int64) {
	if round-w.round >= int64(len(w.ring)) {
		clear(w.ring)
		w.round = round
	}
	for w.round < round {
		w.round++
		*w.at(w.round) = bucket{}
	}
}

// summary returns the window that ends where round begins. The sums go from the
// oldest round to the newest.
func (w *recent) summary(round int64, length time.Duration) env.Window {
	rounds := min(round, int64(len(w.ring)-1))
	if rounds == 0 {
		return env.Window{}
	}
	out := env.Window{Length: time.Duration(rounds) * length}
	var inSystem float64
	for r := round - rounds; r < round; r++ {
		b := w.at(r)
		out.Arrivals += b.arrivals
		out.ArrivedGPUs += b.gpus
		out.Completed += b.completed
		out.CompletedService += b.service
		out.CompletedSquare += b.square
		out.Running += b.running
		out.BusyGPUs += b.busy
		inSystem += b.inSystem
	}
	seconds := out.Length.Seconds()
	out.Queue = max(0, inSystem-out.Running) / seconds
	out.Running /= seconds
	out.BusyGPUs /= seconds
	return out
}

// copyTo copies w into dst, reusing dst's memory.
func (w *recent) copyTo(dst *recent) {
	dst.ring = append(dst.ring[:0], w.ring...)
	dst.round = w.round
}
