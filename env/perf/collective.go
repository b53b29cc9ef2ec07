package perf

import (
	"math/bits"

	"github.com/yardmaster/yardmaster/env"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// Startup time of one hop, seconds: about 7 µs over a link inside a node,
	// 25 µs over TCP or InfiniBand (nccl-tests at 8 bytes; from memory).
	linkLatency    = 7e-6
	networkLatency = 25e-6
)

// linkBandwidth returns bytes/s per GPU and direction inside a node.
func linkBandwidth(g *GPU) float64 { return g.LinkGBs * 1e9 * g.LinkEfficiency }

// networkBandwidth returns the bytes/s per direction that gpus GPUs of one
// node get out of its network: each drives the adapter it sits beside.
func networkBandwidth(g *GPU, gpus int) float64 {
	share := min(1, float64(gpus)/float64(g.Adapters))
	return g.NetworkGbits * 1e9 / 8 * g.NetworkEfficiency * share
}

// group is the GPUs over which a collective runs, in a ring or a tree.
type group struct {
	members   int
	bandwidth float64 // of the slowest hop, bytes/s
	latency   float64 // startup time of one hop, seconds
}

// linkGroup returns a group of members GPUs inside a node.
func (q *query) linkGroup(members int) group {
	return group{members, linkBandwidth(q.g), linkLatency}
}

// networkGroup returns a group of members GPUs in several nodes, each of which
// sharing such groups leave at once.
func (q *query) networkGroup(members, sharing int) group {
	network := networkBandwidth(q.g, q.fewestPerNode()) / float64(sharing)
	return group{members, min(linkBandwidth(q.g), network), networkLatency}
}

// half returns the time of a reduce-scatter or an all-gather of size bytes,
// seconds: members-1 hops, each of size/members (Patarasuk and Yuan, JPDC 2009).
func (g group) half(size float64) float64 {
	n := float64(g.members)
	return (n - 1) * (size/n/g.bandwidth + g.latency)
}

// ring returns the time of a ring all-reduce of size bytes, seconds.
func (g group) ring(size float64) float64 { return 2 * g.half(size) }

// tree returns the time of an all-reduce of size bytes over a double binary
// tree, seconds: up and down, each size bytes through every GPU, pipelined, and
// a hop for each level (Sanders, Speck and Träff, Parallel Computing 2009).
func (g group) tree(size float64) float64 {
	levels := bits.Len(uint(g.members - 1)) // ⌈log2 members⌉
	return 2 * (size/g.bandwidth + float64(levels)*g.latency)
}

// allReduce returns the time of an all-reduce of size bytes, seconds, by ring or
// by tree, whichever is faster, as NCCL chooses from 2.4 on: rings move fewer
// bytes, trees make fewer hops.
func (g group) allReduce(size float64) float64 {
	if g.members == 1 {
		return 0
	}
	return min(g.ring(size), g.tree(size))
}

// dataGroup returns the group in which one GPU exchanges gradients. Tensor-
// parallel ranks are neighbours, data-parallel ranks come next, pipeline
// stages are farthest apart, as in Megatron-LM (Narayanan et al., SC 2021,
// section 3); a stage whose GPUs do not divide a node's crosses nodes.
func (q *query) dataGroup(p *env.Plan) group {
	if q.nodes == 1 || q.perNode()%(p.Data*p.Tensor) == 0 {
		return q.linkGroup(p.Data)
	}
	return q.networkGroup(p.Data, min(p.Tensor, q.perNode()))
}

// gradients returns the time of the gradient exchange at the end of an
// iteration, seconds. ZeRO 1 and 2 scatter the gradients and gather the new
// weights; ZeRO 3 only scatters, since each pass gathers the weights
// (Rajbhandari et al., SC 2020, section 7).
func (q *query) gradients(p *env.Plan) float64 {
	switch g, n := q.dataGroup(p), q.parameters(p); p.ZeRO {
	case 0:
		return g.allReduce(n * q.m.GradientBytes)
	case 3:
		return g.half(n * q.m.GradientBytes)
	default:
		return g.half(n*q.m.GradientBytes) + g.half(n*q.m.Precision.bytes())
	}
}

// scatter returns the time of the gradient exchange of a micro-batch that is
// not the last, seconds: from ZeRO 2 on no worker keeps all gradients, so each
// micro-batch scatters its own.
func (q *query) scatter(p *env.Plan) float64 {
	if p.ZeRO < 2 {
		return 0
	}
	return q.dataGroup(p).half(q.parameters(p) * q.m.GradientBytes)
}

// gather returns the time in which ZeRO 3 gathers the weights for the forward
// and again for the backward pass of a micro-batch, seconds.
func (q *query) gather(p *env.Plan) float64 {
	if p.ZeRO < 3 {
		return 0
	}
	return 2 * q.dataGroup(p).half(q.parameters(p)*q.m.Precision.bytes())
}

// boundary returns the size of the activations of samples samples between two
// layers, bytes.
func (q *query) boundary(samples float64) float64 {
	return samples * float64(q.m.Sequence) * float64(q.m.Hidden) * q.m.Precision.bytes()
}

// tensor returns the time of the tensor-parallel all-reduces of a micro-batch
// of samples samples, seconds: two per layer in the forward and two in the backward
// pass, two more where the forward pass runs again (Shoeybi et al., 2019,
// arXiv:1909.08053, section 3).
func (q *query) tensor(p *env.Plan, samples float64) float64 {
	if p.Tensor == 1 {
		return 0
	}
	perLayer := 4.0
	if p.Checkpoint {
		perLayer = 6
	}
	layers := float64(ceilDiv(q.m.Layers, p.Pipeline))
	return perLayer * layers * q.tensorGroup(p).allReduce(q.boundary(samples))
}

// tensorGroup returns the group of tensor-parallel ranks. It lies inside one
// node, but for plans that were measured otherwise: where the ranks do not divide
// a node's GPUs, some group crosses nodes, and all wait for it.
func (q *query) tensorGroup(p *env.Plan) group {
	if q.nodes == 1 || q.perNode()%p.Tensor == 0 {
		return q.linkGroup(p.Tensor)
	}
	return q.networkGroup(p.Tensor, 1)
}

// stageTransfer returns the time to hand the activations of samples samples to
// the next stage and its gradients back, seconds. Between nodes all GPUs of a node
// do so at once.
func (q *query) stageTransfer(p *env.Plan, samples float64) float64 {
	if p.Pipeline == 1 {
		return 0
	}
	bandwidth, latency := linkBandwidth(q.g), linkLatency
	if q.nodes > 1 {
		sharing := float64(min(p.Tensor*p.Data, q.perNode()))
		bandwidth, latency = min(bandwidth, networkBandwidth(q.g, q.fewestPerNode())/sharing), networkLatency
	}
	return 2 * (q.boundary(samples)/float64(p.Tensor)/bandwidth + latency)
}
