package stage

import (
	"math/bits"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A plain count of the durations is the slow twin of the octaves' counts.
func TestCumulativeCountsWhatIsBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Of every size, the bounds themselves and negative ones included.
		draw := rapid.Custom(func(t *rapid.T) time.Duration {
			base := time.Duration(1) << rapid.IntRange(0, 40).Draw(t, "octave")
			return base + time.Duration(rapid.IntRange(-1, 1).Draw(t, "beside")) - time.Duration(rapid.SampledFrom([]int64{0, 0, 0, 1 << 41}).Draw(t, "less"))
		})
		durations := rapid.SliceOf(draw).Draw(t, "durations")
		var h Histogram
		var sum time.Duration
		for _, d := range durations {
			h.Add(d)
			sum += max(d, 0)
		}
		l := h.Cumulative()
		if l.Count != uint64(len(durations)) || l.Sum != sum {
			t.Fatalf("got %d durations of %v, want %d of %v", l.Count, l.Sum, len(durations), sum)
		}
		if len(l.Buckets) != lastOctave-firstOctave+1 {
			t.Fatalf("got %d buckets", len(l.Buckets))
		}
		for _, b := range l.Buckets {
			want := uint64(0)
			for _, d := range durations {
				if d < b.Below {
					want++
				}
			}
			if b.Count != want || bits.OnesCount64(uint64(b.Below)) != 1 {
				t.Fatalf("below %v: got %d, want %d of %v", b.Below, b.Count, want, durations)
			}
		}
	})
}
