// Package perf predicts how fast a training job runs on some GPUs under some
// parallelization plan and whether it fits their memory, and from that lists
// the strategies a scheduler may choose for a job.
//
// # Model
//
// A step of a job is Job.Batch samples through one worker, as submitted; with
// other GPU counts the global batch Job.GPUs × Job.Batch is kept, so that a
// step stays the same work. One iteration of the optimizer on a plan takes
//
//	micro-batch  fixed cost of the kernels + max(FLOPs / achievable peak, bytes / memory bandwidth)
//	tensor       all-reduces of each layer, by ring
//	pipeline     (micro-batches + stages - 1) × micro-batch: the bubble of 1F1B
//	gradients    ring all-reduce inside or across nodes, partly hidden behind the
//	             backward pass as in Pollux (OSDI 2021, eq. 11)
//	optimizer    bytes of weights, gradients and state / memory bandwidth
//
// and never less than the input pipeline needs to deliver the samples. Memory
// is weights, gradients and optimizer state (divided as the ZeRO stage says),
// activations (checkpointed or not) of the micro-batches in flight, and a fixed
// reserve. The fixed cost of the kernels is what keeps small models from gaining
// on fast GPUs. The plan with the highest throughput wins; measured rows,
// where given, win over the model and correct it in their neighbourhood.
//
// # Units
//
// Steps per second, seconds, bytes; GiB and MiB are powers of two, GB/s, Gbit/s
// and TFLOP/s powers of ten. A multiply-add is two FLOPs.
//
// # Limits
//
// One GPU type per strategy. Stages are of equal cost, links have no contention
// between jobs, hosts have one speed per GPU type. No offloading to the host,
// no sequence or expert parallelism. Convolutional networks are data-parallel only.
package perf
