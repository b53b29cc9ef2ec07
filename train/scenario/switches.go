package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/sharing"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Switches turn on what a simulation leaves out by default; see sim.Config. The
// zero value is off.
type Switches struct {
	// Objective is what training minimises. Default the mean completion time.
	Objective sim.Objective `json:"objective,omitempty"`
	// MTBF and MTTR are the mean times of a node between failures and until it is
	// back. Default never, and an hour.
	MTBF time.Duration `json:"mtbf_ns,omitempty"`
	MTTR time.Duration `json:"mttr_ns,omitempty"`
	// Shares are the parts of a GPU that jobs of one GPU may take: of 2, 4 and 8.
	// Colocation is the path of a Parquet table of measured pairs: how jobs that
	// share a GPU slow each other down.
	Shares     []int  `json:"shares,omitempty"`
	Colocation string `json:"colocation,omitempty"`
	// ThroughputSigma is the standard deviation of the log error of the speeds
	// that policies see until a job ran for Profiling on a GPU type.
	ThroughputSigma float64       `json:"throughput_sigma,omitempty"`
	Profiling       time.Duration `json:"profiling_ns,omitempty"`
	// Quotas is the path of a Parquet table of one cluster. Episodes are cut from
	// the trace and stretched, so those that hold where their part of the trace
	// begins hold in all of them.
	Quotas string `json:"quotas,omitempty"`
}

func (s *Switches) validate(bad func(field string, value any, want string)) {
	if s.Objective > sim.FairJCT {
		bad("objective", s.Objective, "jct, delay, tardiness, misses or fair-jct")
	}
	if s.MTBF < 0 || s.MTTR < 0 || s.MTTR > 0 && s.MTBF == 0 {
		bad("mtbf and mttr", fmt.Sprintf("%v and %v", s.MTBF, s.MTTR), "both >= 0, and no mttr without failures")
	}
	if s.Colocation != "" && len(s.Shares) == 0 {
		bad("colocation", s.Colocation, "shares with it: GPUs are not shared")
	}
	if !(s.ThroughputSigma >= 0) || s.ThroughputSigma > 10 {
		bad("throughput_sigma", s.ThroughputSigma, "0 to 10")
	}
	if s.Profiling < 0 || s.Profiling > 0 && s.ThroughputSigma == 0 {
		bad("profiling", s.Profiling, ">= 0, and a throughput_sigma with it: there is nothing to find out")
	}
}

// Files returns the paths that s holds, for a caller that has to change them: in s alone,
// not in what it was copied from.
func (s *Scenario) Files() []*string {
	files := []*string{&s.Trace}
	s.Catalogue = slices.Clone(s.Catalogue)
	for i := range s.Catalogue {
		files = append(files, &s.Catalogue[i])
	}
	for _, file := range []*string{&s.Switches.Colocation, &s.Switches.Quotas} {
		if *file != "" {
			files = append(files, file)
		}
	}
	return files
}

// switched is what the files of the switches hold.
type switched struct {
	interference sim.Interference
	quotas       *datasets.QuotaTable
	begins       [3]time.Duration // of the parts, since the epoch
}

// readSwitches reads the files of the switches.
func (l *Loaded) readSwitches() error {
	s := &l.Scenario.Switches
	var err error
	if l.switched.interference, err = ReadInterference(s.Colocation, l.Cluster, l.Performance); err != nil {
		return err
	}
	if s.Quotas == "" {
		return nil
	}
	table, err := datasets.ReadQuotas(s.Quotas)
	if err != nil {
		return err
	}
	for i := range table.Rows {
		if table.Rows[i].Cluster != table.Rows[0].Cluster {
			return fmt.Errorf("scenario: quotas %s are of clusters %q and %q, want those of one", s.Quotas, table.Rows[0].Cluster, table.Rows[i].Cluster)
		}
	}
	l.switched.quotas = table
	return nil
}

// apply turns on the switches of cfg, which simulates a part.
func (l *Loaded) apply(cfg *sim.Config, p Part) {
	s := &l.Scenario.Switches
	cfg.Objective = s.Objective
	cfg.Failures = sim.Failures{MTBF: s.MTBF, MTTR: s.MTTR}
	cfg.ThroughputSigma, cfg.Profiling = s.ThroughputSigma, s.Profiling
	cfg.Interference = l.switched.interference
	if l.switched.quotas == nil {
		return
	}
	for _, r := range l.switched.quotas.At(l.switched.begins[p]) {
		if q, ok := Quota(&r, &l.Cluster); ok {
			cfg.Quotas = append(cfg.Quotas, sim.QuotaChange{Quota: q})
		}
	}
}

// ReadInterference reads the colocation table at path, a Parquet file, as how
// jobs on cluster c slow each other down; without a path it returns nil. Errors
// name the file.
func ReadInterference(path string, c env.Cluster, p *perf.Performance) (sim.Interference, error) {
	if path == "" {
		return nil, nil
	}
	table, err := datasets.ReadColocation(path)
	if err != nil {
		return nil, err
	}
	x, err := sharing.New(table, c, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// Quota returns the row of a quotas table as a quota on cluster c, in GPUs. ok is
// false where it is of a GPU type that c does not have.
func Quota(r *datasets.QuotaRow, c *env.Cluster) (q env.Quota, ok bool) {
	q = env.Quota{Tenant: r.Tenant, Type: env.AnyType, GPUs: int(r.GPUs)}
	if r.GPUType != "" {
		q.Type = c.TypeIndex(r.GPUType)
	}
	return q, r.GPUType == "" || q.Type >= 0
}
