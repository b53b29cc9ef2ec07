package datasets

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Scale returns j with every time between submissions multiplied by factor, so
// that its load is divided by it: below 1 jobs come faster. The first
// submission stays where it is, a job keeps the time from its submission to its
// deadline. Times are rounded to nanoseconds.
func (j *Jobs) Scale(factor float64) (*Jobs, error) {
	return j.scale(factor, "")
}

// scale is Scale with a reason for the metadata.
func (j *Jobs) scale(factor float64, reason string) (*Jobs, error) {
	if !(factor > 0) || math.IsInf(factor, 1) {
		return nil, fmt.Errorf("datasets: scale %s: factor is %v, want finite and > 0", j.Name, factor)
	}
	if len(j.Rows) == 0 {
		return nil, fmt.Errorf("datasets: scale %s: the table has no rows", j.Name)
	}
	first, last := j.Rows[0].Submit, j.Rows[len(j.Rows)-1].Submit
	if float64(first)+factor*float64(last-first) > float64(MaxTime) {
		return nil, fmt.Errorf("datasets: scale %s: factor %.6g puts the last job beyond 100 years; use a smaller one", j.Name, factor)
	}
	scaled := j.derive(slices.Clone(j.Rows), fmt.Sprintf("multiplied the times between submissions by %.10g%s", factor, reason))
	for i := range scaled.Rows {
		r := &scaled.Rows[i]
		submit := first + time.Duration(math.Round(factor*float64(r.Submit-first)))
		if r.Deadline != 0 {
			r.Deadline += submit - r.Submit
		}
		r.Submit = submit
	}
	scaled.Sort() // shrinking may make submissions equal, which brings ids into play
	return scaled, nil
}

// OfferedLoad returns the load that j offers to a cluster, with the models that
// cfg gives to rows without one. Rows that cannot run on the cluster bring no
// load; the report counts them.
func (j *Jobs) OfferedLoad(t Throughputs, cfg ResolveConfig) (Load, Report, error) {
	jobs, report, err := Resolve(j, t, cfg)
	if err != nil {
		return Load{}, report, err
	}
	if len(jobs) == 0 {
		return Load{}, report, fmt.Errorf("datasets: load of %s: no job can run on the cluster (%s); use larger or other GPUs", j.Name, report)
	}
	load, err := MeasureLoad(jobs, &cfg.Cluster, t)
	return load, report, err
}

// ScaleToLoad is [Jobs.Scale] with the factor that makes the offered load (see
// [Load]) equal to load. It returns the load before.
func (j *Jobs) ScaleToLoad(load float64, t Throughputs, cfg ResolveConfig) (*Jobs, Load, error) {
	if !(load > 0) || math.IsInf(load, 1) {
		return nil, Load{}, fmt.Errorf("datasets: scale %s: load is %v, want finite and > 0", j.Name, load)
	}
	before, _, err := j.OfferedLoad(t, cfg)
	if err != nil {
		return nil, Load{}, err
	}
	if before.Span == 0 {
		return nil, Load{}, errors.New("datasets: scale " + j.Name + ": all jobs arrive at once, so no factor gives a load")
	}
	scaled, err := j.scale(before.Offered/load, fmt.Sprintf(": offered load %.6g to %.6g of %s", before.Offered, load, clusterSpec(&cfg.Cluster)))
	return scaled, before, err
}

// clusterSpec returns c as "V100=16,P100=16".
func clusterSpec(c *env.Cluster) string {
	parts := make([]string, len(c.Types))
	for t, n := range c.Capacity() {
		parts[t] = fmt.Sprintf("%s=%d", c.Types[t].Name, n)
	}
	return strings.Join(parts, ",")
}
