package encode

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// twoJobs has a V100 node of 4 GPUs and a K80 node of 4. Job 1 needs 100 rounds
// on its best strategy and runs on K80, job 2 needs one round and waits.
func twoJobs() *env.State {
	strategies := []env.Strategy{
		{Type: 0, GPUs: 1, Nodes: 1, Throughput: 8, Restart: 36 * time.Second},
		{Type: 0, GPUs: 2, Nodes: 1, Throughput: 10, Restart: 36 * time.Second},
		{Type: 1, GPUs: 1, Nodes: 1, Throughput: 2, Restart: 36 * time.Second},
	}
	return &env.State{
		Cluster: env.Cluster{
			Types: []env.GPUType{{Name: "V100", MemoryGiB: 16}, {Name: "K80", MemoryGiB: 12}},
			Nodes: []env.Node{{Type: 0, GPUs: 4}, {Type: 1, GPUs: 4}},
		},
		Now: 2 * time.Hour, Round: 20, RoundLen: 6 * time.Minute, Knowledge: env.Oracle,
		Jobs: []env.JobState{
			{ID: 1, Model: "m", Batch: 1, GPUs: 1, Weight: 1, Remaining: 8 * 36000, Service: 3600, Ran: time.Hour, Current: 2, Strategies: strategies},
			{ID: 2, Model: "m", Batch: 1, GPUs: 1, Weight: 2, Submit: time.Hour, Remaining: 8 * 360, Current: env.Idle, Waiting: time.Hour, Strategies: strategies},
		},
	}
}

func row(o *env.Observation, i int) []float32 {
	return o.Candidates[i*jobStrategyColumns:][:jobStrategyColumns]
}

func TestJobStrategyColumns(t *testing.T) {
	var e JobStrategy
	var o env.Observation
	e.Encode(&o, twoJobs())
	space := JobStrategySpace()
	if err := space.Contains(&o); err != nil {
		t.Fatal(err)
	}
	wantRows := []Candidate{{-1, -1}, {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}
	if !slices.Equal(e.Candidates(), wantRows) {
		t.Errorf("rows stand for %v, want %v", e.Candidates(), wantRows)
	}
	if !slices.Equal(o.Mask, []bool{false, true, true, true, true, true, true}) {
		t.Errorf("mask is %v, want all but stop", o.Mask)
	}
	ln := math.Log
	half := ln(100) / 2 // distance of each job's log R from their mean
	tests := []struct {
		row, col int
		want     float64
	}{
		{0, colIsStop, 1},
		{0, colDensity, 0},
		{1, colDensity, ln(8.0/10) - half},
		{2, colDensity, -half - ln(2)/2},
		{4, colDensity, ln(2) + ln(8.0/10) + half},
		{1, colRemainingHere, ln(100) / 4},
		{3, colRemainingHere, ln(400) / 4},
		{1, colRank, 1},
		{4, colRank, 0},
		{1, colBacklog, 1.5 / 8},
		{4, colBacklog, 0.5 / 8},
		{2, colSpeed, 0},
		{3, colSpeed, ln(0.2)},
		{2, colSpeedPerGPU, ln(5.0 / 8)},
		{1, colBestType, 1},
		{3, colBestType, 0},
		{1, colComparative, 0}, // both jobs have the same speed-ups
		{2, colGPUs, 1.0 / 3},
		{2, colShare, 0.5},
		{2, colElastic, 1},
		{3, colHere, 1},
		{1, colMoves, 1},
		{3, colMoves, 0},
		{4, colMoves, 0}, // a job that waits does not move
		{1, colRestart, 0.1},
		{3, colRestart, 0},
		{4, colRestartShare, 36.0 / 396},
		{4, colWaiting, math.Log1p(10) / 4},
		{1, colAge, math.Log1p(20) / 4},
		{1, colAttained, math.Log1p(10) / 4},
		{1, colAttainedRank, 1},
		{4, colOrder, 1},
		{4, colWeight, ln(2)},
		{1, colStarted, 1},
		{4, colStarted, 0},
		{1, colPressure, ln(3.0 / 5)},
	}
	for _, tt := range tests {
		if got := float64(row(&o, tt.row)[tt.col]); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("row %d, %s: got %v, want %v", tt.row, candidateNames[tt.col], got, tt.want)
		}
	}
}

func TestStopIsLegalOnlyWhereNothingFits(t *testing.T) {
	s := twoJobs()
	s.Cluster.Nodes = []env.Node{{Type: 0, GPUs: 1}} // 2-GPU and K80 strategies cannot run
	var e JobStrategy
	var o env.Observation
	e.Encode(&o, s)
	if !slices.Equal(o.Mask, []bool{false, true, false, false, true, false, false}) {
		t.Errorf("mask is %v, want the 1-GPU strategies on V100 only", o.Mask)
	}
	s.Jobs = nil
	e.Encode(&o, s)
	if !slices.Equal(o.Mask, []bool{true}) {
		t.Errorf("no jobs: mask is %v, want stop only", o.Mask)
	}
}

func TestDeadlineSlack(t *testing.T) {
	s := twoJobs()
	s.Jobs[1].Deadline = s.Now + 18*time.Minute // three rounds; one is needed on the best strategy
	var e JobStrategy
	var o env.Observation
	e.Encode(&o, s)
	if got := row(&o, 4)[colSlack]; got != 1 { // (3 − 1) rounds / (1 + 1) rounds
		t.Errorf("slack is %v, want 1", got)
	}
	if row(&o, 4)[colHasDeadline] != 1 || row(&o, 1)[colHasDeadline] != 0 {
		t.Error("has_deadline is not the flag of job 2 alone")
	}
}

func TestUnknownWorkIsReplacedByAttained(t *testing.T) {
	s := twoJobs()
	s.Knowledge = env.None
	for i := range s.Jobs {
		s.Jobs[i].Remaining = env.Unknown
	}
	s.Jobs[0].Done = 1000
	if got := Remaining(s, &s.Jobs[0], 8); got != 1000+8*360 {
		t.Errorf("remaining is %v, want what was done plus one round's steps", got)
	}
	var e JobStrategy
	var o env.Observation
	e.Encode(&o, s)
	space := JobStrategySpace()
	if err := space.Contains(&o); err != nil {
		t.Error(err)
	}
}

// TestSpeedUnitsDoNotMatter scales the steps of one job: a step is a unit of
// the model, so no column may depend on it.
func TestSpeedUnitsDoNotMatter(t *testing.T) {
	a, b := twoJobs(), twoJobs()
	scaled := slices.Clone(b.Jobs[1].Strategies)
	for k := range scaled {
		scaled[k].Throughput *= 1024
	}
	b.Jobs[1].Strategies = scaled
	b.Jobs[1].Remaining *= 1024
	var ea, eb JobStrategy
	var oa, ob env.Observation
	ea.Encode(&oa, a)
	eb.Encode(&ob, b)
	for i := range oa.Candidates {
		if math.Abs(float64(oa.Candidates[i]-ob.Candidates[i])) > 1e-5 {
			t.Errorf("row %d, %s: %v became %v", i/jobStrategyColumns, candidateNames[i%jobStrategyColumns], oa.Candidates[i], ob.Candidates[i])
		}
	}
}

// randomState has n jobs with up to four strategies each.
func randomState(seed uint64, n int) *env.State {
	r := rng.New(seed, "encode/test")
	s := twoJobs()
	s.Jobs = nil
	for i := range n {
		var strategies []env.Strategy
		for k := range 1 + r.IntN(4) {
			strategies = append(strategies, env.Strategy{Type: k % 2, GPUs: 1 << r.IntN(3), Nodes: 1, Throughput: math.Exp(8 * r.NormFloat64()), Restart: time.Duration(r.IntN(300)) * time.Second})
		}
		s.Jobs = append(s.Jobs, env.JobState{
			ID: int64(i), Model: "m", Batch: 1, GPUs: 1 << r.IntN(4), Weight: math.Exp(r.NormFloat64()), Remaining: math.Exp(12 * r.NormFloat64()),
			Service: math.Exp(6 * r.NormFloat64()), Ran: time.Duration(r.IntN(1e12)), Current: r.IntN(len(strategies)+1) - 1, Strategies: strategies,
		})
	}
	return s
}

func TestObservationsStayInTheirSpace(t *testing.T) {
	space := JobStrategySpace()
	var e JobStrategy
	var o env.Observation
	for seed := range uint64(200) {
		s := randomState(seed, int(seed%40))
		e.Encode(&o, s)
		if err := space.Contains(&o); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	s := randomState(1, 100)
	var e JobStrategy
	var o env.Observation
	e.Encode(&o, s)
	if n := testing.AllocsPerRun(20, func() { e.Encode(&o, s) }); n != 0 {
		t.Errorf("job-strategy encoder allocates %v times, want 0", n)
	}
	var c Configuration
	configs := []env.Configuration{{Scheduler: "tiresias"}}
	c.Encode(&o, s, configs)
	if n := testing.AllocsPerRun(20, func() { c.Encode(&o, s, configs) }); n != 0 {
		t.Errorf("configuration encoder allocates %v times, want 0", n)
	}
}

func TestConfigurationColumns(t *testing.T) {
	s := twoJobs()
	s.Recent = env.Window{Length: time.Hour, Arrivals: 3, ArrivedGPUs: 12, Completed: 2, CompletedService: 7200, CompletedSquare: 2 * 3600 * 3600, Queue: 8, Running: 0, BusyGPUs: 4}
	configs := []env.Configuration{
		{Scheduler: "tiresias", Knobs: []env.Knob{{Name: KnobPromote, Values: []float64{math.E}}, {Name: KnobThresholds, Values: []float64{3600, 3600 * math.Exp(2)}}}},
		{Scheduler: "tiresias", Knobs: []env.Knob{{Name: KnobPromote, Values: []float64{0}}, {Name: KnobThresholds}}},
	}
	var e Configuration
	var o env.Observation
	e.Encode(&o, s, configs)
	space := ConfigurationSpace()
	if err := space.Contains(&o); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		row, col int
		want     float64
	}{
		{0, cfgQueues, 0.75},
		{0, cfgFirst, 0},
		{0, cfgLast, 0.5},
		{0, cfgSingle, 0},
		{0, cfgPromote, 1},
		{0, cfgPromoteAt, 1},
		{0, cfgFirstToMean, 0},
		{0, cfgLastToMean, 0.5},
		{0, cfgBelowFirst, 0.5},
		{0, cfgAboveLast, 0},
		{0, cfgNearFirst, 0.5},
		{1, cfgQueues, 0.25},
		{1, cfgSingle, 1},
		{1, cfgPromote, 0},
		{1, cfgFirst, 0},
	}
	for _, tt := range tests {
		if got := float64(o.Candidates[tt.row*configurationColumns+tt.col]); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("row %d, %s: got %v, want %v", tt.row, configurationNames[tt.col], got, tt.want)
		}
	}
	globals := map[int]float64{wlArrivals: math.Log1p(3) / 2, wlWidth: 2.0 / 3, wlMean: 0, wlVariation: 0, wlQueue: math.Log1p(1), wlBusy: 0.5}
	for col, want := range globals {
		if got := float64(o.Global[col]); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: got %v, want %v", workloadNames[col], got, want)
		}
	}
}

func BenchmarkEncode10000Jobs(b *testing.B) {
	s := randomState(1, 10_000)
	var e JobStrategy
	var o env.Observation
	for b.Loop() {
		e.Encode(&o, s)
	}
	b.ReportMetric(float64(o.N()), "candidates")
}
