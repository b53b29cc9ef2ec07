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
//   - A job that has done Job.Fails steps fails, and one that is there at
//     Job.Cancel is withdrawn, whether it runs, waits or has not even joined. It
//     leaves at that instant and counts until then.
//
// The reward of a round is by default −∫ Σ weights of the jobs in the system dt
// in job-hours, integrated exactly and from the submissions on, so that the
// rewards of an episode sum to −Σ weight × JCT. What passed between the first
// submission and the first decision is part of the first reward. [Objective] has
// others: delay, weighted tardiness, deadlines missed, JCT and fairness. The
// rewards of an episode sum to exactly what each says.
//
// # Switches
//
// What most published simulators leave out is off by default, too, but for
// restarts and placement. Each is a field of [Config] that names its source.
//
//   - Shared GPUs. A strategy with Strategy.Share takes a half, a quarter or an
//     eighth of each of its GPUs. Placement finds it parts of GPUs that others
//     share ([Consolidate]) or GPUs of its own ([Spread]), each part on another
//     GPU while there are any, beside the jobs that it gets on with best. Where
//     free parts are scattered so that a start does not fit, the jobs that share
//     GPUs of the type are moved together; those that end up elsewhere pay for a
//     restart.
//   - [Interference]. A job runs at throughput × the least over its GPUs of the
//     product of the factors of those it shares the GPU with. Rates change at
//     round starts only.
//   - [Failures]. A node goes out of service at some instant and is back at
//     another. The jobs on it end there: they lose what they did after their last
//     checkpoint, hold nothing until the round ends, and have to be started
//     again. State.Down lists the nodes that are out of service at a decision; one
//     that returns inside a round is used from the next on. Preemption and moves
//     lose nothing: they save first, as part of Strategy.Restart.
//   - Quotas of tenants. State.Quotas holds those that are in force at the
//     decision, which has to keep to them; between decisions nothing is stopped.
//   - Wrong throughputs. Policies see the throughputs of a job on a GPU type times
//     an error until it made progress there for Config.Profiling. The truth moves
//     it, and what it does shows in JobState.Done.
//
// # Knowledge
//
// State.Remaining is the truth (oracle), an estimate, or env.Unknown (none).
// Under estimate every job has one guess of its total work, true work ×
// exp(σ·z), drawn from the stream "estimate" of the episode's seed; State shows
// max(guess − done, done / 4), which stays positive when the job outlives it.
// No other field of State depends on the true work of an unfinished job, nor on
// whether it will fail or be withdrawn, nor on failures of nodes to come, and
// [Candidates] never see them. Under oracle, too, Remaining is that of the job as
// submitted.
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
// One strategy per job and round; every GPU of a type is alike; a network has no
// topology beyond nodes; a step takes the same time throughout a job. Which jobs
// share a GPU is up to placement, not to policies. A node fails as a whole; writing
// a checkpoint takes no time. Node failures wait for a policy: jobs that nobody
// starts again never end, nor do those that only fit nodes which never return, or
// that a quota keeps out for good. A job whose restart takes longer than a round never ends
// under a policy that moves it every round: give episodes of untrained policies
// MaxRounds; without, the episode ends with an error after [MaxClock]. Float rounding may end a job up to a part in 10^15 of its
// work early. Sums of rewards are float64: exact to about a part in 10^12.
//
// # Validation
//
// The tests hold scripted scenarios (testdata), a slow twin that simulates with
// rational numbers, and identities on random workloads: rewards against
// completion times, GPU time against capacity, work done against work submitted,
// invariance under renaming and scaling, shortest-first on one GPU against its
// closed form, queues against theory. The twin has every switch but the placement
// of shared GPUs, which is recounted after every round. Both environments pass
// envtest.Check with every switch on.
//
// # References
//
//   - Rounds, mid-round finishes, arrivals and the isolated allocation: Narayanan
//     et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
//     Workloads (Gavel), OSDI 2020.
//   - Restart costs of 25 to 250 s: Jayaram Subramanya et al., Sia, SOSP 2023.
//   - Finish-time fairness: Mahajan et al., Themis, NSDI 2020.
//   - Jobs that share GPUs: Narayanan et al. (Gavel) for measured pairs; Xiao et al.,
//     AntMan, OSDI 2020; fractional GPUs: Weng et al., Beware of Fragmentation
//     (openb), USENIX ATC 2023.
//   - Failures: Kokolis et al., Revisiting Reliability in Large-Scale Machine
//     Learning Research Clusters, HPCA 2025.
//   - Jobs that fail or are withdrawn, and quotas of virtual clusters: Jeon et al.,
//     Analysis of Large-Scale Multi-Tenant GPU Clusters (Philly), USENIX ATC 2019.
package sim
