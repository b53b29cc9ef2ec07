package verify

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"

	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// loader reads Gavel's files, each oracle and workload once.
type loader struct {
	data    fs.FS
	oracles map[string]*files.Oracle
	jobs    map[string][]gavel.Job
}

func newLoader(data fs.FS) *loader {
	return &loader{data: data, oracles: make(map[string]*files.Oracle), jobs: make(map[string][]gavel.Job)}
}

// config returns the simulation of a run, without a policy.
func (l *loader) config(ref *files.Reference) (gavel.Config, error) {
	jobs, err := l.workload(ref)
	if err != nil {
		return gavel.Config{}, err
	}
	cfg := gavel.Config{Types: gpuTypes(ref.GPUs), Jobs: jobs, Window: gavel.Window{First: ref.First, End: ref.End}, Seed: seedOf(ref.Trace)}
	if ref.TotalJobs > 0 {
		if ref.TotalJobs > len(jobs) {
			return cfg, fmt.Errorf("%s has %d jobs, want %d", ref.Trace, len(jobs), ref.TotalJobs)
		}
		cfg.Jobs = jobs[:ref.TotalJobs]
	}
	return cfg, nil
}

// gpuTypes returns a cluster of these numbers of the types of the table.
func gpuTypes(gpus []int) []gavel.GPUType {
	types := make([]gavel.GPUType, len(gpus))
	for i, n := range gpus {
		types[i] = gavel.GPUType{Name: files.ReferenceTypes[i], GPUs: n}
	}
	return types
}

// workload returns the jobs of a run with their rates.
func (l *loader) workload(ref *files.Reference) ([]gavel.Job, error) {
	key := fmt.Sprint(ref.Trace, ref.Interarrival, ref.Throughputs)
	if known, ok := l.jobs[key]; ok {
		return known, nil
	}
	oracle, err := l.oracle(ref.Throughputs)
	if err != nil {
		return nil, err
	}
	submitted, err := l.submitted(ref)
	if err != nil {
		return nil, err
	}
	rates := make(map[files.Class][]float64)
	jobs := make([]gavel.Job, len(submitted))
	for i := range submitted {
		j := &submitted[i]
		if rates[j.Class] == nil {
			if rates[j.Class], err = ratesOf(oracle, j.Class); err != nil {
				return nil, fmt.Errorf("%s: job %d: %w", ref.Trace, i, err)
			}
		}
		jobs[i] = gavel.Job{Arrival: j.Arrival, GPUs: j.GPUs, Steps: j.Steps, Rates: rates[j.Class]}
	}
	l.jobs[key] = jobs
	return jobs, nil
}

func ratesOf(o *files.Oracle, c files.Class) ([]float64, error) {
	rates := make([]float64, len(files.ReferenceTypes))
	for t, name := range files.ReferenceTypes {
		rate, ok := o.Alone(files.Place{GPUType: name}, c)
		if !ok {
			return nil, fmt.Errorf("no throughput of %v on %s", c, name)
		}
		rates[t] = rate
	}
	return rates, nil
}

// submitted reads the jobs of a trace, or of a stream with the arrival times of
// its seed.
func (l *loader) submitted(ref *files.Reference) ([]files.Job, error) {
	if ref.Interarrival == 0 {
		return load(l.data, path.Join("traces", "physical_cluster", ref.Trace), files.ReadTrace)
	}
	jobs, err := load(l.data, ref.Trace, func(r io.Reader, name string) ([]files.Job, error) {
		return files.ReadStream(r, name, ref.Interarrival)
	})
	if err != nil {
		return nil, err
	}
	// The stream has its arrival times rounded in other units. That moves a
	// time by a few units in the last place, which is enough to break ties
	// between AlloX's matchings another way.
	for i, at := range gavel.Arrivals(seedOf(ref.Trace), ref.Interarrival, len(jobs)) {
		if math.Abs(at-jobs[i].Arrival) > 1e-12*(1+at) {
			return nil, fmt.Errorf("%s: job %d arrives at %v s, but at %v s in the stream of seed %d: the name must say the seed, as in single_seed0.csv", ref.Trace, i, jobs[i].Arrival, at, seedOf(ref.Trace))
		}
		jobs[i].Arrival = at
	}
	return jobs, nil
}

var seedPattern = regexp.MustCompile(`seed([0-9]+)`)

// seedOf returns the seed that a file name tells, 0 where it tells none.
func seedOf(name string) uint64 {
	if m := seedPattern.FindStringSubmatch(path.Base(name)); m != nil {
		if seed, err := strconv.ParseUint(m[1], 10, 64); err == nil {
			return seed
		}
	}
	return 0
}

func (l *loader) oracle(name string) (*files.Oracle, error) {
	if known, ok := l.oracles[name]; ok {
		return known, nil
	}
	o, err := load(l.data, name, files.ReadOracle)
	if err == nil {
		l.oracles[name] = o
	}
	return o, err
}

func (l *loader) times(name string) ([]files.Time, error) {
	return load(l.data, path.Join(referenceRuns, name), files.ReadTimes)
}

// load reads one file.
func load[T any](data fs.FS, name string, read func(io.Reader, string) (T, error)) (T, error) {
	f, err := data.Open(strings.TrimPrefix(name, "/"))
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return read(f, name)
}
