package encode

import (
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// encodeJob writes the rows of job i to x, one for each of its strategies.
func (e *JobStrategy) encodeJob(x []float32, s *env.State, i int, rows []rowSummary) {
	shared := x[:jobStrategyColumns]
	e.encodeShared(shared, s, i)
	for k := range s.Jobs[i].Strategies {
		row := x[k*jobStrategyColumns:][:jobStrategyColumns]
		copy(row, shared) // the first one's own columns are in it, too: each row writes all of its own
		e.encodeStrategy(row, s, i, k, rows[k])
	}
}

// encodeShared writes the columns that all rows of job i have in common and
// clears the others.
func (e *JobStrategy) encodeShared(x []float32, s *env.State, i int) {
	j, sum := &s.Jobs[i], &e.jobs[i]
	round := s.RoundLen.Seconds()
	age := (s.Now - j.Submit).Seconds()

	clear(x)
	x[colRemaining] = bounded((sum.logR - e.logMean) / 2)
	x[colRank] = bounded(sum.rank)
	x[colBacklog] = bounded(sum.backlog)
	x[colWaiting] = bounded(math.Log1p(j.Waiting.Seconds()/round) / 4)
	x[colAge] = bounded(math.Log1p(age/round) / 4)
	x[colAttained] = bounded(math.Log1p(j.Service/float64(j.GPUs)/round) / 4)
	x[colAttainedRank] = bounded(sum.attainedRank)
	x[colOrder] = bounded(fraction(i, len(s.Jobs)))
	x[colWeight] = bounded(logWeight(j))
	x[colHasDeadline] = bounded(flag(j.Deadline > 0))
	x[colStarted] = bounded(flag(j.Ran > 0))
	x[colLongLoaded] = bounded(float64(x[colRemaining]) * e.demand)
}

// logWeight is 0, exactly, for the weight that most jobs have.
func logWeight(j *env.JobState) float64 {
	if j.Weight == 1 {
		return 0
	}
	return math.Log(j.Weight)
}

// encodeStrategy writes the columns that strategy k of job i has for its own, all
// of them.
func (e *JobStrategy) encodeStrategy(x []float32, s *env.State, i, k int, row rowSummary) {
	j, sum := &s.Jobs[i], &e.jobs[i]
	st := &j.Strategies[k]
	of, size := &e.types[st.Type], e.size(st)
	round := s.RoundLen.Seconds()
	left := sum.left / st.Throughput // seconds
	relative := row.speed - sum.logSpeed
	here := j.Current == k
	restart := 0.0
	if !here {
		restart = st.Restart.Seconds()
	}

	x[colDensity] = bounded(logWeight(j) + relative - (sum.logR - e.logMean) - size.halfLog)
	x[colRemainingHere] = bounded(math.Log(left/round) / 4)
	x[colSpeed] = bounded(relative)
	x[colSpeedPerGPU] = bounded(row.perGPU - sum.logPerGPU)
	x[colBestType] = bounded(flag(st.Type == sum.bestType))
	x[colComparative] = bounded(row.perGPU - sum.logMeanType - of.advantage)
	x[colGPUs] = size.gpus
	x[colShare] = bounded(size.held / max(1, of.capacity))
	x[colElastic] = bounded(math.Log2(size.held / float64(j.GPUs)))
	x[colHere] = bounded(flag(here))
	x[colMoves] = bounded(flag(j.Current != env.Idle && !here))
	x[colRestart] = bounded(restart / round)
	x[colRestartShare] = bounded(restart / (restart + left))
	if j.Deadline > 0 {
		x[colSlack] = bounded(((j.Deadline - s.Now).Seconds() - left) / (left + round))
	}
	x[colPressure] = of.column
	x[colSpread] = bounded(math.Log2(float64(st.Nodes)) / 3)
	x[colGPUsLoaded] = bounded(float64(size.gpus) * e.demand)
	x[colLongSpeed] = bounded(float64(x[colRemaining]) * relative)
	x[colRankGPUs] = bounded((sum.rank - 0.5) * float64(size.gpus))
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
