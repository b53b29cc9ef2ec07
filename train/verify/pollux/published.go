package pollux

// Published returns the completion times in seconds, by name of the job, that
// the authors published for Tiresias on workloads-0.5/workload-1.csv and 16
// nodes of four GPUs: simulator/results-jobload/tiresias-0.5/summary.json of
// their artifact. The caller owns the map.
func Published() (map[string]int, error) {
	times := make(map[string]int)
	err := eachRecord("published.csv", func(r *record) { times[r.text("job")] = r.whole("jct_s") })
	return times, err
}
