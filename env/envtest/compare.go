package envtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// sameStep returns nil if a and b are equal bit for bit.
func sameStep(a, b *env.TimeStep) error {
	switch {
	case math.Float64bits(a.Reward) != math.Float64bits(b.Reward):
		return fmt.Errorf("rewards %v and %v", a.Reward, b.Reward)
	case a.Elapsed != b.Elapsed:
		return fmt.Errorf("elapsed %v and %v", a.Elapsed, b.Elapsed)
	case a.Terminated != b.Terminated || a.Truncated != b.Truncated:
		return fmt.Errorf("ends (terminated %v, truncated %v) and (%v, %v)", a.Terminated, a.Truncated, b.Terminated, b.Truncated)
	case a.Observation.Epoch != b.Observation.Epoch:
		return fmt.Errorf("epochs %d and %d", a.Observation.Epoch, b.Observation.Epoch)
	case !slices.Equal(a.Observation.Mask, b.Observation.Mask):
		return errors.New("masks differ")
	}
	return sameFeatures(&a.Observation, &b.Observation)
}

func sameFeatures(a, b *env.Observation) error {
	if i := firstDifference(a.Global, b.Global); i >= 0 {
		return fmt.Errorf("global features differ at %d", i)
	}
	if i := firstDifference(a.Candidates, b.Candidates); i >= 0 {
		return fmt.Errorf("candidates differ at %d", i)
	}
	return nil
}

// firstDifference returns the first index at which a and b differ in any bit,
// or -1.
func firstDifference(a, b []float32) int {
	for i := range min(len(a), len(b)) {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// maxCompared bounds the steps over which episodes of different seeds are
// compared: different ones differ early.
const maxCompared = 200

// checkSeedsDiffer returns an error if all seeds give one episode under one
// stream of actions.
func (c *checker) checkSeedsDiffer(seeds []uint64) error {
	distinct := slices.Compact(slices.Sorted(slices.Values(seeds)))
	if len(distinct) < 2 {
		return nil
	}
	var first uint64
	for i, seed := range distinct {
		sum, err := c.fingerprint(seed)
		if err != nil {
			return nil // reported where the episode was checked
		}
		if i == 0 {
			first = sum
		}
		if sum != first {
			return nil
		}
	}
	return fmt.Errorf("envtest: all %d seeds give the same episode", len(distinct))
}

// fingerprint hashes the beginning of the episode of seed. The actions do not
// depend on the seed, lest they make equal episodes look different.
func (c *checker) fingerprint(seed uint64) (uint64, error) {
	e, err := c.newEnv()
	if err != nil {
		return 0, err
	}
	step, err := e.Reset(seed)
	if err != nil {
		return 0, err
	}
	h := fnv.New64a()
	actions := rng.New(0, "envtest/common")
	for n := 0; ; n++ {
		hashStep(h, &step)
		if step.Done() || n == min(c.maxSteps, maxCompared) {
			return h.Sum64(), nil
		}
		if err := c.inSpace(&step.Observation, false); err != nil {
			return 0, err
		}
		if step, err = stepSafely(e, c.spec.Space.Sample(&step.Observation, actions)); err != nil {
			return 0, err
		}
	}
}

func hashStep(h hash.Hash64, step *env.TimeStep) {
	var b []byte
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(step.Reward))
	b = binary.LittleEndian.AppendUint64(b, uint64(step.Elapsed))
	for _, list := range [][]float32{step.Observation.Global, step.Observation.Candidates} {
		for _, x := range list {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, legal := range step.Observation.Mask {
		bit := byte(0)
		if legal {
			bit = 1
		}
		b = append(b, bit)
	}
	h.Write(b) // never fails
}
