package rng

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStreamsArePureFunctionsOfSeedAndName(t *testing.T) {
	first := func(seed uint64, name string) uint64 { return New(seed, name).Uint64() }
	if a, b := first(1, "arrivals"), first(1, "arrivals"); a != b {
		t.Errorf("the same stream gave %d and %d", a, b)
	}
	seen := map[uint64]string{}
	for seed := range uint64(20) {
		for _, name := range []string{"arrivals", "arrival", "estimate", ""} {
			x := first(seed, name)
			if other, twice := seen[x]; twice {
				t.Errorf("stream %d/%q starts like %s", seed, name, other)
			}
			seen[x] = name
		}
	}
}

func TestSeedDiffersByName(t *testing.T) {
	a, again := Seed(1, "a"), Seed(1, "a")
	if a != again {
		t.Errorf("the same name gave %d and %d", a, again)
	}
	if a == Seed(1, "b") || a == Seed(2, "a") {
		t.Error("another name or another seed gave the same sub-run")
	}
}

// A source restored in the middle of a stream goes on as the stream does.
func TestRestoredSourceContinues(t *testing.T) {
	source := Source(3, "a")
	want, got := New(3, "a"), rand.New(source)
	for range 10 {
		if a, b := want.NormFloat64(), got.NormFloat64(); a != b {
			t.Fatalf("a source draws %v, its stream %v", b, a)
		}
	}
	raw, err := source.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	restored := Source(0, "")
	if err := restored.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	got = rand.New(restored)
	for range 10 {
		if a, b := want.Perm(5), got.Perm(5); !slices.Equal(a, b) {
			t.Fatalf("restored, it draws %v, the stream %v", b, a)
		}
	}
}
