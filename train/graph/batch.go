package graph

import "github.com/yardmaster/yardmaster/env"

// Limits of a chunk: its activations, 128 KiB per layer of width 32, stay in the
// second-level cache. A single round with more rows makes a chunk of its own.
const (
	chunkRounds = 32
	chunkRows   = 1024
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

// capacity returns the rows of the graph that takes these rounds: those of a
// chunk, or the next power of two for a single larger round, so that there are
// few graphs.
func capacity(rounds []*env.Observation) int {
	need, rows := 0, chunkRows
	for _, o := range rounds {
		need += o.N()
	}
	for rows < need {
		rows *= 2
	}
	return rows
}
