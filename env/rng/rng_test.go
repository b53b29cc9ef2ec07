package rng

import "testing"

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
