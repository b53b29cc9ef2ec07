package heuristic

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// ranked is a job and its place in an order: the smaller key first.
type ranked struct {
	key float64
	id  int64
	job int32 // index into State.Jobs
}

// fillInOrder gives GPUs to the jobs in ascending order of key, ties by ID. A
// job that does not fit is passed over, so that later ones fill the gap
// (backfilling without reservations, as in Gavel and Tiresias).
func (p *pool) fillInOrder(key func(*env.JobState) float64) {
	order := make([]ranked, len(p.state.Jobs))
	for i := range order {
		j := &p.state.Jobs[i]
		order[i] = ranked{key: key(j), id: j.ID, job: int32(i)}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	for _, r := range order {
		if p.full() {
			return
		}
		p.giveRigid(int(r.job))
	}
}
