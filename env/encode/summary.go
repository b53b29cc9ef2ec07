package encode

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/radix"
)

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

// rowSummary holds the logarithms of a candidate that more than one pass needs.
type rowSummary struct {
	speed, perGPU float64
}

// typeSummary holds what all rows of one type of GPU share.
type typeSummary struct {
	capacity   float64 // GPUs in service
	pressure   float64 // GPUs requested by jobs whose fastest type it is
	advantage  float64 // mean log advantage over the jobs
	advantages int     // jobs in that mean
	best       float64 // scratch: a job's best log speed per GPU
	column     float32 // colPressure
}

// sizeSummary holds what all rows that take so many GPUs share.
type sizeSummary struct {
	held    float64
	halfLog float64 // log(held) / 2
	gpus    float32 // colGPUs
}

// knownSizes bounds the table of sizes, in parts: 512 GPUs.
const knownSizes = 512 * env.PartsPerGPU

// size returns the summary of the GPUs that st takes.
func (e *JobStrategy) size(st *env.Strategy) sizeSummary {
	parts := st.Parts()
	if parts >= knownSizes {
		return newSize(st.Held())
	}
	for len(e.sizes) <= parts {
		e.sizes = append(e.sizes, sizeSummary{})
	}
	if e.sizes[parts].held == 0 {
		e.sizes[parts] = newSize(st.Held())
	}
	return e.sizes[parts]
}

func newSize(held float64) sizeSummary {
	return sizeSummary{held: held, halfLog: 0.5 * math.Log(held), gpus: bounded(math.Log2(held) / 3)}
}

// summarize computes what rows share: per job, per GPU type and over all jobs.
func (e *JobStrategy) summarize(s *env.State) {
	e.types = grow(e.types, len(s.Cluster.Types))
	e.gpus = 0
	e.budget.Reset(s)
	for t := range e.types {
		e.types[t] = typeSummary{capacity: float64(e.budget.Free(t))}
		e.gpus += e.types[t].capacity
	}
	e.jobs = grow(e.jobs, len(s.Jobs))
	row, asked := 0, 0.0
	for i := range s.Jobs {
		n := len(s.Jobs[i].Strategies)
		e.summarizeJob(s, i, e.rows[row:][:n])
		row += n
		asked += float64(s.Jobs[i].GPUs)
	}
	for t := range e.types {
		u := &e.types[t]
		if u.advantages > 0 {
			u.advantage /= float64(u.advantages)
		}
		u.column = bounded(math.Log((u.pressure + 1) / (u.capacity + 1)))
	}
	e.demand = min(2, max(-2, math.Log((asked+1)/(e.gpus+1))))
	e.spread()
	e.rank(s)
}

func (e *JobStrategy) summarizeJob(s *env.State, i int, rows []rowSummary) {
	j, sum := &s.Jobs[i], &e.jobs[i]
	*sum = jobSummary{logSpeed: math.Inf(-1), logPerGPU: math.Inf(-1)}
	for t := range e.types {
		e.types[t].best = math.Inf(-1)
	}
	asked := closestGPUs(j)
	fastest := 0.0
	for k := range j.Strategies {
		st, row := &j.Strategies[k], &rows[k]
		row.speed = math.Log(st.Throughput)
		row.perGPU = row.speed
		if held := st.Held(); held != 1 {
			row.perGPU = math.Log(st.Throughput / held)
		}
		sum.logSpeed = max(sum.logSpeed, row.speed)
		sum.logPerGPU = max(sum.logPerGPU, row.perGPU)
		best := &e.types[st.Type].best
		*best = max(*best, row.perGPU)
		if st.GPUs == asked && st.Throughput > fastest {
			fastest, sum.bestType = st.Throughput, st.Type
		}
	}
	e.compareTypes(sum)
	sum.left = Remaining(s, j, fastest)
	sum.logR = math.Log(sum.left / fastest)
	e.types[sum.bestType].pressure += float64(j.GPUs)
}

// compareTypes computes the job's mean over the types it can run on, and adds its
// advantage on each to the type's.
func (e *JobStrategy) compareTypes(sum *jobSummary) {
	n := 0
	for t := range e.types {
		if v := e.types[t].best; !math.IsInf(v, -1) {
			sum.logMeanType += v
			n++
		}
	}
	sum.logMeanType /= float64(n)
	for t := range e.types {
		if u := &e.types[t]; !math.IsInf(u.best, -1) {
			u.advantage += u.best - sum.logMeanType
			u.advantages++
		}
	}
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
	e.byRank = grow(e.byRank, n)
	for i := range e.byRank {
		e.byRank[i] = radix.Item{Key: radix.Float64(e.jobs[i].logR), Index: int32(i)}
	}
	e.sorter.Sort(e.byRank)
	ahead := 0.0
	for r, at := range e.byRank {
		i := at.Index
		g := float64(s.Jobs[i].GPUs)
		e.jobs[i].rank = fraction(r, n)
		e.jobs[i].backlog = (ahead + g/2) / e.gpus
		ahead += g
	}
	for i := range e.byRank {
		e.byRank[i] = radix.Item{Key: radix.Float64(s.Jobs[i].Service), Index: int32(i)}
	}
	e.sorter.Sort(e.byRank)
	for r, at := range e.byRank {
		e.jobs[at.Index].attainedRank = fraction(r, n)
	}
}

// fraction returns where rank r of n lies between 0 and 1.
func fraction(r, n int) float64 {
	if n < 2 {
		return 0
	}
	return float64(r) / float64(n-1)
}
