// Package sim is the simulated cluster: a deterministic, round-based simulator
// of training jobs on GPUs of several types, and the two environments over it,
// [JobStrategy] and [SchedulerConfig].
//
// # Model
//
// Time is integer nanoseconds on the trace's clock. Decisions are made at round
// starts, which lie on a grid of whole rounds from the trace's start. A decision
// gives every active job one of its strategies, all its GPUs at once (gang
// scheduling), or none; preemption is free to ask for.
//
//   - A job submitted between rounds joins at the next round start; its
//     completion time counts from its submission.
//   - A job that starts on a strategy other than the one it ran in the round just
//     before, at its first start and after waiting too, first pays
//     Strategy.Restart without progress; what a round does not cover carries
//     over. Then it does throughput × time steps, fractions included.
//   - A job that finishes inside a round does so at its exact time, rounded up
//     to a nanosecond; its GPUs idle until the round ends.
//   - An empty cluster jumps to the first round start at or after the next
//     submission.
//   - GPUs sit on nodes. A job that keeps its strategy keeps its GPUs; the jobs
//     that start are placed largest first (ties: order of the state), each on as
//     few nodes as are free for it, best fit. Over more nodes than
//     Strategy.Nodes it runs at throughput × SpreadSlowdown^log2(nodes /
//     Strategy.Nodes). Placement never moves a running job.
//   - Jobs finish only by doing their work: there are no failures,
//     cancellations, co-location or profiling.
//
// The reward of a round is −∫ Σ weights of the jobs in the system dt in
// job-hours, integrated exactly and from the submissions on, so that the rewards
// of an episode sum to −Σ weight × JCT. What passed between the first submission
// and the first decision is part of the first reward.
//
// # Knowledge
//
// State.Remaining is the truth (oracle), an estimate, or env.Unknown (none).
// Under estimate every job has one guess of its total work, true work ×
// exp(σ·z), drawn from the stream "estimate" of the episode's seed; State shows
// max(guess − done, done / 4), which stays positive when the job outlives it.
// No other field of State depends on the true work of an unfinished job, and
// [Candidates] never see it.
//
// State.Recent covers the last Config.Window before the decision, whole rounds,
// sliding by a round, and never more than has passed since the round of the
// first submission. Arrivals count in the round they were submitted in,
// completions in the round that ran them.
//
// # Fairness
//
// Each finished job carries the time it would have needed with an exclusive 1/n
// share of the cluster, n the time-average number of jobs in the system over its
// life, by the isolated allocation of Gavel.
//
// # Limits
//
// One strategy per job and round; no sharing of a GPU; every GPU of a type is
// alike; a network has no topology beyond nodes; a step takes the same time
// throughout a job. A job whose restart takes longer than a round never ends
// under a policy that moves it every round: give episodes of untrained policies
// MaxRounds. Float rounding may end a job up to a part in 10^15 of its
// work early. Sums of rewards are float64: exact to about a part in 10^12.
//
// # Validation
//
// The tests hold scripted scenarios (testdata), a slow twin that simulates with
// rational numbers, and identities on random workloads: rewards against
// completion times, GPU time against capacity, work done against work submitted,
// invariance under renaming and scaling, shortest-first on one GPU against its
// closed form. Both environments pass envtest.Check.
//
// # References
//
//   - Rounds, mid-round finishes, arrivals and the isolated allocation: Narayanan
//     et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
//     Workloads (Gavel), OSDI 2020.
//   - Restart costs of 25 to 250 s: Jayaram Subramanya et al., Sia, SOSP 2023.
//   - Finish-time fairness: Mahajan et al., Themis, NSDI 2020.
package sim
