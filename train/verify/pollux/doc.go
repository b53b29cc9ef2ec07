// Package pollux plays Tiresias as the simulator of Pollux does (Qiao et al.,
// "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning",
// OSDI 2021), to compare with the completion times that its authors published.
// It is written after what their artifact does, github.com/petuum/adaptdl at
// commit de25dcc, folder simulator.
//
// # What it does
//
//   - Time goes in steps of 60 s; the policy is asked at the end of each. Jobs
//     join at the first such moment at or after their submission.
//
//   - A job asks for a number of GPUs and a global batch, both fixed. Each worker
//     takes ceil(batch / GPUs) samples, in as many equal passes as it takes to
//     stay within what a GPU holds, rounded up, but no more than the application's
//     largest batch allows; a lone worker with more than the application's first
//     batch takes at least two passes. So the batch may differ from what was asked.
//
//   - A step takes step + (passes − 1) × (step − sync) seconds, by measured times
//     of (application, placement, samples of a pass), linear in between. A
//     placement is the GPUs on each node in a circle: the smallest rotation counts.
//
//   - Progress is counted in steps of the first batch. A step with a batch m times
//     that, in an epoch with the squared norm |g|² and the variance v of its
//     gradient, makes as much progress as
//
//     gain = (v + |g|²) / (v/m + |g|²)
//
//     of them (AdaScale). Both are measured per epoch at some batches, and linear
//     in between.
//
//   - An epoch ends at the progress that the batch which takes least needed. The
//     time to its end is rounded to a whole second, a half to the even one. The
//     job finishes with its last epoch.
//
//   - A job that gets other GPUs, at its first start too, first loses 30 s.
//
// Tiresias, as it is there, has two queues. Jobs begin in the first, at its end,
// and move to the end of the second once GPUs × time they ran reaches 57,600 s;
// none moves back. From the head of the first to the tail of the second, jobs get
// GPUs as long as enough are left; others are passed over and stopped. A job
// that runs keeps its GPUs; one that starts takes what it needs from the emptiest
// nodes, the first of equals first.
//
// # What it is measured by
//
// The folder profile holds the part of the artifact's measurements (Apache-2.0)
// that the runs compared here read, and no more: a job that would run elsewhere is
// an error that names what is missing. Measured on AWS g4dn.12xlarge nodes of
// four T4.
package pollux
