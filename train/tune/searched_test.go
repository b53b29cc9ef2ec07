package tune

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// newSearched returns a Searched over three configurations, which fits its own
// generator from the tenth job on.
func newSearched(t testing.TB, knowledge env.Knowledge, episode []env.Job) *Searched {
	t.Helper()
	cfg := busySim(knowledge)
	history, err := cfg.Workload(99)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSearched(SearchedConfig{
		Engine: newEngine(t, EngineConfig{Sim: cfg, Configurations: tiresias(3600, 9000, 1e6)}),
		Prior:  poisson{2.2}, History: history, MinJobs: 10, Seed: 1,
	}, episode)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSearchedSeesNoFuture: what has not happened yet does not count. The work
// of jobs that run and everything about jobs that are still to come differ, the
// search does not.
func TestSearchedSeesNoFuture(t *testing.T) {
	for _, knowledge := range []env.Knowledge{env.Estimate, env.None} {
		cfg := busySim(knowledge)
		state := stateAfter(t, cfg, 3, 15*time.Hour)
		episode, _ := cfg.Workload(3)
		active := map[int64]bool{}
		for i := range state.Jobs {
			active[state.Jobs[i].ID] = true
		}
		search := func(change bool) *Scores {
			known := slices.Clone(episode)
			var finished []metrics.Job
			for i := range known {
				switch j := &known[i]; {
				case j.Submit > state.Now && change:
					j.GPUs, j.Work = 4, 1e9
				case active[j.ID] && change:
					j.Work *= 1000
				case j.Submit <= state.Now && !active[j.ID]:
					finished = append(finished, metrics.Job{ID: j.ID})
				}
			}
			if len(finished) < 10 || len(active) < 2 {
				t.Fatalf("%d jobs finished, %d active: the test shows nothing", len(finished), len(active))
			}
			s := newSearched(t, knowledge, known)
			s.Observe(finished)
			if _, err := s.Configure(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			return s.Scores
		}
		if diff := cmp.Diff(search(false), search(true)); diff != "" {
			t.Errorf("%v: the unseen changed the search:\n%s", knowledge, diff)
		}
	}
}

// TestSearchedFitsWhatItSaw compares the jobs handed to Fit with the episode.
func TestSearchedFitsWhatItSaw(t *testing.T) {
	cfg := busySim(env.Oracle)
	state := stateAfter(t, cfg, 3, 15*time.Hour)
	episode, _ := cfg.Workload(3)
	var finished []metrics.Job
	var want []env.Job
	for _, j := range episode {
		if j.Submit > state.Now {
			break
		}
		want = append(want, j)
		if !slices.ContainsFunc(state.Jobs, func(a env.JobState) bool { return a.ID == j.ID }) {
			finished = append(finished, metrics.Job{ID: j.ID})
		}
	}
	s := newSearched(t, env.Oracle, episode)
	var got []env.Job
	s.cfg.Fit = func(jobs []env.Job, from, to time.Duration) (Generator, error) {
		got = jobs
		if from != episode[0].Submit || to != state.Now+1 {
			t.Errorf("fit to %v–%v, want %v–%v", from, to, episode[0].Submit, state.Now+1)
		}
		return none{}, nil
	}
	s.Observe(finished)
	if _, err := s.Configure(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	// With an oracle the work of running jobs is known, to a rounding error.
	for i := range got {
		got[i].Work = float64(float32(got[i].Work))
	}
	for i := range want {
		want[i].Work = float64(float32(want[i].Work))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs of the fit (-episode +fit):\n%s", diff)
	}
	s.cfg.Memory = 5 * time.Hour
	s.cfg.Fit = func(jobs []env.Job, from, _ time.Duration) (Generator, error) {
		if from != state.Now-5*time.Hour || jobs[0].Submit < from {
			t.Errorf("with a memory of 5 hours: fit from %v to jobs from %v on", from, jobs[0].Submit)
		}
		return none{}, nil
	}
	s.cfg.MinJobs = 1
	if _, err := s.Configure(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

func TestSearchedUsesThePriorFirst(t *testing.T) {
	cfg := busySim(env.Estimate)
	episode, _ := cfg.Workload(3)
	s := newSearched(t, env.Estimate, episode)
	s.cfg.Fit = func([]env.Job, time.Duration, time.Duration) (Generator, error) {
		t.Error("a fit to fewer than MinJobs jobs")
		return none{}, nil
	}
	s.cfg.Prior = failing{errors.New("prior asked")}
	if _, err := s.Configure(t.Context(), newSim(t, cfg, 3).State()); err == nil || !errors.Is(err, s.cfg.Prior.(failing).err) {
		t.Errorf("got %v, want the prior to be asked", err)
	}
}

func TestSearchedKeepsItsChoice(t *testing.T) {
	cfg := busySim(env.Estimate)
	episode, _ := cfg.Workload(3)
	s := newSearched(t, env.Estimate, episode)
	state := stateAfter(t, cfg, 3, 15*time.Hour)
	s.incumbent = 2
	first, err := s.Configure(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	if s.Scores.Choice == 2 {
		t.Fatal("the search keeps the worst configuration: the test shows nothing")
	}
	if s.incumbent != s.Scores.Choice || !first.Equal(s.cfg.Engine.Configurations()[s.incumbent]) {
		t.Errorf("chose %d, in force is %d (%v)", s.Scores.Choice, s.incumbent, first)
	}
}

func TestSearchedErrors(t *testing.T) {
	if _, err := NewSearched(SearchedConfig{}, nil); err == nil {
		t.Error("neither engine nor prior: got no error")
	}
	cfg := busySim(env.Estimate)
	engine := newEngine(t, EngineConfig{Sim: cfg})
	if _, err := NewSearched(SearchedConfig{Engine: engine, Prior: none{}}, nil); err == nil {
		t.Error("no jobs: got no error")
	}
	s := newSearched(t, env.Estimate, []env.Job{{ID: 1}})
	if _, err := s.Configure(t.Context(), stateAfter(t, cfg, 3, 15*time.Hour)); err == nil {
		t.Error("a state of another episode: got no error")
	}
}
