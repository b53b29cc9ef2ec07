package known

import (
	"slices"

	"github.com/yardmaster/yardmaster/agent/assignment"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/classic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
)

func machines() (env.Env, error) { return classic.NewMachines(), nil }

// Optimum schedules the jobs of e that wait so that the sum of their completion
// times, from now on, is least, which it returns with the rows to pick now,
// ascending, without stop. The k-th job from the last on a machine counts its hours
// k times (Horn, 1973), and all wait until the machine is free.
func Optimum(e *classic.Machines) (sum float64, rows []env.Action, err error) {
	hours, _ := e.Waiting()
	busy := e.Busy()
	n := len(hours)
	columns := classic.MachineCount * n
	cost := make([]float64, n*columns)
	for j := range n {
		for i := range classic.MachineCount {
			for k := range n {
				cost[j*columns+i*n+k] = busy[i] + float64(k+1)*hours[j][i/classic.MachinesPerType]
			}
		}
	}
	var solver assignment.Solver
	places, err := solver.Solve(cost, n, columns)
	if err != nil {
		return 0, nil, err
	}
	first := [classic.MachineCount]int{} // 1 + position from the last of the first job, and the job
	job := [classic.MachineCount]int{}
	for j, place := range places {
		sum += cost[j*columns+int(place)]
		if i, k := int(place)/n, int(place)%n; k+1 > first[i] {
			first[i], job[i] = k+1, j
		}
	}
	for i := range first {
		if first[i] > 0 && busy[i] == 0 {
			rows = append(rows, env.Action(1+job[i]*classic.MachineTypes+i/classic.MachinesPerType))
		}
	}
	slices.Sort(rows)
	return sum, rows, nil
}

// Ratio plays policy on instances and returns the mean of ΣC_j over the optimum.
// policy gets the environment, the observation at the time and whether it opens a
// round.
func Ratio(seeds []uint64, policy func(e *classic.Machines, o *env.Observation, opens bool) (env.Action, error)) (float64, error) {
	e, mean := classic.NewMachines(), 0.0
	for _, seed := range seeds {
		step, err := e.Reset(seed)
		if err != nil {
			return 0, err
		}
		best, _, err := Optimum(e)
		if err != nil {
			return 0, err
		}
		cost, epoch := 0.0, int64(-1)
		for !step.Done() {
			a, err := policy(e, &step.Observation, step.Observation.Epoch != epoch)
			if err != nil {
				return 0, err
			}
			epoch = step.Observation.Epoch
			if step, err = e.Step(a); err != nil {
				return 0, err
			}
			cost -= step.Reward
		}
		mean += cost / best / float64(len(seeds))
	}
	return mean, nil
}

// Shortest picks the legal row with the fewest hours, by its feature; stop only
// where nothing else is legal.
func Shortest(_ *classic.Machines, o *env.Observation, _ bool) (env.Action, error) {
	best, width := 0, len(o.Candidates)/o.N()
	for row := 1; row < o.N(); row++ {
		if o.Mask[row] && (best == 0 || o.Candidates[row*width+1] < o.Candidates[best*width+1]) {
			best = row
		}
	}
	return env.Action(best), nil
}

// NetworkRatio is Ratio of the greedy policy of p.
func NetworkRatio(seeds []uint64, p *nn.Params) (float64, error) {
	actor := neural.NewActor(p)
	return Ratio(seeds, func(_ *classic.Machines, o *env.Observation, opens bool) (env.Action, error) {
		if opens {
			if _, err := actor.Begin(o); err != nil {
				return 0, err
			}
		}
		return actor.Best(o.Mask)
	})
}

// Instances returns n seeds of a split: equal names, equal instances.
func Instances(name string, n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = rng.Seed(uint64(i), "known/machines/"+name)
	}
	return seeds
}

// Demonstrate plays the optimum and records each of its rounds.
func Demonstrate(seeds []uint64) ([]bc.Demonstration, error) {
	var demos []bc.Demonstration
	e := classic.NewMachines()
	for _, seed := range seeds {
		step, err := e.Reset(seed)
		for err == nil && !step.Done() {
			var rows []env.Action
			if _, rows, err = Optimum(e); err != nil {
				return nil, err
			}
			d := bc.Demonstration{Set: len(rows)}
			step.Observation.CopyTo(&d.Observation)
			d.Picks.Reset(d.Observation.N())
			for _, a := range append(rows, 0) {
				if err = d.Picks.Add(a, step.Observation.Mask); err != nil {
					return nil, err
				}
				if step, err = e.Step(a); err != nil {
					return nil, err
				}
			}
			demos = append(demos, d)
		}
		if err != nil {
			return nil, err
		}
	}
	return demos, nil
}

// NewMachinesParams returns a network for the machines with random weights.
func NewMachinesParams(seed uint64, hidden int) *nn.Params {
	space := classic.NewMachines().Spec().Space
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: hidden, Value: 32})
	p.Initialize(rng.New(seed, "known/parameters"))
	return p
}
