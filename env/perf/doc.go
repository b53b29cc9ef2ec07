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
//	tensor       all-reduces of each layer
//	pipeline     (micro-batches + stages - 1) × micro-batch: the bubble of 1F1B
//	gradients    all-reduce by ring or tree, inside or across nodes, partly hidden
//	             behind the backward pass as in Pollux (OSDI 2021, eq. 11)
//	optimizer    bytes of weights, gradients and state / memory bandwidth, of the
//	             GPU or, where it is offloaded, of the host
//	host         a fixed time that no GPU shortens
//
// and never less than the input pipeline needs to deliver the samples. Memory
// is weights, gradients and optimizer state (divided as the ZeRO stage says),
// activations (checkpointed or not) of the micro-batches in flight, and a fixed
// reserve. The fixed costs are what keeps small models from gaining on fast
// GPUs. The plan with the highest throughput wins. A part of a GPU has that part
// of its memory, arithmetic and bandwidth; kernels start no slower.
//
// Measured rows, where given, win over the model and correct it in their
// neighbourhood: between two measured numbers of GPUs the ratio of measured to
// predicted is interpolated, so that an elastic job scales by what was measured of
// it. Catalogue.Calibrate fits the figures themselves to rows.
//
// # Units
//
// Steps per second, seconds, bytes; GiB and MiB are powers of two, GB/s, Gbit/s
// and TFLOP/s powers of ten. A multiply-add is two FLOPs.
//
// # Limits
//
// One GPU type per strategy. Stages are of equal cost, jobs do not slow each
// other on a network, hosts have one speed per GPU type. Of the host only the
// optimizer's state and work are offloaded to it; no sequence or expert
// parallelism, no interleaved stages. Convolutional and recurrent networks are
// data-parallel only. Figures marked as estimates in gpus.yaml and models.yaml are
// that: the newer the GPU, the less is measured.
//
// # Validation
//
// README.md holds the errors against published measurements, how they are
// measured and where the model is wrong.
package perf
