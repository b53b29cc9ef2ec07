package gavel

import "io"

// Continuous is a figure that Gavel's authors published for a range of loads.
type Continuous struct {
	Experiment   string
	Metric       string
	JobsPerHour  float64
	Interarrival float64 // s, mean
	Policy       string
	Value        float64
}

// ReadContinuous reads a table of such figures.
func ReadContinuous(r io.Reader, name string) ([]Continuous, error) {
	header := []string{"experiment", "metric", "jobs_per_hour", "lam_s", "policy", "value"}
	var all []Continuous
	err := readTable(r, name, header, func(r *row) {
		all = append(all, Continuous{
			Experiment: r.text(0), Metric: r.text(1), JobsPerHour: r.float(2, 0, maxSeconds), Interarrival: r.float(3, 0, maxSeconds),
			Policy: r.text(4), Value: r.float(5, 0, maxSeconds),
		})
	})
	return all, err
}
