package classic

import (
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// MachinesID is the registered name.
const MachinesID = "UnrelatedMachines-v0"

// Sizes of the problem.
const (
	MachineTypes    = 3
	MachinesPerType = 2
	MachineCount    = MachineTypes * MachinesPerType
	MachineJobs     = 20
)

// Machines is R||ΣC_j: jobs that are all there at the start, machines on which
// each of them takes its own time, and the sum of completion times to be
// minimised. The optimum is an assignment (Horn, Operations Research 21, 1973).
//
// A round is a time at which a machine is free. Row 0 is stop: time passes until
// the next machine becomes free. Row 1 + j·3 + k starts the j-th job that waits on
// a free machine of type k. Stop is legal once a machine is busy; it may be best to
// leave a slow machine idle. A step pays −∫N dt, N being the number of jobs not
// finished, in hours, so that an episode returns −ΣC_j. It terminates at the stop
// after which no job waits.
//
// An instance has 20 jobs of exp(0.8·normal) hours on the first type; on the second
// and third they take twice and four times as long, times exp(0.4·normal) each. There
// are two machines of each type.
type Machines struct {
	spec   env.Spec
	obs    env.Observation
	hours  [MachineJobs][MachineTypes]float64
	wait   []int                 // jobs that wait, ascending
	free   [MachineCount]float64 // hour at which machine i is free; its type is i / MachinesPerType
	starts []float64             // hours at which running jobs finish, unordered
	now    float64
	picked []bool // [len(wait)]
	ready  bool
}

// NewMachines returns a Machines that needs a Reset.
func NewMachines() *Machines {
	e := &Machines{spec: env.Spec{ID: MachinesID, Encoder: Encoder, Space: env.Space{MaxCandidates: 1 + MachineJobs*MachineTypes}}}
	bounded := func(high float32, names ...string) (fs []env.Feature) {
		for _, name := range names {
			fs = append(fs, env.Feature{Name: name, Low: -high, High: high})
		}
		return fs
	}
	e.spec.Space.Global = bounded(machinesBound, "waiting_per_machine", "busy_0", "busy_1", "busy_2", "preferred_0", "preferred_1", "preferred_2")
	e.spec.Space.Candidate = bounded(machinesBound, "is_stop", "log_hours", "log_hours_over_best", "rank", "log_hours_over_elsewhere", "busy", "hours_times_waiting", "type_0", "type_1", "type_2")
	e.obs.Global = make([]float32, len(e.spec.Space.Global))
	return e
}

// machinesBound clamps every feature.
const machinesBound = 8

// Spec implements env.Env.
func (e *Machines) Spec() env.Spec { return e.spec }

// Reset implements env.Env.
func (e *Machines) Reset(seed uint64) (env.TimeStep, error) {
	r := rng.New(seed, MachinesID)
	e.wait, e.starts, e.free, e.now = e.wait[:0], e.starts[:0], [MachineCount]float64{}, 0
	for j := range e.hours {
		base := math.Exp(0.8 * r.NormFloat64())
		for k := range e.hours[j] {
			e.hours[j][k] = base
			if k > 0 {
				e.hours[j][k] *= float64(int(1)<<k) * math.Exp(0.4*r.NormFloat64())
			}
		}
		e.wait = append(e.wait, j)
	}
	e.ready, e.obs.Epoch = true, 0
	e.open()
	return env.TimeStep{Observation: e.obs}, nil
}

// Waiting returns the hours that each waiting job takes on each type, in the order
// of the rows, and whether it was picked this round.
func (e *Machines) Waiting() (hours [][MachineTypes]float64, picked []bool) {
	for _, j := range e.wait {
		hours = append(hours, e.hours[j])
	}
	return hours, e.picked
}

// Busy returns how many hours each machine stays busy from now on; machine i is of
// type i / MachinesPerType.
func (e *Machines) Busy() (hours [MachineCount]float64) {
	for i, at := range e.free {
		hours[i] = max(0, at-e.now)
	}
	return hours
}

// Step implements env.Env.
func (e *Machines) Step(a env.Action) (env.TimeStep, error) {
	switch {
	case !e.ready:
		return env.TimeStep{}, env.ErrNeedsReset
	case a < 0 || int(a) >= e.obs.N() || !e.obs.Mask[a]:
		return env.TimeStep{}, env.ErrInvalidAction
	case a == 0:
		return e.pass(), nil
	}
	e.start(int(a-1)/MachineTypes, int(a-1)%MachineTypes)
	return env.TimeStep{Observation: e.obs}, nil
}

// start runs the w-th waiting job on a free machine of type k. The rows stay until
// the round ends.
func (e *Machines) start(w, k int) {
	e.picked[w] = true
	left := 0
	for i := k * MachinesPerType; i < (k+1)*MachinesPerType; i++ {
		if e.free[i] <= e.now {
			left++
		}
	}
	for i := k * MachinesPerType; i < (k+1)*MachinesPerType; i++ {
		if e.free[i] <= e.now {
			e.free[i] = e.now + e.hours[e.wait[w]][k]
			e.starts = append(e.starts, e.free[i])
			break
		}
	}
	for row := 1; row < e.obs.N(); row++ {
		if (row-1)/MachineTypes == w || left == 1 && (row-1)%MachineTypes == k {
			e.obs.Mask[row] = false
		}
	}
	e.obs.Mask[0] = true
}

// pass lets time pass until a machine becomes free, or to the end if no job waits.
func (e *Machines) pass() env.TimeStep {
	kept := e.wait[:0]
	for w, j := range e.wait {
		if !e.picked[w] {
			kept = append(kept, j)
		}
	}
	e.wait = kept
	next := math.Inf(1)
	for _, at := range e.free {
		if at > e.now {
			next = min(next, at)
		}
	}
	if len(e.wait) == 0 {
		for _, at := range e.starts {
			next = max(next, at)
		}
	}
	step := env.TimeStep{Reward: -float64(len(e.wait)) * (next - e.now), Terminated: len(e.wait) == 0}
	running := e.starts[:0]
	for _, at := range e.starts {
		step.Reward -= min(at, next) - e.now
		if at > next {
			running = append(running, at)
		}
	}
	step.Elapsed = time.Duration((next - e.now) * float64(time.Hour))
	e.starts, e.now, e.ready = running, next, !step.Terminated
	e.obs.Epoch++
	e.open()
	step.Observation = e.obs
	return step
}

// open begins a round: it encodes the state.
func (e *Machines) open() {
	n, f := 1+len(e.wait)*MachineTypes, len(e.spec.Space.Candidate)
	e.obs.Candidates, e.obs.Mask = make([]float32, n*f), make([]bool, n)
	e.picked = make([]bool, len(e.wait))
	v := e.view()
	e.global(&v)
	for row := 1; row < n; row++ {
		k := (row - 1) % MachineTypes
		e.obs.Mask[row] = v.busy[k] == 0
		e.encode(e.obs.Candidates[row*f:][:f], &v, (row-1)/MachineTypes, k)
	}
	e.obs.Candidates[0] = 1
	for _, at := range e.free {
		e.obs.Mask[0] = e.obs.Mask[0] || at > e.now
	}
}

// view is what all rows of a round share, in units of the mean of the waiting jobs'
// shortest hours.
type view struct {
	unit      float64               // hours
	busy      [MachineTypes]float64 // until a machine of the type is free
	preferred [MachineTypes]float64 // work per machine of the jobs that are shortest there
}

func (e *Machines) view() view {
	v := view{}
	for _, j := range e.wait {
		v.unit += shortest(&e.hours[j]) / float64(len(e.wait))
	}
	v.unit = max(v.unit, 1e-9)
	for k := range v.busy {
		v.busy[k] = math.Inf(1)
		for _, at := range e.free[k*MachinesPerType : (k+1)*MachinesPerType] {
			v.busy[k] = min(v.busy[k], max(0, at-e.now)/v.unit)
		}
	}
	for _, j := range e.wait {
		for k, h := range e.hours[j] {
			if h == shortest(&e.hours[j]) {
				v.preferred[k] += h / v.unit / MachinesPerType
				break
			}
		}
	}
	return v
}

func shortest(hours *[MachineTypes]float64) float64 {
	best := math.Inf(1)
	for _, h := range hours {
		best = min(best, h)
	}
	return best
}

func clamp(x float64) float32 { return float32(min(max(x, -machinesBound), machinesBound)) }

func (e *Machines) global(v *view) {
	g := e.obs.Global
	g[0] = clamp(float64(len(e.wait)) / MachineCount)
	for k := range MachineTypes {
		g[1+k], g[1+MachineTypes+k] = clamp(v.busy[k]), clamp(v.preferred[k]/4)
	}
}

// encode writes the features of the w-th waiting job on type k.
func (e *Machines) encode(row []float32, v *view, w, k int) {
	hours := &e.hours[e.wait[w]]
	h, best, elsewhere, below := hours[k]/v.unit, shortest(hours)/v.unit, math.Inf(1), 0
	for i := range hours {
		if i != k {
			elsewhere = min(elsewhere, v.busy[i]+hours[i]/v.unit)
		}
	}
	for _, j := range e.wait {
		if e.hours[j][k] < hours[k] {
			below++
		}
	}
	row[1], row[2] = clamp(math.Log(h)), clamp(math.Log(h/best))
	row[3] = clamp(float64(below) / float64(len(e.wait)))
	row[4] = clamp(math.Log((v.busy[k] + h) / elsewhere))
	row[5] = clamp(v.busy[k])
	row[6] = clamp(h * float64(len(e.wait)) / MachineCount)
	row[7+k] = 1
}
