package bc

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func cluster() (env.Env, error) { return sim.NewJobStrategy(tiny.Cluster(8)) }

func clusterParams(seed uint64) *nn.Params {
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 8, Value: 4})
	r := rng.New(seed, "params")
	for i := range p.Flat {
		p.Flat[i] = float32(0.2 * r.NormFloat64())
	}
	return p
}

func policy(t testing.TB, name string) agent.Policy {
	t.Helper()
	var r agent.Registry
	heuristic.Register(&r)
	p, err := r.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// all records every round of these seeds with srtf as the teacher.
func all(t testing.TB, seeds ...uint64) RecordConfig {
	t.Helper()
	return RecordConfig{NewEnv: cluster, Teacher: policy(t, "srtf"), Seeds: seeds, Keep: 1, KeepChanged: 1, Stream: "a", Order: clusterParams(1)}
}

func record(t testing.TB, cfg RecordConfig) []Demonstration {
	t.Helper()
	demos, err := Record(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(demos) == 0 {
		t.Fatal("nothing was recorded: the test shows nothing")
	}
	return demos
}

// Playing the recorded picks leads through the recorded observations, and in each
// state they are what the teacher allocates. The masks that the record derives are
// those of the environment.
func TestDemonstrationsReplayToTheTeachersAllocations(t *testing.T) {
	cfg := all(t, 3)
	demos := record(t, cfg)
	e, err := sim.NewJobStrategy(tiny.Cluster(8))
	if err != nil {
		t.Fatal(err)
	}
	step, err := e.Reset(3)
	if err != nil {
		t.Fatal(err)
	}
	for k := range demos {
		d := &demos[k]
		if diff := cmp.Diff(step.Observation, d.Observation); diff != "" {
			t.Fatalf("round %d: observation differs (-played +recorded):\n%s", k, diff)
		}
		want, err := cfg.Teacher.Decide(context.Background(), e.State())
		if err != nil {
			t.Fatal(err)
		}
		got, err := neural.Allocation(e.State(), d.Picks.Actions)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("round %d: recorded %v (%v), the teacher allocates %v", k, got, err, want)
		}
		if d.Set != len(d.Picks.Actions)-1 || d.Picks.Actions[d.Set] != stop {
			t.Errorf("round %d: set of %d in %v, want all but stop", k, d.Set, d.Picks.Actions)
		}
		for p, a := range d.Picks.Actions {
			for row, legal := range step.Observation.Mask {
				if legal != d.Picks.Legal(row, p) {
					t.Fatalf("round %d, pick %d: the record says row %d is legal: %v, the environment %v", k, p, row, !legal, legal)
				}
			}
			if step, err = e.Step(a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !step.Terminated {
		t.Errorf("%d demonstrations do not make a whole episode", len(demos))
	}
}

// The members of a set are in the order of the scores of Order.
func TestSetsAreRankedByOrder(t *testing.T) {
	cfg := all(t, 1, 2)
	actor, several := neural.NewActor(cfg.Order), 0
	for _, d := range record(t, cfg) {
		if _, err := actor.Begin(&d.Observation); err != nil {
			t.Fatal(err)
		}
		set := d.Picks.Actions[:d.Set]
		for i := 1; i < len(set); i++ {
			several++
			if s := actor.Scores(); s[set[i-1]] < s[set[i]] {
				t.Errorf("row %d with score %v is before row %d with %v", set[i-1], s[set[i-1]], set[i], s[set[i]])
			}
		}
	}
	if several == 0 {
		t.Fatal("no set has two members: the test shows nothing")
	}
}

func TestRecordDoesNotDependOnProcessors(t *testing.T) {
	run := func(procs int) []Demonstration {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		cfg := all(t, 1, 2, 3, 4, 5, 6)
		cfg.Keep, cfg.KeepChanged, cfg.Student, cfg.Mix = 0.2, 0.5, policy(t, "fifo"), 0.5
		return record(t, cfg)
	}
	if diff := cmp.Diff(run(1), run(4)); diff != "" {
		t.Errorf("GOMAXPROCS 4 records something else than 1:\n%s", diff)
	}
}

// Shares choose among the rounds of one and the same episode.
func TestSharesOfQuietAndChangedRounds(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4}
	count := func(keep, changed float64) int {
		cfg := all(t, seeds...)
		cfg.Keep, cfg.KeepChanged = keep, changed
		return len(record(t, cfg))
	}
	whole, none := count(1, 1), 1e-9
	quiet, changes := count(1, none), count(none, 1)
	if quiet+changes != whole || quiet == 0 || changes == 0 {
		t.Errorf("%d quiet rounds and %d with changes make %d, want the sum", quiet, changes, whole)
	}
	if half := count(0.5, 0.5); half < whole/3 || half > 2*whole/3 {
		t.Errorf("half of the rounds: got %d of %d", half, whole)
	}
}

// Where the student plays, the states are the student's, the labels the teacher's
// (DAgger).
func TestStudentPlaysAndTheTeacherLabels(t *testing.T) {
	cfg := all(t, 2)
	byTeacher := record(t, cfg)
	cfg.Student, cfg.Mix = policy(t, "fifo"), 1
	byStudent := record(t, cfg)
	if cmp.Equal(byTeacher, byStudent) {
		t.Fatal("the student played as the teacher does: the test shows nothing")
	}
	e, err := sim.NewJobStrategy(tiny.Cluster(8))
	if err != nil {
		t.Fatal(err)
	}
	step, err := e.Reset(2)
	if err != nil {
		t.Fatal(err)
	}
	for k := range byStudent {
		if diff := cmp.Diff(step.Observation, byStudent[k].Observation); diff != "" {
			t.Fatalf("round %d is not the student's:\n%s", k, diff)
		}
		taught, err := cfg.Teacher.Decide(context.Background(), e.State())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := neural.Allocation(e.State(), byStudent[k].Picks.Actions); err != nil || !slices.Equal(got, taught) {
			t.Fatalf("round %d: recorded %v (%v), the teacher says %v", k, got, err, taught)
		}
		played, err := cfg.Student.Decide(context.Background(), e.State())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range neural.Actions(e.State(), played) {
			if step, err = e.Step(a); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCloneOfATeacherAgreesWithIt(t *testing.T) {
	demos := record(t, all(t, 1, 2, 3))
	p := clusterParams(2)
	f := fitter(t, Config{Epochs: 40, Minibatch: 32, Rate: 0.02}, p)
	start, order := f.Evaluate(demos), rng.New(1, "order")
	for range 40 {
		if _, err := f.Epoch(context.Background(), demos, order); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Evaluate(demos); got.Accuracy < 0.95 || start.Accuracy > 0.9 {
		t.Errorf("accuracy %v after %v, want at least 0.95 from less than 0.9", got.Accuracy, start.Accuracy)
	}
}

// decide is a policy made of a function.
type decide func(s *env.State) (env.Allocation, error)

func (d decide) Decide(_ context.Context, s *env.State) (env.Allocation, error) { return d(s) }

// A teacher that idles every job cannot be played, so nothing is recorded, and the
// episode goes on.
func TestIdlingTeacherIsNotRecorded(t *testing.T) {
	cfg := all(t, 1)
	cfg.Teacher = decide(func(s *env.State) (env.Allocation, error) { return env.NewAllocation(len(s.Jobs)), nil })
	demos, err := Record(context.Background(), cfg)
	if err != nil || len(demos) != 0 {
		t.Errorf("got %d demonstrations, %v, want none", len(demos), err)
	}
}

func TestRecordRefuses(t *testing.T) {
	_, err := Record(context.Background(), RecordConfig{Keep: 2, Mix: 0.5})
	for _, field := range []string{"NewEnv", "Teacher", "Order", "Keep", "KeepChanged", "Mix"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
	broken := errors.New("broken")
	for name, spoil := range map[string]func(*RecordConfig){
		"environment": func(c *RecordConfig) { c.NewEnv = func() (env.Env, error) { return nil, broken } },
		"teacher": func(c *RecordConfig) {
			c.Teacher = decide(func(*env.State) (env.Allocation, error) { return nil, broken })
		},
		"student": func(c *RecordConfig) {
			c.Mix, c.Student = 1, decide(func(*env.State) (env.Allocation, error) { return nil, broken })
		},
	} {
		cfg := all(t, 71)
		spoil(&cfg)
		if _, err := Record(context.Background(), cfg); !errors.Is(err, broken) || !strings.Contains(err.Error(), "71") {
			t.Errorf("%s: got %v, want its error and the seed", name, err)
		}
	}
	cfg := all(t, 1)
	cfg.Teacher = decide(func(*env.State) (env.Allocation, error) { return env.Allocation{}, nil })
	if _, err := Record(context.Background(), cfg); err == nil {
		t.Error("an allocation of no jobs: got no error")
	}
	cfg = all(t, 1)
	cfg.NewEnv = func() (env.Env, error) { return tiny.NewKnapsack(), nil }
	if _, err := Record(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "State") {
		t.Errorf("an environment without states: got %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Record(ended, all(t, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
}
