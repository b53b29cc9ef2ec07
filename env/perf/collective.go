package perf

import "github.com/yardmaster/yardmaster/env"

const (
	mib = 1 << 20
	gib = 1 << 30

	// Startup time of one hop of a ring, seconds: about 7 µs over a link inside
	// a node, 25 µs over TCP or InfiniBand with NCCL (nccl-tests at 8 bytes).
	linkLatency    = 7e-6
	networkLatency = 25e-6

	// networkEfficiency is the part of a network's nominal bandwidth that
	// collectives reach.
	networkEfficiency = 0.8
)

// linkBandwidth returns bytes/s per GPU and direction inside a node.
func linkBandwidth(g *GPU) float64 { return g.LinkGBs * 1e9 * g.LinkEfficiency }

// networkBandwidth returns bytes/s per node and direction.
func networkBandwidth(g *GPU) float64 { return g.NetworkGbits * 1e9 / 8 * networkEfficiency }

// ring describes the ring of one collective: its members, how many of them
// lie in one node, and how many such rings share a node's network at once.
type ring struct {
	members int
	perNode int
	sharing int
}

// rate returns the bandwidth of the slowest hop, bytes/s, and the startup time
// of one, seconds.
func (r ring) rate(g *GPU) (bandwidth, latency float64) {
	if r.members <= r.perNode {
		return linkBandwidth(g), linkLatency
	}
	return min(linkBandwidth(g), networkBandwidth(g)/float64(r.sharing)), networkLatency
}

// half returns the time of a reduce-scatter or an all-gather of size bytes,
// seconds: members-1 hops, each of size/members (Patarasuk and Yuan, JPDC 2009).
func (r ring) half(g *GPU, size float64) float64 {
	if r.members <= 1 {
		return 0
	}
	n := float64(r.members)
	bandwidth, latency := r.rate(g)
	return (n - 1) * (size/n/bandwidth + latency)
}

// allReduce returns the time of a ring all-reduce of size bytes, seconds.
func (r ring) allReduce(g *GPU, size float64) float64 { return 2 * r.half(g, size) }

// dataRing returns the ring over which one GPU exchanges gradients. Tensor-
// parallel ranks are neighbours, data-parallel ranks come next, pipeline
// stages are farthest apart, as in Megatron-LM (SC 2021, section 3).
func (q *query) dataRing(p *env.Plan) ring {
	return ring{
		members: p.Data,
		perNode: max(1, q.perNode()/p.Tensor),
		sharing: min(p.Tensor, q.perNode()),
	}
}

// gradients returns the time of the gradient exchange at the end of an
// iteration, seconds. ZeRO 1 and 2 send as much as an all-reduce; ZeRO 3 only
// scatters, since each pass gathers the weights (Rajbhandari et al., SC 2020,
// section 7).
func (q *query) gradients(p *env.Plan) float64 {
	if p.ZeRO == 3 {
		return q.scatter(p)
	}
	return q.dataRing(p).allReduce(q.g, q.gradientBytes(p))
}

// scatter returns the time of the gradient exchange of a micro-batch that is
// not the last, seconds: from ZeRO 2 on no worker keeps all gradients, so each
// micro-batch scatters its own.
func (q *query) scatter(p *env.Plan) float64 {
	if p.ZeRO < 2 {
		return 0
	}
	return q.dataRing(p).half(q.g, q.gradientBytes(p))
}

// gather returns the time in which ZeRO 3 gathers the weights for the forward
// and again for the backward pass of a micro-batch, seconds.
func (q *query) gather(p *env.Plan) float64 {
	if p.ZeRO < 3 {
		return 0
	}
	return 2 * q.dataRing(p).half(q.g, q.gradientBytes(p))
}

// gradientBytes returns the size of one GPU's gradients, and of its weights.
func (q *query) gradientBytes(p *env.Plan) float64 {
	return q.parameters(p) * q.m.Precision.bytes()
}

// boundary returns the size of the activations between two layers, bytes.
func (q *query) boundary(p *env.Plan) float64 {
	return float64(p.MicroBatch) * float64(q.m.Sequence) * float64(q.m.Hidden) * q.m.Precision.bytes()
}

// tensor returns the time of the tensor-parallel all-reduces of one
// micro-batch, seconds: two per layer in the forward and two in the backward
// pass, two more where the forward pass runs again (Megatron-LM,
// arXiv:1909.08053, section 3).
func (q *query) tensor(p *env.Plan) float64 {
	if p.Tensor == 1 {
		return 0
	}
	r := ring{members: p.Tensor, perNode: q.perNode(), sharing: 1}
	perLayer := 4.0
	if p.Checkpoint {
		perLayer = 6
	}
	layers := float64(ceilDiv(q.m.Layers, p.Pipeline))
	return perLayer * layers * r.allReduce(q.g, q.boundary(p))
}

// stageTransfer returns the time to hand one micro-batch's activations to the
// next stage and its gradients back, seconds.
func (q *query) stageTransfer(p *env.Plan) float64 {
	if p.Pipeline == 1 {
		return 0
	}
	bandwidth, latency := linkBandwidth(q.g), linkLatency
	if q.nodes > 1 {
		bandwidth, latency = min(bandwidth, networkBandwidth(q.g)/float64(min(p.Tensor*p.Data, q.perNode()))), networkLatency
	}
	return 2 * (q.boundary(p)/float64(p.Tensor)/bandwidth + latency)
}
