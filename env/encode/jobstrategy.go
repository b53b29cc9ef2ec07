package encode

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Candidate says which job and which of its strategies a row stands for.
type Candidate struct {
	Job, Strategy int32 // indices into State.Jobs and its Strategies; -1, -1 for stop
}

// JobStrategy encodes a state as the observation of JobStrategy-v0: row 0 is
// stop, the rows after it are the candidates ordered by (job, strategy). The
// zero value is ready to use.
type JobStrategy struct {
	candidates []Candidate
	jobs       []jobSummary
	order      []int32 // scratch for ranks
	budget     env.Budget
	capacity   []float64 // GPUs in service, per type
	pressure   []float64 // GPUs requested by jobs whose fastest type it is, per type
	advantage  []float64 // mean log advantage over the jobs, per type
	advantages []int     // jobs in that mean
	typeSpeed  []float64 // scratch: the job's best log speed per type
	gpus       float64
	demand     float64 // log(GPUs requested / GPUs of the cluster), −2 to 2
	logMean    float64 // mean of log R
	logStd     float64
}

// jobSummary holds what all rows of one job share.
type jobSummary struct {
	left         float64 // steps left by what the state knows
	logR         float64 // log of R in seconds
	logSpeed     float64 // log of the fastest speed over all strategies
	logPerGPU    float64 // log of the best speed per GPU
	logMeanType  float64 // mean over GPU types of the job's best log speed
	bestType     int     // fastest type at the requested number of GPUs
	rank         float64
	backlog      float64
	attainedRank float64
}

// Candidates returns which candidate each row of the last observation stands
// for, shape [N]; borrowed until the next Encode.
func (e *JobStrategy) Candidates() []Candidate { return e.candidates }

// Encode writes the observation of s to dst, reusing its memory. s must be
// valid. The mask allows every candidate that fits an idle cluster, and stop
// only where there is no such candidate; Epoch is s.Round.
func (e *JobStrategy) Encode(dst *env.Observation, s *env.State) {
	e.summarize(s)
	n := 1
	for i := range s.Jobs {
		n += len(s.Jobs[i].Strategies)
	}
	dst.Epoch = s.Round
	dst.Global = grow(dst.Global, jobStrategyGlobals)
	dst.Candidates = grow(dst.Candidates, n*jobStrategyColumns)
	dst.Mask = grow(dst.Mask, n)
	e.candidates = grow(e.candidates, n)
	e.encodeGlobal(dst.Global, s)

	stop := dst.Candidates[:jobStrategyColumns]
	clear(stop)
	stop[colIsStop] = 1
	e.candidates[0] = Candidate{-1, -1}
	row, legal := 1, false
	for i := range s.Jobs {
		for k := range s.Jobs[i].Strategies {
			e.encodeRow(dst.Candidates[row*jobStrategyColumns:][:jobStrategyColumns], s, i, k)
			e.candidates[row] = Candidate{int32(i), int32(k)}
			dst.Mask[row] = e.budget.Possible(&s.Jobs[i], &s.Jobs[i].Strategies[k])
			legal = legal || dst.Mask[row]
			row++
		}
	}
	dst.Mask[0] = !legal
}

// summarize computes what rows share: per job, per GPU type and over all jobs.
func (e *JobStrategy) summarize(s *env.State) {
	types := len(s.Cluster.Types)
	e.capacity = grow(e.capacity, types)
	e.pressure = grow(e.pressure, types)
	e.advantage = grow(e.advantage, types)
	e.advantages = grow(e.advantages, types)
	e.typeSpeed = grow(e.typeSpeed, types)
	clear(e.capacity)
	clear(e.pressure)
	clear(e.advantage)
	clear(e.advantages)
	e.gpus = 0
	e.budget.Reset(s)
	for t := range e.capacity {
		e.capacity[t] = float64(e.budget.Free(t))
		e.gpus += e.capacity[t]
	}
	e.jobs = grow(e.jobs, len(s.Jobs))
	for i := range s.Jobs {
		e.summarizeJob(s, i)
	}
	for t := range e.advantage {
		if e.advantages[t] > 0 {
			e.advantage[t] /= float64(e.advantages[t])
		}
	}
	asked := 0.0
	for i := range s.Jobs {
		asked += float64(s.Jobs[i].GPUs)
	}
	e.demand = min(2, max(-2, math.Log((asked+1)/(e.gpus+1))))
	e.spread()
	e.rank(s)
}

func (e *JobStrategy) summarizeJob(s *env.State, i int) {
	j, sum := &s.Jobs[i], &e.jobs[i]
	*sum = jobSummary{logSpeed: math.Inf(-1), logPerGPU: math.Inf(-1)}
	for t := range e.typeSpeed {
		e.typeSpeed[t] = math.Inf(-1)
	}
	asked := closestGPUs(j)
	fastest := 0.0
	for k := range j.Strategies {
		st := &j.Strategies[k]
		speed := math.Log(st.Throughput)
		perGPU := math.Log(st.Throughput / st.Held())
		sum.logSpeed = max(sum.logSpeed, speed)
		sum.logPerGPU = max(sum.logPerGPU, perGPU)
		e.typeSpeed[st.Type] = max(e.typeSpeed[st.Type], perGPU)
		if st.GPUs == asked && st.Throughput > fastest {
			fastest, sum.bestType = st.Throughput, st.Type
		}
	}
	n := 0
	for _, v := range e.typeSpeed {
		if !math.IsInf(v, -1) {
			sum.logMeanType += v
			n++
		}
	}
	sum.logMeanType /= float64(n)
	for t, v := range e.typeSpeed {
		if !math.IsInf(v, -1) {
			e.advantage[t] += v - sum.logMeanType
			e.advantages[t]++
		}
	}
	sum.left = Remaining(s, j, fastest)
	sum.logR = math.Log(sum.left / fastest)
	e.pressure[sum.bestType] += float64(j.GPUs)
}

// closestGPUs returns the number of GPUs among j's strategies that is closest
// to what j requested: a request may exceed the cluster.
func closestGPUs(j *env.JobState) int {
	best := j.Strategies[0].GPUs
	for k := range j.Strategies {
		g := j.Strategies[k].GPUs
		if d, b := abs(g-j.GPUs), abs(best-j.GPUs); d < b || d == b && g < best {
			best = g
		}
	}
	return best
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// Remaining returns the steps j is expected to need yet, > 0: what the state
// says where it says something. Otherwise as many as it has done, plus what the
// fastest strategy does in one round: for heavy-tailed work the expected rest
// grows in proportion to the attained part (the mean residual life of a Pareto
// distribution with index 2).
func Remaining(s *env.State, j *env.JobState, fastest float64) float64 {
	if j.Remaining > 0 {
		return j.Remaining
	}
	return j.Done + fastest*s.RoundLen.Seconds()
}

// spread computes mean and standard deviation of log R.
func (e *JobStrategy) spread() {
	e.logMean, e.logStd = 0, 0
	if len(e.jobs) == 0 {
		return
	}
	n := float64(len(e.jobs))
	for i := range e.jobs {
		e.logMean += e.jobs[i].logR / n
	}
	for i := range e.jobs {
		d := e.jobs[i].logR - e.logMean
		e.logStd += d * d / n
	}
	e.logStd = math.Sqrt(e.logStd)
}

// rank sorts the jobs by R and by attained service; ties in order of the state.
func (e *JobStrategy) rank(s *env.State) {
	n := len(s.Jobs)
	e.order = grow(e.order, n)
	for i := range e.order {
		e.order[i] = int32(i)
	}
	slices.SortFunc(e.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.jobs[a].logR, e.jobs[b].logR), cmp.Compare(a, b))
	})
	ahead := 0.0
	for r, i := range e.order {
		g := float64(s.Jobs[i].GPUs)
		e.jobs[i].rank = fraction(r, n)
		e.jobs[i].backlog = (ahead + g/2) / e.gpus
		ahead += g
	}
	slices.SortFunc(e.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Jobs[a].Service, s.Jobs[b].Service), cmp.Compare(a, b))
	})
	for r, i := range e.order {
		e.jobs[i].attainedRank = fraction(r, n)
	}
}

// fraction returns where rank r of n lies between 0 and 1.
func fraction(r, n int) float64 {
	if n < 2 {
		return 0
	}
	return float64(r) / float64(n-1)
}

func (e *JobStrategy) encodeRow(x []float32, s *env.State, i, k int) {
	j, sum := &s.Jobs[i], &e.jobs[i]
	st := &j.Strategies[k]
	round := s.RoundLen.Seconds()
	left := sum.left / st.Throughput // seconds
	speed := math.Log(st.Throughput)
	perGPU := math.Log(st.Throughput / st.Held())
	relative := speed - sum.logSpeed
	weight := math.Log(j.Weight)
	here := j.Current == k
	restart := st.Restart.Seconds() * flag(!here)
	age := (s.Now - j.Submit).Seconds()

	clear(x)
	x[colDensity] = bounded(weight + relative - (sum.logR - e.logMean) - 0.5*math.Log(st.Held()))
	x[colRemainingHere] = bounded(math.Log(left/round) / 4)
	x[colRemaining] = bounded((sum.logR - e.logMean) / 2)
	x[colRank] = bounded(sum.rank)
	x[colBacklog] = bounded(sum.backlog)
	x[colSpeed] = bounded(relative)
	x[colSpeedPerGPU] = bounded(perGPU - sum.logPerGPU)
	x[colBestType] = bounded(flag(st.Type == sum.bestType))
	x[colComparative] = bounded(perGPU - sum.logMeanType - e.advantage[st.Type])
	x[colGPUs] = bounded(math.Log2(st.Held()) / 3)
	x[colShare] = bounded(st.Held() / max(1, e.capacity[st.Type]))
	x[colElastic] = bounded(math.Log2(st.Held() / float64(j.GPUs)))
	x[colHere] = bounded(flag(here))
	x[colMoves] = bounded(flag(j.Current != env.Idle && !here))
	x[colRestart] = bounded(restart / round)
	x[colRestartShare] = bounded(restart / (restart + left))
	x[colWaiting] = bounded(math.Log1p(j.Waiting.Seconds()/round) / 4)
	x[colAge] = bounded(math.Log1p(age/round) / 4)
	x[colAttained] = bounded(math.Log1p(j.Service/float64(j.GPUs)/round) / 4)
	x[colAttainedRank] = bounded(sum.attainedRank)
	x[colOrder] = bounded(fraction(i, len(s.Jobs)))
	x[colWeight] = bounded(weight)
	if j.Deadline > 0 {
		x[colHasDeadline] = 1
		x[colSlack] = bounded(((j.Deadline - s.Now).Seconds() - left) / (left + round))
	}
	x[colStarted] = bounded(flag(j.Ran > 0))
	x[colPressure] = bounded(math.Log((e.pressure[st.Type] + 1) / (e.capacity[st.Type] + 1)))
	x[colSpread] = bounded(math.Log2(float64(st.Nodes)) / 3)
	x[colLongLoaded] = bounded(float64(x[colRemaining]) * e.demand)
	x[colGPUsLoaded] = bounded(float64(x[colGPUs]) * e.demand)
	x[colLongSpeed] = bounded(float64(x[colRemaining]) * relative)
	x[colRankGPUs] = bounded((sum.rank - 0.5) * float64(x[colGPUs]))
}

func (e *JobStrategy) encodeGlobal(g []float32, s *env.State) {
	running, busy, asked := 0, 0.0, 0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		asked += j.GPUs
		if j.Current != env.Idle {
			running++
			busy += j.Strategies[j.Current].Held()
		}
	}
	clear(g)
	g[globalJobs] = bounded(math.Log1p(float64(len(s.Jobs))) / 4)
	g[globalDemand] = bounded(math.Log(float64(asked+1) / (e.gpus + 1)))
	g[globalRunning] = bounded(float64(running) / float64(max(1, len(s.Jobs))))
	g[globalBusy] = bounded(busy / max(1, e.gpus))
	g[globalSpreadR] = bounded(e.logStd / 2)
	g[globalSize] = bounded(math.Log2(max(1, e.gpus)) / 8)
	g[globalArrivals] = bounded(math.Log1p(perRound(s.Recent.Arrivals, s.Recent.Length, s.RoundLen)))
	g[globalEstimate] = bounded(flag(s.Knowledge == env.Estimate))
	g[globalNone] = bounded(flag(s.Knowledge == env.None))
}

// perRound converts a count over length to a mean per round; 0 where length is.
func perRound(count int, length, round time.Duration) float64 {
	if length <= 0 {
		return 0
	}
	return float64(count) * round.Seconds() / length.Seconds()
}
