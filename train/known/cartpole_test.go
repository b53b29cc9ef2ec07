package known

import (
	"context"
	"slices"
	"testing"
)

// After a sixth of the zoo's steps the pole stands several times as long as
// at first, and equal seeds play equal episodes.
func TestBalanceLearns(t *testing.T) {
	s := Zoo()
	s.Steps = 16_000
	returns, err := Balance(context.Background(), s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := LastMean(returns, 20); got < 80 {
		t.Errorf("mean of the last 20 returns is %v, want at least 80", got)
	}
	s.Steps = 2_000
	first, err := Balance(context.Background(), s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := LastMean(first, len(first)); got > 40 {
		t.Errorf("mean return %v after 2000 steps: there is nothing to learn", got)
	}
	again, err := Balance(context.Background(), s, 1)
	if err != nil || !slices.Equal(again, first) {
		t.Errorf("the same seed played other episodes (%v)", err)
	}
	other, err := Balance(context.Background(), s, 2)
	if err != nil || slices.Equal(other, first) {
		t.Errorf("another seed played the same episodes (%v)", err)
	}
}
