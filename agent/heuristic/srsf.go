package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// SRSF runs the jobs with the shortest remaining service first, where service is
// remaining time × GPUs (Gu et al., Tiresias, NSDI 2019, section 2.2, as the
// ideal that attained service stands for): a job of eight GPUs counts eight
// times its time. With estimates it is SRSF of the estimates. Where nothing is
// known it is [LAS].
type SRSF struct{}

// Decide implements agent.Policy.
func (SRSF) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	if s.Knowledge == env.None {
		return LAS{}.Decide(ctx, s)
	}
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.fillInOrder(func(j *env.JobState) float64 {
		gpus := p.rigidGPUs(j)
		time := timeLeft(s, j)
		for k := range j.Strategies { // the fastest of the GPUs it would get
			if st := &j.Strategies[k]; st.GPUs == gpus {
				time = min(time, j.Remaining/st.Throughput)
			}
		}
		return time * float64(gpus)
	})
	return p.given, nil
}
