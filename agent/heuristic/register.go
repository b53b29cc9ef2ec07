package heuristic

import "github.com/yardmaster/yardmaster/agent"

// Register adds every policy of this package to r, with its defaults.
func Register(r *agent.Registry) {
	r.Register(agent.Entry{
		Name:  "fifo",
		About: "first in, first out, no preemption",
		New:   func() (agent.Policy, error) { return FIFO{}, nil },
	})
	r.Register(agent.Entry{
		Name:  "srtf",
		About: "shortest remaining time first",
		New:   func() (agent.Policy, error) { return SRTF{}, nil },
	})
	r.Register(agent.Entry{
		Name:  "las",
		About: "least attained service first",
		New:   func() (agent.Policy, error) { return LAS{}, nil },
	})
	r.Register(agent.Entry{
		Name:  tiresiasName,
		About: "discretized least attained service, published defaults",
		New:   func() (agent.Policy, error) { return NewTiresias(tiresiasDefault()) },
	})
	r.Register(agent.Entry{
		Name:  "density",
		About: "greedy by weighted work per GPU and time left, elastic",
		New:   func() (agent.Policy, error) { return NewDensity(DensityConfig{}) },
	})
	r.Register(agent.Entry{
		Name:  "random",
		About: "a random maximal allocation",
		New:   func() (agent.Policy, error) { return Random{}, nil },
	})
}
