// Package rng derives named random streams from one seed, so that a new
// consumer of chance never shifts the numbers of an old one.
package rng

import (
	"hash/fnv"
	"math/rand/v2"
)

// New returns the stream called name of the run with this seed (PCG-DXSM).
// Equal arguments give equal streams; a stream is not safe for concurrent use.
func New(seed uint64, name string) *rand.Rand { return rand.New(Source(seed, name)) }

// Source returns what the stream called name draws from: for streams whose state
// is saved and restored, which MarshalBinary of a source does and a Rand cannot.
func Source(seed uint64, name string) *rand.PCG { return rand.NewPCG(seed, hash(name)) }

// Seed returns the seed of the sub-run called name of the run with this seed:
// for handing to a component that takes a seed of its own.
func Seed(seed uint64, name string) uint64 {
	return rand.NewPCG(seed, hash(name)).Uint64()
}

func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return h.Sum64()
}
