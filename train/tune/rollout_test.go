package tune

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/train/eval"
)

// TestConstantRollout: under a constant configuration a rollout is the episode
// of that policy, job by job, whatever the window.
func TestConstantRollout(t *testing.T) {
	cfg := busySim(env.Oracle)
	for _, c := range []env.Configuration{heuristic.TiresiasDefault(), tiresias(9000)[0]} {
		p, err := heuristic.FromConfiguration(c)
		if err != nil {
			t.Fatal(err)
		}
		want, err := eval.Play(t.Context(), cfg, p, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, window := range []time.Duration{time.Second, time.Hour, 1000 * time.Hour} {
			got, err := Rollout(t.Context(), newSim(t, cfg, 4), Constant(c), window)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Schedule, got); diff != "" {
				t.Errorf("%v, window %v (-policy +rollout):\n%s", c, window, diff)
			}
		}
	}
}

// diary is a configurer that notes when it is asked and what it is told.
type diary struct {
	asked    []time.Duration
	finished []metrics.Job
	late     []int64 // jobs still in the state when reported finished, or the reverse
	answer   func(n int) (env.Configuration, error)
}

func (d *diary) Observe(finished []metrics.Job) { d.finished = append(d.finished, finished...) }

func (d *diary) Configure(_ context.Context, s *env.State) (env.Configuration, error) {
	d.asked = append(d.asked, s.Now)
	for i := range s.Jobs {
		if slices.ContainsFunc(d.finished, func(j metrics.Job) bool { return j.ID == s.Jobs[i].ID }) {
			d.late = append(d.late, s.Jobs[i].ID)
		}
	}
	return d.answer(len(d.asked))
}

func TestRolloutWindows(t *testing.T) {
	cfg := busySim(env.Oracle)
	cfg.Workload = poisson{10}.episodes(60) // never idle: no round is jumped over
	d := &diary{answer: func(n int) (env.Configuration, error) { return tiresias(3600, 9000)[n%2], nil }}
	const window = 100 * time.Minute // not a multiple of the round of 6 minutes
	schedule, err := Rollout(t.Context(), newSim(t, cfg, 4), d, window)
	if err != nil {
		t.Fatal(err)
	}
	start := d.asked[0]
	for i, at := range d.asked[1:] {
		k := (at - start) / window // the number of the window it is asked in
		if late := at - start - k*window; late >= 6*time.Minute {
			t.Errorf("decision %d at %v is %v into its window, want at its first round", i+1, at, late)
		}
		if before := (d.asked[i] - start) / window; before >= k {
			t.Errorf("two decisions in window %d", k)
		}
	}
	if want := int((schedule.End - start) / window); len(d.asked) < want-1 {
		t.Errorf("%d decisions in %d windows", len(d.asked), want)
	}
}

// TestRolloutObservations: every job that finished before the last decision is
// reported once, with its figures, and none that has not finished.
func TestRolloutObservations(t *testing.T) {
	d := &diary{answer: func(int) (env.Configuration, error) { return heuristic.TiresiasDefault(), nil }}
	schedule, err := Rollout(t.Context(), newSim(t, busySim(env.Oracle), 4), d, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	last := d.asked[len(d.asked)-1]
	want := slices.DeleteFunc(slices.Clone(schedule.Jobs), func(j metrics.Job) bool { return j.Finish > last })
	slices.SortFunc(d.finished, func(a, b metrics.Job) int { return int(a.ID - b.ID) })
	if diff := cmp.Diff(want, d.finished); diff != "" {
		t.Errorf("finished jobs (-schedule +observed):\n%s", diff)
	}
	if len(d.late) > 0 {
		t.Errorf("jobs %v were reported finished while in the system", d.late)
	}
}

func TestRolloutErrors(t *testing.T) {
	cfg := busySim(env.Oracle)
	if _, err := Rollout(t.Context(), newSim(t, cfg, 1), Constant(heuristic.TiresiasDefault()), 0); err == nil {
		t.Error("window 0: got no error")
	}
	if _, err := Rollout(t.Context(), newSim(t, cfg, 1), Constant(env.Configuration{Scheduler: "lottery"}), time.Hour); !errors.Is(err, heuristic.ErrUnknownScheduler) {
		t.Errorf("got %v, want %v", err, heuristic.ErrUnknownScheduler)
	}
	broken := errors.New("no answer")
	d := &diary{answer: func(int) (env.Configuration, error) { return env.Configuration{}, broken }}
	if _, err := Rollout(t.Context(), newSim(t, cfg, 1), d, time.Hour); !errors.Is(err, broken) {
		t.Errorf("got %v, want the configurer's error", err)
	}
	s := newSim(t, cfg, 1)
	if _, err := Rollout(t.Context(), s, Constant(heuristic.TiresiasDefault()), time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := Rollout(t.Context(), s, Constant(heuristic.TiresiasDefault()), time.Hour); err == nil {
		t.Error("finished episode: got no error")
	}
}
