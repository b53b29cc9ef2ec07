package serve

import (
	"time"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// bucket is a token bucket: it lets rate messages per second through, and as
// many at once.
type bucket struct {
	tokens float64
	at     time.Time // of the last message; zero before the first
}

// take reports whether another message may pass now.
func (b *bucket) take(now time.Time, rate float64) bool {
	if b.at.IsZero() {
		b.tokens = max(rate, 1)
	} else {
		b.tokens = min(max(rate, 1), b.tokens+max(0, now.Sub(b.at).Seconds())*rate)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// tellEvery is how often the same is told of one cluster: what repeats with every
// state would drown the rest.
const tellEvery = time.Minute

// spacing lets one of a kind of messages through per tellEvery.
type spacing map[string]time.Time

func (s *spacing) pass(kind string, now time.Time) bool {
	if last, ok := (*s)[kind]; ok && now.Sub(last) < tellEvery {
		return false
	}
	if *s == nil {
		*s = make(spacing)
	}
	(*s)[kind] = now
	return true
}

// Bounds of how long a cluster may be silent, unless that is configured.
const (
	staleRounds = 3
	staleLeast  = 30 * time.Second
	staleMost   = 24 * time.Hour
)

// staleAfter returns how long a cluster with rounds of this length may be
// silent.
func staleAfter(configured, round time.Duration) time.Duration {
	if configured > 0 {
		return configured
	}
	return min(max(staleRounds*min(round, staleMost), staleLeast), staleMost)
}

// skew returns how far the clock that wrote a HeaderTime is from now; ok is false
// where it wrote none. It compares wall clocks, which is all that one can do with
// another machine's; nothing depends on the result.
func skew(header string, now time.Time) (d time.Duration, ok bool) {
	if header == "" {
		return 0, false
	}
	t, err := time.Parse(time.RFC3339Nano, header)
	if err != nil {
		return 0, false
	}
	return t.Sub(now), true
}

// lost returns how many states between two that were decided never came in, when
// between them others did that were not decided.
func lost(before, now wire.Key, between int64) int64 {
	if before.Epoch != now.Epoch || now.Seq <= before.Seq {
		return 0
	}
	return max(0, int64(now.Seq-before.Seq)-1-between)
}
