package datasets

import (
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// Load says how much work jobs bring to a cluster.
//
// Service is W = Σ_j w_j, where w_j = GPUs × work / throughput is the
// GPU-seconds that job j takes on the reference type (the cluster's first)
// with the GPUs it asked for. Capacity is Σ_t C_t × r_t in reference
// GPU-seconds per second, where C_t is the number of GPUs of type t and r_t =
// Σ_j w_j × s_jt / Σ_j w_j is the mean speed of type t relative to the
// reference type, s_jt = throughput on t / throughput on the reference type
// (0 where j does not fit t). Offered load is W / (span × capacity), the span
// being the time from the first submission to the last.
//
// # Heavy tails
//
// In recorded traces a hundredth of the jobs brings most of the service, so
// the load of a table is a mean that few of its windows are near: most lie far
// below it and some far above. Compare [Windows.Loads] before reading much
// into a figure, and see ResolveConfig.MaxDuration.
type Load struct {
	Service  float64       `json:"service"`  // GPU-seconds on the reference type
	Span     time.Duration `json:"span_ns"`  // first to last submission
	Capacity float64       `json:"capacity"` // GPUs of the reference type that equal the cluster
	Offered  float64       `json:"offered"`  // Service / (Span × Capacity); 0 where Span is 0
	// TopShare is the part of Service that the largest hundredth of the jobs
	// (at least one) brings.
	TopShare float64 `json:"top_share"`
}

// MeasureLoad returns the load that jobs, ordered by submission, offer to c.
func MeasureLoad(jobs []env.Job, c *env.Cluster, t Throughputs) (Load, error) {
	if len(jobs) == 0 {
		return Load{}, errors.New("datasets: load of no jobs")
	}
	if err := c.Validate(); err != nil {
		return Load{}, err
	}
	m := loadMeter{cluster: c, t: t, speeds: make(map[class][]float64)}
	return m.measure(jobs)
}

// loadMeter remembers the throughputs of classes on every GPU type.
type loadMeter struct {
	cluster *env.Cluster
	t       Throughputs
	speeds  map[class][]float64 // steps/s by GPU type, 0 where the class does not fit
}

func (m *loadMeter) measure(jobs []env.Job) (Load, error) {
	service := make([]float64, len(jobs))
	weighted := make([]float64, len(m.cluster.Types)) // Σ_j w_j × s_jt
	total := 0.0
	for i := range jobs {
		speeds, err := m.classSpeeds(&jobs[i])
		if err != nil {
			return Load{}, err
		}
		w := float64(jobs[i].GPUs) * jobs[i].Work / speeds[0]
		service[i] = w
		total += w
		for t, s := range speeds {
			weighted[t] += w * s / speeds[0]
		}
	}
	l := Load{Service: total, Span: jobs[len(jobs)-1].Submit - jobs[0].Submit, TopShare: topShare(service)}
	for t, n := range m.cluster.Capacity() {
		l.Capacity += float64(n) * weighted[t] / total
	}
	if l.Span > 0 {
		l.Offered = total / (seconds(l.Span) * l.Capacity)
	}
	return l, nil
}

// classSpeeds returns the throughput of j on each GPU type of the cluster.
// Where j does not fit the reference type, the speed of the slowest type that
// it fits stands in for it, so that its service is not zero or infinite.
func (m *loadMeter) classSpeeds(j *env.Job) ([]float64, error) {
	key := class{ModelChoice: ModelChoice{j.Model, j.Batch}, gpus: j.GPUs}
	if s, ok := m.speeds[key]; ok {
		return s, nil
	}
	speeds := make([]float64, len(m.cluster.Types))
	slowest := 0.0
	for i, gpu := range m.cluster.Types {
		s, err := m.t.Throughput(j.Model, j.Batch, gpu.Name, j.GPUs, referenceNodes(m.cluster, gpu.Name, j.GPUs))
		if errors.Is(err, perf.ErrNoStrategy) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("datasets: load of job %d: %w", j.ID, err)
		}
		speeds[i] = s
		if s > 0 && (slowest == 0 || s < slowest) {
			slowest = s
		}
	}
	if slowest == 0 {
		return nil, fmt.Errorf("datasets: load of job %d: %s with batch %d on %d GPUs fits no GPU type", j.ID, j.Model, j.Batch, j.GPUs)
	}
	if !(speeds[0] > 0) {
		speeds[0] = slowest
	}
	m.speeds[key] = speeds
	return speeds, nil
}
