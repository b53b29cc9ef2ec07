package vec

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ways gives a job its GPUs on each type.
type ways struct{}

func (ways) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	var out []env.Strategy
	for t := range c.Types {
		out = append(out, env.Strategy{Type: t, GPUs: j.GPUs, Nodes: 1, Throughput: float64(j.GPUs) / float64(t+1), Restart: time.Minute})
	}
	return out, nil
}

// newJobStrategy returns JobStrategy-v0 on gpus GPUs of two types, with episodes
// of this many jobs.
func newJobStrategy(gpus, jobs int) func() (env.Env, error) {
	c := env.Cluster{Types: []env.GPUType{{Name: "fast"}, {Name: "slow"}}}
	for n := range gpus / 8 {
		c.Nodes = append(c.Nodes, env.Node{Type: n % 2, GPUs: 8})
	}
	return func() (env.Env, error) {
		return sim.NewJobStrategy(sim.Config{
			Cluster: c, Candidates: ways{},
			Workload: func(seed uint64) ([]env.Job, error) {
				r := rng.New(seed, "workload")
				out := make([]env.Job, jobs)
				at := 0.0
				for i := range out {
					at += r.ExpFloat64() * 3600 / float64(gpus)
					out[i] = env.Job{
						ID: int64(i + 1), Model: "m", Batch: 1, GPUs: 1 << r.IntN(4), Weight: 1,
						Work: 300 * math.Pow(60, r.Float64()), Submit: time.Duration(at * 1e9),
					}
				}
				return out, nil
			},
		})
	}
}

// observer hashes everything that one environment shows.
type observer struct{ hash.Hash }

func (o observer) see(step *env.TimeStep) {
	var b []byte
	for _, x := range step.Observation.Global {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	for _, x := range step.Observation.Candidates {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	for _, legal := range step.Observation.Mask {
		b = fmt.Append(b, legal)
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(step.Reward))
	b = fmt.Append(b, step.Elapsed, step.Terminated, step.Truncated)
	o.Write(b)
}

// played returns a hash of everything that the environments show in a run of
// random actions, by each of the three calls.
func played(t *testing.T, n, workers int) string {
	t.Helper()
	v, err := New(n, newJobStrategy(16, 6), Config{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	space := v.Spec().Space
	seen := make([]observer, n)
	draws := make([]func(o *env.Observation) env.Action, n)
	for i := range n {
		seen[i] = observer{sha256.New()}
		r := rng.New(uint64(i), "actions")
		draws[i] = func(o *env.Observation) env.Action { return space.Sample(o, r) }
	}
	act := func(i int, step *env.TimeStep) (env.Action, error) {
		seen[i].see(step)
		if step.Done() {
			return -1, nil // ignored
		}
		return draws[i](&step.Observation), nil
	}
	if err := v.Reset(7); err != nil {
		t.Fatal(err)
	}
	if err := v.Rollout(t.Context(), 400, act); err != nil {
		t.Fatal(err)
	}
	actions := make([]env.Action, n)
	for range 100 {
		for i := range actions {
			actions[i], _ = act(i, &v.Steps()[i])
		}
		if err := v.Step(actions); err != nil {
			t.Fatal(err)
		}
	}
	tasks := make([]observer, 2*n+1)
	err = v.Each(t.Context(), len(tasks), func(_ context.Context, _ int, e env.Env, task int) error {
		tasks[task] = observer{sha256.New()}
		r := rng.New(uint64(task), "task")
		step, err := e.Reset(uint64(task))
		for err == nil && !step.Done() {
			tasks[task].see(&step)
			step, err = e.Step(space.Sample(&step.Observation, r))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, o := range append(seen, tasks...) {
		fmt.Fprintf(&all, "%x ", o.Sum(nil))
	}
	return all.String()
}

// The same bytes come out whatever the number of workers and of cores.
func TestResultsDoNotDependOnTheMachine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := played(t, 5, 1)
	for _, cores := range []int{1, 2} {
		runtime.GOMAXPROCS(cores)
		for _, workers := range []int{0, 3, 9} {
			if played(t, 5, workers) != want {
				t.Errorf("%d workers on %d cores see something else than one", workers, cores)
			}
		}
	}
}

// counter is an environment whose episode is as many steps as its seed says.
type counter struct {
	left   uint64
	resets []uint64
	broken bool
}

var errBroken = errors.New("broken")

func (c *counter) Spec() env.Spec { return env.Spec{ID: "Counter-v0"} }

func (c *counter) Reset(seed uint64) (env.TimeStep, error) {
	c.left, c.resets = seed, append(c.resets, seed)
	return env.TimeStep{Terminated: c.left == 0}, nil
}

func (c *counter) Step(a env.Action) (env.TimeStep, error) {
	if c.broken || a != 0 {
		return env.TimeStep{}, errBroken
	}
	c.left--
	return env.TimeStep{Reward: -1, Terminated: c.left == 0}, nil
}

func newCounters(t *testing.T, n int) (*Envs, []*counter) {
	t.Helper()
	var all []*counter
	v, err := New(n, func() (env.Env, error) {
		all = append(all, &counter{})
		return all[len(all)-1], nil
	}, Config{Workers: 2, Seed: func(run uint64, i, episode int) uint64 { return run + uint64(10*i+episode) }})
	if err != nil {
		t.Fatal(err)
	}
	return v, all
}

// After the end of an episode comes the first step of the next one, with its own
// seed; the action in between is ignored.
func TestEpisodesFollowEachOther(t *testing.T) {
	v, all := newCounters(t, 2)
	if err := v.Reset(1); err != nil {
		t.Fatal(err)
	}
	rewards := 0.0
	err := v.Rollout(t.Context(), 6, func(i int, step *env.TimeStep) (env.Action, error) {
		if i == 0 {
			rewards += step.Reward
		}
		if step.Done() {
			return 99, nil
		}
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Environment 0 has episodes of 1, 2, 3 steps: step, reset, step, step, reset, step.
	if got, want := fmt.Sprint(all[0].resets, all[0].left), "[1 2 3] 2"; got != want {
		t.Errorf("environment 0 was reset with seeds and has steps left %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(all[1].resets, all[1].left), "[11] 5"; got != want {
		t.Errorf("environment 1 was reset with seeds and has steps left %s, want %s", got, want)
	}
	if rewards != -3 {
		t.Errorf("the actor of environment 0 saw rewards of %v, want -3: those of the ends too", rewards)
	}
}

func TestErrorsNameTheirEnvironmentAndNeedAReset(t *testing.T) {
	v, all := newCounters(t, 3)
	if err := v.Step(make([]env.Action, 3)); !errors.Is(err, env.ErrNeedsReset) {
		t.Errorf("step before reset: got %v, want ErrNeedsReset", err)
	}
	if err := v.Reset(5); err != nil {
		t.Fatal(err)
	}
	if err := v.Step(make([]env.Action, 2)); err == nil {
		t.Error("two actions for three environments: got no error")
	}
	all[1].broken, all[2].broken = true, true
	err := v.Step(make([]env.Action, 3))
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "environment 1") || !strings.Contains(err.Error(), "environment 2") {
		t.Errorf("got %v, want the errors of environments 1 and 2", err)
	}
	if all[0].left != 4 {
		t.Errorf("environment 0 has %d steps left, want 4: it is not to blame", all[0].left)
	}
	if err := v.Rollout(t.Context(), 1, nil); !errors.Is(err, env.ErrNeedsReset) {
		t.Errorf("after an error: got %v, want ErrNeedsReset", err)
	}
}

func TestTheEndOfAContextStops(t *testing.T) {
	v, _ := newCounters(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Reset(5); err != nil {
		t.Fatal(err)
	}
	if err := v.Rollout(ctx, 5, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("rollout: got %v, want the context's error", err)
	}
	if err := v.Each(ctx, 5, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("each: got %v, want the context's error", err)
	}
}

// The error of Each is that of the first task that fails, and none begins later.
func TestEachReportsTheFirstFailure(t *testing.T) {
	v, _ := newCounters(t, 3)
	var begun atomic.Int64
	err := v.Each(t.Context(), 100, func(_ context.Context, _ int, _ env.Env, task int) error {
		begun.Add(1)
		if task >= 10 {
			return fmt.Errorf("task %d: %w", task, errBroken)
		}
		return nil
	})
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "task 10:") {
		t.Errorf("got %v, want that of task 10", err)
	}
	if n := begun.Load(); n < 11 || n > 13 {
		t.Errorf("%d tasks began, want 11 and at most one more per worker", n)
	}
}

// Every visits each environment once, by its number.
func TestEveryVisitsEachEnvironmentOnce(t *testing.T) {
	v, all := newCounters(t, 5)
	var visits [5]int
	err := v.Every(func(i int, e env.Env) error {
		if e != env.Env(all[i]) {
			t.Errorf("environment %d is another one", i)
		}
		visits[i]++
		if i > 2 {
			return errBroken
		}
		return nil
	})
	if visits != [5]int{1, 1, 1, 1, 1} {
		t.Errorf("visits %v, want one each", visits)
	}
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "environment 3") || !strings.Contains(err.Error(), "environment 4") {
		t.Errorf("got %v, want the errors of environments 3 and 4", err)
	}
}

func TestNewRefuses(t *testing.T) {
	none := func() (env.Env, error) { return nil, errBroken }
	if _, err := New(0, none, Config{}); err == nil {
		t.Error("no environments: got no error")
	}
	if _, err := New(2, none, Config{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the constructor's error", err)
	}
}

// BenchmarkRollout reports steps per second of JobStrategy-v0 on 64 GPUs, 16
// environments, random actions.
func BenchmarkRollout(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			const n, steps = 16, 2000
			v, err := New(n, newJobStrategy(64, 300), Config{Workers: workers})
			if err != nil {
				b.Fatal(err)
			}
			space := v.Spec().Space
			act := make([]func(o *env.Observation) env.Action, n)
			for i := range act {
				r := rng.New(uint64(i), "actions")
				act[i] = func(o *env.Observation) env.Action { return space.Sample(o, r) }
			}
			if err := v.Reset(1); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				err := v.Rollout(b.Context(), steps, func(i int, step *env.TimeStep) (env.Action, error) {
					if step.Done() {
						return 0, nil
					}
					return act[i](&step.Observation), nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*steps*b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}
