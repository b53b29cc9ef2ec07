package perf

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// The scaling law of a model on a GPU type is the analytic model's, bent so that
// it goes through the rows that were measured. Let ratio be measured /
// predicted of a row. At a number of GPUs between two that were measured, log
// ratio is linear in the distance to the nearest rows on either side; beyond the
// first or last, it is that of the nearest. So the answer is continuous along
// GPUs, scales as the analytic model says where nothing was measured, and
// between two rows of the same batch it is never beyond either: where speed
// rises with GPUs from row to row, it rises in between.

// neighbour is the rows nearest to a question on one side.
type neighbour struct {
	distance float64 // doublings
	logs     float64 // sum of log ratio of the rows at that distance
	rows     int
	low      float64 // least and most samples/s of the rows, 0 where none compares
	high     float64
	compares bool // all rows have the question's batch, per worker or of all, and whole GPUs
}

// add takes a row at distance d into account.
func (n *neighbour) add(r *row, q *query, d float64) {
	switch {
	case n.rows > 0 && d > n.distance+1e-9:
		return
	case n.rows == 0 || d < n.distance-1e-9:
		*n = neighbour{distance: d, low: math.Inf(1), compares: true}
	}
	n.logs += math.Log(r.ratio)
	n.rows++
	n.low, n.high = min(n.low, r.samples), max(n.high, r.samples)
	n.compares = n.compares && q.share <= 1 && (r.global == q.global || r.global*q.gpus == q.global*r.gpus)
}

func (n *neighbour) log() float64 { return n.logs / float64(n.rows) }

// scaled returns samples, which the analytic model predicts for q under plan p,
// corrected by the rows of the same model and GPU type.
func scaled(rows []row, q *query, p *env.Plan, samples float64) float64 {
	var fewer, more neighbour // rows with at most, and with at least, as many GPUs
	for i := range rows {
		r := &rows[i]
		if r.ratio == 0 {
			continue
		}
		d := distance(r, q, p)
		if r.gpus <= q.gpus {
			fewer.add(r, q, d)
		}
		if r.gpus >= q.gpus {
			more.add(r, q, d)
		}
	}
	switch {
	case fewer.rows == 0 && more.rows == 0:
		return samples
	case more.rows == 0:
		return samples * math.Exp(fewer.log())
	case fewer.rows == 0:
		return samples * math.Exp(more.log())
	}
	return between(&fewer, &more, samples)
}

// between interpolates between rows on both sides.
func between(fewer, more *neighbour, samples float64) float64 {
	w := 0.5
	if total := fewer.distance + more.distance; total > 0 {
		w = more.distance / total
	}
	x := samples * math.Exp(w*fewer.log()+(1-w)*more.log())
	if !fewer.compares || !more.compares {
		return x
	}
	low, high := min(fewer.low, more.low), max(fewer.high, more.high)
	return max(low, min(x, high))
}

// distance counts doublings of GPUs, nodes, samples per GPU and degrees of the
// plan between r and q under p, and half of those of the GPUs on the node with the
// fewest, which nodes and GPUs tell but for uneven placements; other switches of a plan count as a half, the
// optimizer's place, which changes most, as two.
func distance(r *row, q *query, p *env.Plan) float64 {
	d := doublings(r.gpus, q.gpus) + doublings(r.nodes, q.nodes) + doublings(r.fewest, q.fewestPerNode())/2 + math.Abs(math.Log2(
		float64(r.global)/float64(r.gpus)*float64(q.gpus)/float64(q.global)))
	if !r.known {
		return d
	}
	d += doublings(r.plan.Tensor, p.Tensor) + doublings(r.plan.Pipeline, p.Pipeline)
	if (r.plan.ZeRO > 0) != (p.ZeRO > 0) {
		d += 0.5
	}
	if r.plan.Checkpoint != p.Checkpoint {
		d += 0.5
	}
	if r.plan.Offload != p.Offload {
		d += 2
	}
	return d
}

func doublings(a, b int) float64 { return math.Abs(math.Log2(float64(a) / float64(b))) }
