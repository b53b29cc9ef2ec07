package rng

import "testing"

func TestStreamsArePureFunctionsOfSeedAndName(t *testing.T) {
	first := func(seed uint64, name string) uint64 { return New(seed, name).Uint64() }
	if first(1, "arrivals") != first(1, "arrivals") {
		t.Error("the same stream gave two numbers")
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
	if Seed(1, "a") == Seed(1, "b") || Seed(1, "a") == Seed(2, "a") || Seed(1, "a") != Seed(1, "a") {
		t.Error("Seed is not a function that separates seeds and names")
	}
}
