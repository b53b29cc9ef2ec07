// Package sharing tells a simulator how jobs that share GPUs slow each other
// down, from measured pairs.
//
// # What is known and what is assumed
//
// A row of a co-location table tells how fast a job ran beside another in
// comparison with the same GPUs to itself: a factor. Here a job on a part of a
// GPU runs at its throughput on the whole GPU times that factor while the other
// is there, and at all of it while it is alone: GPUs are shared in time, not cut
// up. A pair is looked up by model, batch and GPU type; GPUs and nodes of the
// row do not matter, for factors differ little by them; of several rows the one
// with the fewest GPUs counts, then the first. A pair in which one ran out of
// memory makes no progress. A pair that was not measured runs as if GPUs were
// cut up: at the throughput of the strategy.
package sharing

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
)

// ErrNoPairs is returned for a table that has no pair on any GPU type of the
// cluster.
var ErrNoPairs = errors.New("sharing: no pair was measured on this cluster's GPUs")

// Interference implements sim.Interference. It is immutable and safe for
// concurrent use if its throughputs are.
type Interference struct {
	cluster env.Cluster
	whole   datasets.Throughputs
	factors map[pair]measured
}

// pair is job a beside job b on one GPU type, by index.
type pair struct {
	gpuType        int
	modelA, modelB string
	batchA, batchB int32
}

type measured struct {
	factor float64
	gpus   int32 // of the row
}

// New returns the interference that t tells of on a cluster. whole tells how fast
// jobs are with a GPU to themselves. Rows without a speed alone are of no use.
func New(t *datasets.ColocationTable, cluster env.Cluster, whole datasets.Throughputs) (*Interference, error) {
	x := &Interference{cluster: cluster, whole: whole, factors: make(map[pair]measured)}
	for i := range t.Rows {
		r := &t.Rows[i]
		gpuType := cluster.TypeIndex(r.GPUType)
		if gpuType < 0 {
			continue
		}
		x.add(pair{gpuType, r.A.Model, r.B.Model, r.A.Batch, r.B.Batch}, &r.A, r.GPUs)
		x.add(pair{gpuType, r.B.Model, r.A.Model, r.B.Batch, r.A.Batch}, &r.B, r.GPUs)
	}
	if len(x.factors) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoPairs, t.Name)
	}
	return x, nil
}

// Pairs returns the number of ordered pairs that are known.
func (x *Interference) Pairs() int { return len(x.factors) }

func (x *Interference) add(p pair, j *datasets.Tenancy, gpus int32) {
	if j.Isolated == 0 {
		return
	}
	if known, ok := x.factors[p]; !ok || gpus < known.gpus {
		x.factors[p] = measured{factor: j.StepsPerSecond / j.Isolated, gpus: gpus}
	}
}

// Alone implements sim.Interference.
func (x *Interference) Alone(a *env.Job, st *env.Strategy) float64 {
	whole, err := x.whole.Throughput(a.Model, a.Batch, x.cluster.Types[st.Type].Name, st.GPUs, st.Nodes)
	if err != nil || whole < st.Throughput {
		return 1 // nothing is known of it alone, or no more than the part has
	}
	return whole / st.Throughput
}

// Beside implements sim.Interference.
func (x *Interference) Beside(a *env.Job, st *env.Strategy, b *env.Job, _ *env.Strategy) float64 {
	m, ok := x.factors[pair{st.Type, a.Model, b.Model, int32(a.Batch), int32(b.Batch)}]
	if !ok {
		return 1
	}
	return m.factor * x.Alone(a, st)
}
