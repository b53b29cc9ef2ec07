package sim

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Shortest remaining processing time first minimizes the mean completion time on
// one machine with preemption (Schrage, Operations Research 16, 1968). With
// arrivals and work in whole rounds, rounds cost it nothing.

// wholeRounds returns jobs for one GPU, in whole rounds of a minute.
func wholeRounds(submit, work []int) Config {
	return Config{
		Cluster: cluster(1, 1), Candidates: oneGPUEach{}, Round: time.Minute, FreePlacement: true, FreeRestarts: true,
		Workload: func(uint64) ([]env.Job, error) {
			jobs := make([]env.Job, len(submit))
			for i := range jobs {
				jobs[i] = env.Job{ID: int64(i), Model: "m", Batch: 1, GPUs: 1, Weight: 1, Work: 60 * float64(work[i]), Submit: time.Duration(submit[i]) * time.Minute}
			}
			return jobs, nil
		},
	}
}

// srptTotal returns the sum of completion times, in rounds, of the schedule that
// serves a round of the job with the least left at every round: the definition,
// on integers.
func srptTotal(submit, work []int) int {
	left := append([]int(nil), work...)
	total, todo := 0, len(work)
	for now := 0; todo > 0; now++ {
		best := -1
		for i, n := range left {
			if n > 0 && submit[i] <= now && (best < 0 || n < left[best]) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		if left[best]--; left[best] == 0 {
			total += now + 1 - submit[best]
			todo--
		}
	}
	return total
}

// only gives the GPU to job i.
func only(n, i int) env.Allocation {
	a := env.NewAllocation(n)
	a[i] = 0
	return a
}

// bestTotal tries every order of service from where s is and returns the least
// sum of completion times, in minutes, of the whole episode.
func bestTotal(t *rapid.T, s *Sim) float64 {
	if s.Done() {
		total := 0.0
		schedule := s.Schedule()
		for i := range schedule.Jobs {
			total += schedule.Jobs[i].JCT().Minutes()
		}
		return total
	}
	best := math.Inf(1)
	here, n := s.Snapshot(), len(s.State().Jobs)
	for i := range n {
		if _, err := s.Advance(only(n, i)); err != nil {
			t.Fatal(err)
		}
		best = min(best, bestTotal(t, s))
		if err := s.Restore(here); err != nil {
			t.Fatal(err)
		}
	}
	return best
}

// srptPlay plays the policy and returns the sum of completion times in minutes.
func srptPlay(t interface{ Fatal(...any) }, s *Sim) float64 {
	for !s.Done() {
		jobs := s.State().Jobs
		best := 0
		for i := range jobs {
			if jobs[i].Remaining < jobs[best].Remaining {
				best = i
			}
		}
		if _, err := s.Advance(only(len(jobs), best)); err != nil {
			t.Fatal(err)
		}
	}
	total := 0.0
	schedule := s.Schedule()
	for i := range schedule.Jobs {
		total += schedule.Jobs[i].JCT().Minutes()
	}
	return total
}

func TestSRPTIsTheBestOfAllSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "jobs")
		submit, work, at := make([]int, n), make([]int, n), 0
		for i := range n {
			submit[i] = at
			at += rapid.IntRange(0, 2).Draw(t, "gap")
			work[i] = rapid.IntRange(1, 3).Draw(t, "work")
		}
		s, err := New(wholeRounds(submit, work))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Reset(0); err != nil {
			t.Fatal(err)
		}
		start := s.Snapshot()
		want := float64(srptTotal(submit, work))
		if got := srptPlay(t, s); math.Abs(got-want) > 1e-6 {
			t.Errorf("submitted %v, work %v: completion times add up to %v min, want %v", submit, work, got, want)
		}
		if err := s.Restore(start); err != nil {
			t.Fatal(err)
		}
		if got := bestTotal(t, s); math.Abs(got-want) > 1e-6 {
			t.Errorf("submitted %v, work %v: the best order gives %v min, SRPT %v", submit, work, got, want)
		}
	})
}

// On long random workloads nothing that we know of beats it.
func TestSRPTBeatsOtherPolicies(t *testing.T) {
	for seed := range uint64(5) {
		r := rng.New(seed, "srpt")
		const n = 300
		submit, work, at := make([]int, n), make([]int, n), 0
		for i := range n {
			submit[i] = at
			work[i] = 1 + int(40*math.Pow(r.Float64(), 3))
			at += r.IntN(22)
		}
		s := mustNew(t, wholeRounds(submit, work))
		mustReset(t, s, 0)
		start := s.Snapshot()
		best := srptPlay(t, s)
		if want := float64(srptTotal(submit, work)); math.Abs(best-want) > 1e-6*want {
			t.Errorf("seed %d: completion times add up to %v min, want %v", seed, best, want)
		}
		for name, decide := range map[string]decider{"fifo": fifo(), "las": las(), "random": randomly(r)} {
			if err := s.Restore(start); err != nil {
				t.Fatal(err)
			}
			reward, _ := play(t, s, decide)
			if total := -reward * 60; total < best-1e-6 {
				t.Errorf("seed %d: %s gives %v min, less than SRPT's %v", seed, name, total, best)
			}
		}
	}
}
