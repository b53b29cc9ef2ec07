package encode

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// twin is JobStrategy without tables: every row computes what it needs, and jobs
// are ranked by comparisons.
type twin struct {
	candidates []Candidate
	jobs       []jobSummary
	order      []int32
	budget     env.Budget
	capacity   []float64
	pressure   []float64
	advantage  []float64
	advantages []int
	typeSpeed  []float64
	gpus       float64
	demand     float64
	logMean    float64
	logStd     float64
}

func (e *twin) Encode(dst *env.Observation, s *env.State) {
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

func (e *twin) summarize(s *env.State) {
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

func (e *twin) summarizeJob(s *env.State, i int) {
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

func (e *twin) spread() {
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

func (e *twin) rank(s *env.State) {
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

func (e *twin) encodeRow(x []float32, s *env.State, i, k int) {
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
	x[colDensity] = bounded(weight + relative - (sum.logR - e.logMean) - float64(0.5*math.Log(st.Held())))
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

func (e *twin) encodeGlobal(g []float32, s *env.State) {
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

// variedState has everything that columns depend on: shared and spread
// strategies, ties, deadlines, nodes out of service, jobs that wait.
func variedState(r *rand.Rand) *env.State {
	s := &env.State{Now: 100 * time.Hour, Round: int64(r.IntN(9)), RoundLen: 6 * time.Minute, Knowledge: env.Knowledge(r.IntN(3))}
	types := 1 + r.IntN(4)
	for t := range types {
		s.Cluster.Types = append(s.Cluster.Types, env.GPUType{Name: string(rune('a' + t))})
		for range 1 + r.IntN(6) {
			s.Cluster.Nodes = append(s.Cluster.Nodes, env.Node{Type: t, GPUs: 1 + r.IntN(8)})
		}
	}
	if r.IntN(3) == 0 {
		s.Down = []int{r.IntN(len(s.Cluster.Nodes))}
	}
	s.Recent = env.Window{Length: time.Hour, Arrivals: r.IntN(20)}
	for i := range r.IntN(40) {
		s.Jobs = append(s.Jobs, variedJob(r, s, i))
	}
	return s
}

func variedJob(r *rand.Rand, s *env.State, i int) env.JobState {
	j := env.JobState{
		ID: int64(i), Submit: time.Duration(r.Int64N(int64(s.Now))), GPUs: 1 + r.IntN(12), Weight: 1, Batch: 1,
		Remaining: math.Exp(float64(r.IntN(9))), Service: float64(r.IntN(4)) * 1e4, Done: float64(r.IntN(1000)),
		Ran: time.Duration(r.IntN(2)) * time.Hour, Waiting: time.Duration(r.Int64N(int64(time.Hour))),
	}
	if s.Knowledge == env.None {
		j.Remaining = env.Unknown
	}
	if r.IntN(2) == 0 {
		j.Weight = math.Exp(r.NormFloat64())
	}
	if r.IntN(3) == 0 {
		j.Deadline = time.Duration(r.Int64N(int64(2 * s.Now)))
	}
	for range 1 + r.IntN(16) {
		st := env.Strategy{
			Type: r.IntN(len(s.Cluster.Types)), GPUs: 1 + r.IntN(12), Throughput: math.Exp(3 * r.NormFloat64()),
			Restart: time.Duration(r.IntN(300)) * time.Second,
		}
		st.Nodes = 1 + r.IntN(st.GPUs)
		switch r.IntN(8) {
		case 0:
			st.Share = 1 << (1 + r.IntN(3))
		case 1:
			st.GPUs = 400 + r.IntN(400) // on both sides of what the table of sizes holds
		}
		j.Strategies = append(j.Strategies, st)
	}
	j.Current = r.IntN(len(j.Strategies)+1) - 1
	return j
}

// The encoder gives the twin's bits, with memory from states of other sizes.
func TestJobStrategyEqualsTheTwin(t *testing.T) {
	var e JobStrategy
	var slow twin
	var got, want env.Observation
	for seed := range uint64(400) {
		s := variedState(rng.New(seed, "encode/twin"))
		e.Encode(&got, s)
		slow.Encode(&want, s)
		if !slices.Equal(got.Mask, want.Mask) || !slices.Equal(e.candidates, slow.candidates) || got.Epoch != want.Epoch {
			t.Fatalf("seed %d: masks %v and %v, rows %v and %v", seed, got.Mask, want.Mask, e.candidates, slow.candidates)
		}
		for i, x := range want.Candidates {
			if math.Float32bits(got.Candidates[i]) != math.Float32bits(x) {
				t.Fatalf("seed %d, row %d, %s: got %v, want %v", seed, i/jobStrategyColumns, candidateNames[i%jobStrategyColumns], got.Candidates[i], x)
			}
		}
		for i, x := range want.Global {
			if math.Float32bits(got.Global[i]) != math.Float32bits(x) {
				t.Fatalf("seed %d, %s: got %v, want %v", seed, globalNames[i], got.Global[i], x)
			}
		}
	}
}
