package gavel

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env/rng"
)

// sharedPolicy gives job j the shares of row j, whenever it is asked.
type sharedPolicy struct {
	rules Rules
	rows  [][]float64
	asked []float64 // times
}

func (p *sharedPolicy) Rules() Rules { return p.rules }

func (p *sharedPolicy) Allocate(v *View, x []float64) error {
	p.asked = append(p.asked, v.Now)
	for i, id := range v.IDs {
		copy(x[i*len(v.Types):], p.rows[id])
	}
	return nil
}

// oneType is a cluster of V100 GPUs.
func oneType(gpus int) []GPUType { return []GPUType{{"V100", gpus}} }

func rates(r ...float64) []float64 { return r }

// play runs cfg to its end.
func play(t *testing.T, cfg Config) *Result {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// always gives n jobs all of their time on the first of k types.
func always(n, k int) *sharedPolicy {
	p := &sharedPolicy{}
	for range n {
		row := make([]float64, k)
		row[0] = 1
		p.rows = append(p.rows, row)
	}
	return p
}

// A job of 1.3 steps/s does 468 steps in a round of 360 s. It stops at the end
// of its last step, and so does the round.
func TestRoundsHaveWholeSteps(t *testing.T) {
	cfg := Config{Types: oneType(1), Policy: always(1, 1), Jobs: []Job{{Arrival: 7, GPUs: 1, Steps: 1000, Rates: rates(1.3)}}}
	r := play(t, cfg)
	// 468 steps take 360 s exactly; then 468 and 64.
	want := 7 + 360 + 360.0 + 64/1.3 - 7
	if math.Abs(r.JCT[0]-want) > 1e-9 {
		t.Errorf("got a completion time of %v, want %v", r.JCT[0], want)
	}
	if r.JobRounds != 3 || r.Utilization < 0.98 || r.Utilization > 1 {
		t.Errorf("got %+v", r)
	}
	cfg.Jobs[0].Rates = rates(0.0999) // ⌊35.964⌋ = 35 steps take 350.35 s
	cfg.Jobs[0].Steps = 70
	if r = play(t, cfg); math.Abs(r.JCT[0]-2*35/0.0999) > 1e-9 {
		t.Errorf("got %v s for two rounds of 35 steps, want %v", r.JCT[0], 2*35/0.0999)
	}
}

// A job that arrives within a round starts at its end; its completion time
// counts from the arrival. GPUs of a job that finished idle until then.
func TestJobsJoinAtRoundBoundaries(t *testing.T) {
	p := always(3, 1)
	r := play(t, Config{Types: oneType(2), Policy: p, Jobs: []Job{
		{Arrival: 0, GPUs: 1, Steps: 720, Rates: rates(1)},
		{Arrival: 0, GPUs: 1, Steps: 100, Rates: rates(1)},
		{Arrival: 10, GPUs: 1, Steps: 100, Rates: rates(1)},
	}})
	if diff := cmp.Diff([]float64{720, 100, 360 - 10 + 100}, r.JCT); diff != "" {
		t.Errorf("completion times (-want +got):\n%s", diff)
	}
	// At time 0 the interval between resets is not observed.
	if diff := cmp.Diff([]float64{0, 360}, p.asked); diff != "" {
		t.Errorf("shares were asked for at (-want +got):\n%s", diff)
	}
}

// Shares are asked for again 1920 s after the last time at the earliest, and
// only if a job came or went. A job that came since has no share and does not
// run, GPUs or not.
func TestSharesAreKeptForAWhile(t *testing.T) {
	jobs := []Job{
		{Arrival: 100, GPUs: 1, Steps: 7200, Rates: rates(1)},
		{Arrival: 500, GPUs: 1, Steps: 100, Rates: rates(1)},
	}
	for _, only := range []bool{false, true} {
		p := always(2, 1)
		p.rules.SharedOnly = only
		r := play(t, Config{Types: oneType(2), Policy: p, Jobs: jobs})
		// 100 is the first arrival; the first boundary after 2020 is 100 + 6·360. Then job 1
		// left, in the round to 2620.
		if diff := cmp.Diff([]float64{100, 2260, 4420}, p.asked); diff != "" {
			t.Errorf("shared only %v: shares were asked for at (-want +got):\n%s", only, diff)
		}
		if diff := cmp.Diff([]float64{7200, 2260 - 500 + 100}, r.JCT); diff != "" {
			t.Errorf("shared only %v: completion times (-want +got):\n%s", only, diff)
		}
	}
}

// Each of 8 workers is given ⌊steps/8⌋ steps. With 3 steps left, seven get none:
// the round fails, and so do the next four. Then the job is given up.
func TestGangWithTooFewStepsIsGivenUp(t *testing.T) {
	r := play(t, Config{Types: oneType(8), Policy: always(2, 1), Jobs: []Job{
		{GPUs: 8, Steps: 363, Rates: rates(1)},
		{GPUs: 8, Steps: 368, Rates: rates(1)},
	}})
	if !r.Left[0] || !math.IsNaN(r.JCT[0]) {
		t.Errorf("job 0: got left %v, completion time %v, want it given up", r.Left[0], r.JCT[0])
	}
	if math.IsNaN(r.JCT[1]) {
		t.Error("job 1, with 8 steps left, was given up")
	}
	s, err := r.Summarize(Window{0, 2})
	if err != nil || s.Jobs != 1 || s.GivenUp != 1 || s.Mean != r.JCT[1] || s.P99 != r.JCT[1] {
		t.Errorf("got %+v, %v, want one job finished and one given up", s, err)
	}
}

// Only failures in a row count: two gangs take turns on V100, and in between
// one of them fails on K80, where a round has 7 steps for its 8 workers.
func TestFailuresInARowCount(t *testing.T) {
	p := &sharedPolicy{rows: [][]float64{{1, 1}, {1, 0}}}
	r := play(t, Config{Types: []GPUType{{"V100", 8}, {"K80", 8}}, Policy: p, Jobs: []Job{
		{GPUs: 8, Steps: 7200, Rates: rates(1, 0.02)}, {GPUs: 8, Steps: 7200, Rates: rates(1, 0)},
	}})
	if math.IsNaN(r.JCT[0]) || r.JobRounds < 50 {
		t.Errorf("got %+v, want job 0 finished after some failures", r)
	}
}

// The clock jumps over idle gaps, and the first round after one is credited
// with it, as time received and as GPU time.
func TestIdleGapCountsAsReceived(t *testing.T) {
	s, err := New(Config{Types: oneType(1), Policy: always(2, 1), Jobs: []Job{
		{Arrival: 0, GPUs: 1, Steps: 360, Rates: rates(1)},
		{Arrival: 5000, GPUs: 1, Steps: 3600, Rates: rates(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for s.next < 2 {
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if s.now != 5000 {
		t.Errorf("the clock is at %v s, want 5000", s.now)
	}
	if _, err := s.Step(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.cell(1, 0).received, 180+5360-360.0; got != want {
		t.Errorf("got %v s received, want %v", got, want)
	}
	if r, err := s.Run(); err != nil || r.JCT[1] != 3600 || r.Utilization != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Jobs are served by share / time received: with shares 1 and 1/2 of one GPU,
// the first runs twice as often.
func TestPriorityRealisesShares(t *testing.T) {
	p := &sharedPolicy{rows: [][]float64{{1}, {0.5}}}
	s, err := New(Config{Types: oneType(1), Policy: p, Jobs: []Job{
		{GPUs: 1, Steps: 1e6, Rates: rates(1)}, {GPUs: 1, Steps: 1e6, Rates: rates(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 301 {
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := []float64{s.jobs[0].done / 360, s.jobs[1].done / 360}; math.Abs(got[0]-200) > 1 || math.Abs(got[1]-100) > 1 {
		t.Errorf("got %v rounds, want about 200 and 100", got)
	}
}

// An interval between resets that ends with a round is over.
func TestResetWhenTheIntervalEnds(t *testing.T) {
	p := always(2, 1)
	play(t, Config{Types: oneType(2), Policy: p, Reset: 720, Jobs: []Job{
		{Arrival: 100, GPUs: 1, Steps: 3600, Rates: rates(1)}, {Arrival: 200, GPUs: 1, Steps: 100, Rates: rates(1)},
	}})
	if diff := cmp.Diff([]float64{100, 820, 1540}, p.asked); diff != "" {
		t.Errorf("shares were asked for at (-want +got):\n%s", diff)
	}
}

func TestOrderOfEntries(t *testing.T) {
	order := []entry{{3, 0, 0, 9}, {2, 5, 0, 8}, {2, 4, 1, 7}, {2, 4, 0.5, 1}, {2, 4, 0.5, 2}, {0, -1, 0, 0}}
	for i := range order {
		for j := range order {
			if got := order[i].before(&order[j]); got != (i < j) {
				t.Errorf("%v before %v: got %v", order[i], order[j], got)
			}
		}
	}
}

// A job of several GPUs that does not fit is passed over, not waited for.
func TestGangsAreBackfilled(t *testing.T) {
	r := play(t, Config{Types: oneType(4), Policy: always(3, 1), Jobs: []Job{
		{GPUs: 2, Steps: 360, Rates: rates(1)}, {GPUs: 4, Steps: 360, Rates: rates(1)}, {GPUs: 2, Steps: 360, Rates: rates(1)},
	}})
	if diff := cmp.Diff([]float64{360, 720, 360}, r.JCT); diff != "" {
		t.Errorf("completion times (-want +got):\n%s", diff)
	}
}

func TestWindowEndsTheSimulation(t *testing.T) {
	cfg := Config{Types: oneType(4), Policy: always(3, 1), Window: Window{1, 2}, Jobs: []Job{
		{GPUs: 1, Steps: 1e6, Rates: rates(1)}, {GPUs: 1, Steps: 10, Rates: rates(1)}, {Arrival: 1e9, GPUs: 1, Steps: 10, Rates: rates(1)},
	}}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run()
	if err != nil || r.JCT[1] != 10 || r.Left[0] || r.Left[2] {
		t.Errorf("got %+v, %v, want job 1 finished only", r, err)
	}
	if _, err := r.Summarize(Window{0, 2}); err == nil {
		t.Error("a job that has not left was summarized")
	}
	for range 3 {
		if more, err := s.Step(); more || err != nil {
			t.Errorf("after the end: got %v, %v, want it to stand still", more, err)
		}
	}
	if again := s.Result(); again.Rounds != r.Rounds || again.End != r.End {
		t.Error("steps after the end changed the result")
	}
}

func TestJobsThatFitNowhereStall(t *testing.T) {
	for name, job := range map[string]Job{
		"too large": {GPUs: 3, Steps: 10, Rates: rates(1)},
		"no memory": {GPUs: 1, Steps: 10, Rates: rates(0)},
	} {
		s, err := New(Config{Types: oneType(2), Policy: always(2, 1), Jobs: []Job{{GPUs: 1, Steps: 10, Rates: rates(1)}, job}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(); !errors.Is(err, ErrStalled) {
			t.Errorf("%s: got %v, want ErrStalled", name, err)
		}
	}
}

// A rate so low that a round has no whole step: every round fails.
func TestNoWholeStepInARound(t *testing.T) {
	r := play(t, Config{Types: oneType(1), Policy: always(1, 1), Jobs: []Job{{GPUs: 1, Steps: 10, Rates: rates(1e-3)}}})
	if !r.Left[0] || !math.IsNaN(r.JCT[0]) {
		t.Errorf("got %+v, want the job given up", r)
	}
}

func TestPolicyErrors(t *testing.T) {
	job := []Job{{GPUs: 1, Steps: 10, Rates: rates(1)}}
	for name, share := range map[string]float64{"negative": -0.1, "over 1": 1.1, "NaN": math.NaN()} {
		s, err := New(Config{Types: oneType(1), Jobs: job, Policy: &sharedPolicy{rows: [][]float64{{share}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(); err == nil || !strings.Contains(err.Error(), "job 0 on V100") {
			t.Errorf("%s share: got %v, want an error that names the job and type", name, err)
		}
	}
	wrong := errors.New("wrong")
	s, err := New(Config{Types: oneType(1), Jobs: job, Policy: failing{wrong}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(); !errors.Is(err, wrong) {
		t.Errorf("got %v, want the policy's error", err)
	}
}

type failing struct{ err error }

func (failing) Rules() Rules                      { return Rules{} }
func (f failing) Allocate(*View, []float64) error { return f.err }

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := New(Config{
		Types:  []GPUType{{"", 1}, {"K80", -1}},
		Round:  -1,
		Window: Window{2, 1},
		Jobs: []Job{
			{Arrival: math.NaN(), GPUs: 1, Steps: 1, Rates: rates(1, 1)},
			{Arrival: 5, GPUs: 0, Steps: 1, Rates: rates(1, 1)},
			{Arrival: 4, GPUs: 1, Steps: 1, Rates: rates(1, 1)},
			{Arrival: 5, GPUs: 1, Steps: 0, Rates: rates(1, 1)},
			{Arrival: 5, GPUs: 1, Steps: 1, Rates: rates(1)},
			{Arrival: 5, GPUs: 1, Steps: 1, Rates: rates(1, math.Inf(1))},
		},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Policy is nil", "Round is -1", "Window is 2 to 1", `Types[0] is ""`, "Types[1] is \"K80\" with -1", "Jobs[0]: arrival is NaN",
		"Jobs[1]: needs 0 GPUs", "Jobs[2]: arrival is 4 s, before", "Jobs[3]: steps are 0", "Jobs[4]: has 1 rates",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 10 {
		t.Errorf("%d problems reported, want the first 10", n)
	}
	if _, err := New(Config{Policy: always(0, 1), Types: []GPUType{{"V100", 0}}}); err == nil {
		t.Error("a cluster without GPUs was accepted")
	}
}

// No GPU is given to two jobs, in any round, and no work is lost: what a
// finished job did is what it had.
func TestCapacityAndWork(t *testing.T) {
	for seed := range uint64(100) {
		cfg := randomConfig(seed)
		cfg.Policy = &randomPolicy{rng.New(seed, "policy"), Rules{Shuffle: seed%2 == 0}, int(seed % 5)}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			if more, err = s.Step(); err != nil {
				t.Fatal(err)
			}
			used := make([]int32, s.k)
			seen := map[int32]bool{}
			for _, r := range s.running {
				used[r.typ] += s.jobs[r.job].gpus
				if seen[r.job] || s.jobs[r.job].gone {
					t.Fatalf("seed %d: job %d runs twice, or after it left", seed, r.job)
				}
				seen[r.job] = true
			}
			for typ, n := range used {
				if int(n) > s.types[typ].GPUs {
					t.Fatalf("seed %d: %d of %d %s GPUs used", seed, n, s.types[typ].GPUs, s.types[typ].Name)
				}
			}
		}
		for j := range s.jobs {
			if job := &s.jobs[j]; job.gone && !math.IsNaN(s.jct[j]) && job.done != job.steps {
				t.Errorf("seed %d: job %d did %v steps of %v", seed, j, job.done, job.steps)
			}
		}
		if u := s.Result().Utilization; u < 0 || u > 1+1e-12 {
			t.Errorf("seed %d: utilization %v", seed, u)
		}
	}
}
