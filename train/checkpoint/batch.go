package checkpoint

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Batch is what a step of an optimizer was to learn from, as it was when the loss
// turned out not to be finite. Slices by round have one value per observation, or
// none where the learner has no such thing.
type Batch struct {
	Parameters   []float32         // of the network that the loss was computed with
	Observations []env.Observation // [rounds]
	Picks        []picks.Sequence  // [rounds]
	Sets         []int             // by round: how many of the first picks are right in any order (cloning)
	Shares       [][]float64       // by round: the distribution over the rows that is right, or empty (cloning)
	LogProbs     []float64         // by round: of the picks, at the time of playing
	Advantages   []float64         // by round, as the loss has them
	Values       []float64         // by round: the critic's, at the time of playing
	Targets      []float64         // by round, for the critic
	Seeds        []uint64          // training episodes on which the parameters were evaluated (evolution)
	Costs        []float64         // by seed
}

// BatchError is the error of a step whose loss is not finite.
type BatchError struct {
	Batch Batch
	Err   error // what is not finite
}

func (e *BatchError) Error() string { return e.Err.Error() }

func (e *BatchError) Unwrap() error { return e.Err }

// WriteBatch puts b into a file, which ReadBatch reads.
func WriteBatch(path string, b *Batch) error {
	var w Writer
	w.Float32s(b.Parameters)
	w.Count(len(b.Observations))
	for i := range b.Observations {
		w.Observation(&b.Observations[i])
		w.Picks(&b.Picks[i])
	}
	w.Count(len(b.Sets))
	for _, n := range b.Sets {
		w.Count(n)
	}
	w.Count(len(b.Shares))
	for _, xs := range b.Shares {
		w.Float64s(xs)
	}
	for _, xs := range [][]float64{b.LogProbs, b.Advantages, b.Values, b.Targets} {
		w.Float64s(xs)
	}
	w.Count(len(b.Seeds))
	for _, seed := range b.Seeds {
		w.Data = binary.AppendUvarint(w.Data, seed)
	}
	w.Float64s(b.Costs)
	return Write(path, Sections{batchSection: w.Data})
}

const batchSection = "batch"

// ReadBatch reads a file of WriteBatch. Its errors name the file.
func ReadBatch(path string) (*Batch, error) {
	s, err := Read(path)
	if err != nil {
		return nil, err
	}
	data, err := s.get(batchSection)
	if err == nil {
		var b *Batch
		if b, err = decodeBatch(data); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w (%s)", err, path)
}

func decodeBatch(data []byte) (*Batch, error) {
	r := NewReader(data)
	b := &Batch{Parameters: r.Float32s()}
	rounds := r.Count(r.Left())
	for range rounds {
		if r.Err() != nil {
			return nil, r.Err()
		}
		o := r.Observation()
		b.Observations = append(b.Observations, o)
		b.Picks = append(b.Picks, r.Picks(o.N()))
	}
	for range r.Count(r.Left()) {
		b.Sets = append(b.Sets, r.Count(math.MaxInt32))
	}
	for range r.Count(r.Left()) {
		b.Shares = append(b.Shares, r.Float64s())
	}
	for _, xs := range []*[]float64{&b.LogProbs, &b.Advantages, &b.Values, &b.Targets} {
		if *xs = r.Float64s(); len(*xs) != 0 && len(*xs) != rounds {
			r.fail("%d values for %d rounds", len(*xs), rounds)
		}
	}
	if len(b.Sets) != 0 && len(b.Sets) != rounds || len(b.Shares) != 0 && len(b.Shares) != rounds {
		r.fail("%d sets and %d distributions for %d rounds", len(b.Sets), len(b.Shares), rounds)
	}
	for range r.Count(r.Left()) {
		b.Seeds = append(b.Seeds, r.uint())
	}
	if b.Costs = r.Float64s(); len(b.Costs) != len(b.Seeds) {
		r.fail("%d costs of %d episodes", len(b.Costs), len(b.Seeds))
	}
	for i, n := range b.Sets {
		if r.err == nil && n > len(b.Picks[i].Actions) {
			r.fail("a set of %d among %d picks", n, len(b.Picks[i].Actions))
		}
	}
	return b, r.Close()
}
