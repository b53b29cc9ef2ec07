package classic

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/envtest"
	"github.com/yardmaster/yardmaster/env/rng"
)

func TestMachinesKeepTheContract(t *testing.T) {
	if err := envtest.Check(func() (env.Env, error) { return NewMachines(), nil }, []uint64{1, 2, 3}, 1000); err != nil {
		t.Error(err)
	}
}

// Each start is followed by hand: no machine runs two jobs at once, every job
// runs once, and the episode returns minus the sum of completion times.
func TestMachinesReturnTheSumOfCompletionTimes(t *testing.T) {
	e, r := NewMachines(), rng.New(1, "actions")
	idled := 0
	for seed := range uint64(50) {
		step, err := e.Reset(seed)
		if err != nil {
			t.Fatal(err)
		}
		total, completion, length, now := 0.0, 0.0, 0.0, 0.0
		jobs, busy := 0, [MachineTypes][]float64{} // hours at which each machine of a type is free
		for k := range busy {
			busy[k] = make([]float64, MachinesPerType)
		}
		for !step.Done() {
			space := e.Spec().Space
			a := space.Sample(&step.Observation, r)
			if a > 0 {
				hours, _ := e.Waiting()
				k := int(a-1) % MachineTypes
				at := now + hours[int(a-1)/MachineTypes][k]
				jobs++
				completion += at
				length = max(length, at)
				free := -1
				for i, until := range busy[k] {
					if until <= now {
						free = i
					}
				}
				if free < 0 {
					t.Fatalf("seed %d: a job starts on type %d at %v, its machines are busy until %v", seed, k, now, busy[k])
				}
				busy[k][free] = at
			} else {
				idled++
			}
			if step, err = e.Step(a); err != nil {
				t.Fatal(err)
			}
			total += step.Reward
			now = e.now
		}
		if jobs != MachineJobs || math.Abs(total+completion) > 1e-9*completion || math.Abs(now-length) > 1e-9 {
			t.Errorf("seed %d: %d jobs, return %v, end at %v, want %d, %v, %v", seed, jobs, total, now, MachineJobs, -completion, length)
		}
	}
	if idled < 50*MachineJobs/4 {
		t.Errorf("stopped %d times: the test does not see time pass", idled)
	}
}

// Machines that are left idle stay free, and time passes all the same.
func TestMachinesMayIdle(t *testing.T) {
	e := NewMachines()
	step, err := e.Reset(4)
	if err != nil {
		t.Fatal(err)
	}
	if step.Observation.Mask[0] {
		t.Error("stop is legal while nothing runs: time would not pass")
	}
	for n := 0; !step.Done(); n++ {
		a := env.Action(1) // the first job on the first type, one at a time
		if !step.Observation.Mask[a] || n%2 == 1 {
			a = 0
		}
		if step, err = e.Step(a); err != nil {
			t.Fatal(err)
		}
	}
	serial := 0.0
	for _, hours := range e.hours {
		serial += hours[0]
	}
	if math.Abs(e.now-serial) > 1e-9*serial {
		t.Errorf("one job at a time on one machine ends at %v, want %v", e.now, serial)
	}
}
