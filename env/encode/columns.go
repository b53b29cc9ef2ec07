package encode

import "github.com/yardmaster/yardmaster/env"

// JobStrategyVersion names the columns of [JobStrategySpace] and how they are
// computed. It changes whenever either does.
const JobStrategyVersion = "job-strategy/1"

// Columns of a candidate, in order. R is the time a job still needs on its
// fastest strategy with the GPUs it requested, by what the state knows.
const (
	colIsStop        = iota // 1 for the stop row, whose other columns are 0
	colDensity              // log(weight · relative speed / R / GPUs^½), centred over the jobs
	colRemainingHere        // log of the time left under this strategy in rounds, / 4
	colRemaining            // log R, centred over the jobs, / 2
	colRank                 // rank of R among the jobs: 0 shortest, 1 longest
	colBacklog              // GPUs requested by jobs with smaller R, half its own included, / GPUs of the cluster
	colSpeed                // log(speed / the job's fastest speed)
	colSpeedPerGPU          // log(speed per GPU / the job's best speed per GPU)
	colBestType             // 1 where this GPU type is the job's fastest for this number of GPUs
	colComparative          // log speed on this type over the job's mean across types, minus the same averaged over the jobs
	colGPUs                 // log2(GPUs) / 3
	colShare                // GPUs / the type's GPUs
	colElastic              // log2(GPUs / requested GPUs)
	colHere                 // 1 where the job runs exactly this strategy now
	colMoves                // 1 where the job runs now, on another strategy
	colRestart              // restart time / round where it would be paid, else 0
	colRestartShare         // restart time / (restart time + time left here) where it would be paid, else 0
	colWaiting              // log(1 + waiting in rounds) / 4
	colAge                  // log(1 + age in rounds) / 4
	colAttained             // log(1 + attained GPU-rounds per requested GPU) / 4
	colAttainedRank         // rank of attained service among the jobs: 0 least, 1 most
	colOrder                // rank of submission: 0 oldest, 1 newest
	colWeight               // log weight
	colHasDeadline          // 1 where the job has a deadline
	colSlack                // (time to the deadline − time left here) / (time left here + round), 0 without one
	colStarted              // 1 where the job has run before
	colPressure             // log of the GPUs requested by jobs whose fastest type this is over the type's GPUs
	colSpread               // log2(nodes it is spread over) / 3
	colLongLoaded           // remaining × demand: whether short jobs come first depends on the load
	colGPUsLoaded           // gpus × demand: whether a job should take many GPUs depends on it too
	colLongSpeed            // remaining × speed: a slow GPU costs a long job more
	colRankGPUs             // (rank − ½) × gpus
	jobStrategyColumns
)

var candidateNames = [jobStrategyColumns]string{
	"is_stop", "log_density", "remaining_here", "remaining", "rank", "backlog", "speed", "speed_per_gpu", "best_type", "comparative",
	"gpus", "share", "elastic", "here", "moves", "restart", "restart_share", "waiting", "age", "attained", "attained_rank", "order",
	"weight", "has_deadline", "slack", "started", "pressure", "spread", "long_loaded", "gpus_loaded", "long_speed", "rank_gpus",
}

// Columns of the whole state, in order.
const (
	globalJobs     = iota // log(1 + jobs) / 4
	globalDemand          // log(GPUs requested / GPUs of the cluster)
	globalRunning         // share of the jobs that ran in the last round
	globalBusy            // share of the GPUs that were busy in the last round
	globalSpreadR         // standard deviation of log R over the jobs, / 2
	globalSize            // log2(GPUs of the cluster) / 8
	globalArrivals        // log(1 + recent arrivals per round)
	globalEstimate        // 1 where knowledge is estimate
	globalNone            // 1 where knowledge is none
	jobStrategyGlobals
)

var globalNames = [jobStrategyGlobals]string{
	"jobs", "demand", "running", "busy", "spread_remaining", "size", "arrivals", "knows_estimate", "knows_nothing",
}

// JobStrategySpace describes the observations of JobStrategy-v0.
func JobStrategySpace() env.Space {
	return env.Space{Global: features(globalNames[:]), Candidate: features(candidateNames[:])}
}
