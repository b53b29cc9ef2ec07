package encode

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// ConfigurationVersion names the columns of [ConfigurationSpace] and how they
// are computed. It changes whenever either does.
const ConfigurationVersion = "configuration/1"

// Names of the knobs of Tiresias (NSDI 2019) that the encoder reads.
const (
	KnobThresholds = "thresholds" // limits between queues, GPU-seconds, ascending
	KnobPromote    = "promote"    // waiting over running time at which a job is promoted; 0 is never
)

// Columns of a configuration, in order. Services are attained GPU-seconds.
const (
	cfgQueues       = iota // number of queues / 4
	cfgFirst               // log(first threshold / an hour of one GPU) / 4, 0 with one queue
	cfgLast                // the same of the last threshold
	cfgSingle              // 1 with one queue
	cfgPromote             // 1 where waiting jobs are promoted
	cfgPromoteAt           // log(promote), 0 where never
	cfgFirstToMean         // log(first threshold / mean service of recently finished jobs) / 4
	cfgLastToMean          // the same of the last threshold
	cfgBelowFirst          // share of the jobs below the first threshold
	cfgAboveLast           // share of the jobs above the last threshold
	cfgNearFirst           // share of the jobs below it that reach it within an hour of running
	cfgFirstToQueue        // log(first threshold / median service of the jobs) / 4
	configurationColumns
)

var configurationNames = [configurationColumns]string{
	"queues", "first", "last", "single", "promote", "promote_at", "first_to_mean", "last_to_mean",
	"below_first", "above_last", "near_first", "first_to_median",
}

// Columns of the workload, in order.
const (
	wlArrivals  = iota // log(1 + arrivals per hour) / 2
	wlWidth            // log2(mean GPUs of recent arrivals) / 3
	wlMean             // log(mean service of recently finished jobs / an hour of one GPU) / 4
	wlVariation        // log(1 + squared coefficient of variation of it) / 2
	wlQueue            // log(1 + waiting jobs per GPU)
	wlRunning          // log(1 + running jobs per GPU)
	wlBusy             // share of the GPUs busy
	wlJobs             // log(1 + jobs) / 4
	wlDemand           // log(GPUs requested / GPUs of the cluster)
	wlMedian           // log(1 + median service of the jobs / an hour of one GPU) / 4
	wlTail             // log(1 + 90th percentile of it / an hour of one GPU) / 4
	wlAge              // log(1 + mean age in hours) / 4
	configurationGlobals
)

var workloadNames = [configurationGlobals]string{
	"arrivals", "width", "mean_service", "variation", "queue", "running", "busy", "jobs", "demand", "median_service", "tail_service", "mean_age",
}

// ConfigurationSpace describes the observations of SchedulerConfig-v0: one row
// per configuration that may be chosen.
func ConfigurationSpace() env.Space {
	return env.Space{Global: features(workloadNames[:]), Candidate: features(configurationNames[:])}
}

// Configuration encodes a state and the configurations to choose from. The zero
// value is ready to use.
type Configuration struct {
	service []float64 // attained service of the jobs, ascending
}

const hour = 3600.0 // seconds

// Encode writes the observation of s to dst, reusing its memory: row i is
// configs[i], every row is legal, Epoch is s.Round. s must be valid.
func (e *Configuration) Encode(dst *env.Observation, s *env.State, configs []env.Configuration) {
	e.service = grow(e.service, len(s.Jobs))
	for i := range s.Jobs {
		e.service[i] = s.Jobs[i].Service
	}
	slices.Sort(e.service)
	dst.Epoch = s.Round
	dst.Global = grow(dst.Global, configurationGlobals)
	dst.Candidates = grow(dst.Candidates, len(configs)*configurationColumns)
	dst.Mask = grow(dst.Mask, len(configs))
	e.encodeWorkload(dst.Global, s)
	for i := range configs {
		e.encodeConfiguration(dst.Candidates[i*configurationColumns:][:configurationColumns], s, &configs[i])
		dst.Mask[i] = true
	}
}

func (e *Configuration) encodeWorkload(g []float32, s *env.State) {
	w := &s.Recent
	gpus := float64(max(1, s.Cluster.GPUs()))
	asked, age := 0.0, 0.0
	for i := range s.Jobs {
		asked += float64(s.Jobs[i].GPUs)
		age += (s.Now - s.Jobs[i].Submit).Hours() / float64(len(s.Jobs))
	}
	clear(g)
	if w.Length > 0 {
		g[wlArrivals] = bounded(math.Log1p(float64(w.Arrivals)/w.Length.Hours()) / 2)
	}
	if w.Arrivals > 0 {
		g[wlWidth] = bounded(math.Log2(float64(w.ArrivedGPUs)/float64(w.Arrivals)) / 3)
	}
	if mean := meanService(w); mean > 0 {
		g[wlMean] = bounded(math.Log(mean/hour) / 4)
		square := w.CompletedSquare / float64(w.Completed)
		g[wlVariation] = bounded(math.Log1p(max(0, square/(mean*mean)-1)) / 2)
	}
	g[wlQueue] = bounded(math.Log1p(w.Queue / gpus))
	g[wlRunning] = bounded(math.Log1p(w.Running / gpus))
	g[wlBusy] = bounded(w.BusyGPUs / gpus)
	g[wlJobs] = bounded(math.Log1p(float64(len(s.Jobs))) / 4)
	g[wlDemand] = bounded(math.Log((asked + 1) / (gpus + 1)))
	g[wlMedian] = bounded(math.Log1p(e.quantile(0.5)/hour) / 4)
	g[wlTail] = bounded(math.Log1p(e.quantile(0.9)/hour) / 4)
	g[wlAge] = bounded(math.Log1p(age) / 4)
}

func (e *Configuration) encodeConfiguration(x []float32, s *env.State, c *env.Configuration) {
	clear(x)
	thresholds, _ := c.Knob(KnobThresholds)
	x[cfgQueues] = bounded(float64(len(thresholds)+1) / 4)
	if promote, _ := c.Knob(KnobPromote); len(promote) == 1 && promote[0] > 0 {
		x[cfgPromote] = 1
		x[cfgPromoteAt] = bounded(math.Log(promote[0]))
	}
	if len(thresholds) == 0 {
		x[cfgSingle] = 1
		return
	}
	first, last := thresholds[0], thresholds[len(thresholds)-1]
	x[cfgFirst] = bounded(math.Log(first/hour) / 4)
	x[cfgLast] = bounded(math.Log(last/hour) / 4)
	if mean := meanService(&s.Recent); mean > 0 {
		x[cfgFirstToMean] = bounded(math.Log(first/mean) / 4)
		x[cfgLastToMean] = bounded(math.Log(last/mean) / 4)
	}
	if n := float64(len(e.service)); n > 0 {
		x[cfgBelowFirst] = bounded(float64(e.below(first)) / n)
		x[cfgAboveLast] = bounded(1 - float64(e.below(last))/n)
		x[cfgNearFirst] = bounded(nearing(s, first) / n)
		x[cfgFirstToQueue] = bounded(math.Log(first/(e.quantile(0.5)+hour)) / 4)
	}
}

// below returns how many jobs have attained less service than limit.
func (e *Configuration) below(limit float64) int {
	n, _ := slices.BinarySearch(e.service, limit)
	return n
}

// quantile returns the q-quantile of the attained service (nearest rank from
// below), 0 without jobs.
func (e *Configuration) quantile(q float64) float64 {
	if len(e.service) == 0 {
		return 0
	}
	return e.service[int(q*float64(len(e.service)-1))]
}

// nearing counts the jobs that pass limit within an hour on the GPUs they asked
// for.
func nearing(s *env.State, limit float64) float64 {
	n := 0.0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Service < limit && j.Service+hour*float64(j.GPUs) >= limit {
			n++
		}
	}
	return n
}

func meanService(w *env.Window) float64 {
	if w.Completed == 0 {
		return 0
	}
	return w.CompletedService / float64(w.Completed)
}
