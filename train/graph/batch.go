package graph

import "github.com/yardmaster/yardmaster/env"

// size is what a network is compiled for.
type size struct{ rows, rounds int }

// Limits of a chunk: its activations, a few hundred KB per layer, stay in the
// second-level cache. A single round with more rows makes a chunk of its own.
const (
	chunkRounds = 32
	chunkRows   = 2048
	minRows     = 128
)

// span is the half-open range [from, to) of rounds that make up a chunk.
type span struct{ from, to int }

// chunks cuts rounds into chunks. It depends on nothing but the numbers of
// their candidates, so that sums over chunks are the same on any machine.
func chunks(rounds []*env.Observation) []span {
	var spans []span
	rows := 0
	for i, o := range rounds {
		last := len(spans) - 1
		if last < 0 || i-spans[last].from == chunkRounds || rows+o.N() > chunkRows {
			spans = append(spans, span{i, i})
			last, rows = last+1, 0
		}
		spans[last].to = i + 1
		rows += o.N()
	}
	return spans
}

// sizeOf returns the size of the network that takes these rounds: rows are
// rounded up to a power of two, so that there are few sizes.
func sizeOf(rounds []*env.Observation) size {
	need, rows := 0, minRows
	for _, o := range rounds {
		need += o.N()
	}
	for rows < need {
		rows *= 2
	}
	return size{rows, chunkRounds}
}

// fill writes rounds to the inputs of a network of their size and clears the
// padding behind them. dScores and dValues are left to the caller.
func (in *inputs) fill(rounds []*env.Observation) {
	clear(in.pool.data)
	clear(in.spread.data)
	clear(in.candidates.data)
	clear(in.global.data)
	row := 0
	for r, o := range rounds {
		copy(in.global.data[r*in.global.cols:], o.Global)
		copy(in.candidates.data[row*in.candidates.cols:], o.Candidates)
		in.fillPool(r, row, o.Mask)
		for i := range o.Mask {
			in.spread.data[(row+i)*in.spread.cols+r] = 1
		}
		row += o.N()
	}
}

// fillPool writes the row of the pooling matrix of round r, whose candidates
// begin at row: the mean over the legal ones, over all where none is legal.
func (in *inputs) fillPool(r, row int, mask []bool) {
	weights := in.pool.data[r*in.pool.cols+row:][:len(mask)]
	legal := 0
	for _, ok := range mask {
		if ok {
			legal++
		}
	}
	for i, ok := range mask {
		switch {
		case legal == 0:
			weights[i] = 1 / float32(len(mask))
		case ok:
			weights[i] = 1 / float32(legal)
		}
	}
}
