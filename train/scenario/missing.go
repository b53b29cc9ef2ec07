package scenario

import (
	"strconv"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// missing leaves strategies out, as where a job was never profiled on a GPU type.
type missing struct {
	of     sim.Candidates
	seed   uint64 // of the episode
	chance float64
}

// Strategies implements sim.Candidates.
func (m *missing) Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error) {
	all, err := m.of.Strategies(j, c)
	if err != nil || len(all) < 2 {
		return all, err
	}
	r := rng.New(m.seed, "scenario/vary/missing/"+strconv.FormatInt(j.ID, 10))
	stays := r.IntN(len(all))
	left := make([]env.Strategy, 0, len(all))
	for i := range all {
		if out := r.Float64() < m.chance; i == stays || !out {
			left = append(left, all[i])
		}
	}
	return left, nil
}
