package scenario

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// stretch multiplies the time between arrivals. A job keeps its slack and its patience.
func stretch(jobs []env.Job, factor float64) {
	for i := range jobs {
		j := &jobs[i]
		submit := time.Duration(math.Round(float64(j.Submit) * factor))
		if j.Deadline != 0 {
			j.Deadline += submit - j.Submit
		}
		if j.Cancel != 0 {
			j.Cancel += submit - j.Submit
		}
		j.Submit = submit
	}
	// Shrinking may make submissions equal, which brings IDs into play.
	slices.SortFunc(jobs, func(a, b env.Job) int { return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID)) })
}
