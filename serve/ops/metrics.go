package ops

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// MaxClusterLabels bounds the values of the label cluster. Of more clusters the
// rest, by name, is one: Others.
const MaxClusterLabels = 100

// Others stands for the clusters beyond MaxClusterLabels. No cluster's id has
// parentheses.
const Others = "(other)"

// Metric is what one metric is called and means.
type Metric struct {
	Name   string
	Type   string // counter, gauge or histogram
	Labels []string
	Help   string
}

// Metrics returns the service's own metrics; beside them are those of the Go
// runtime (go_) and of the process (process_).
func Metrics() []Metric {
	list := make([]Metric, len(metrics))
	for i, m := range metrics {
		list[i] = m.Metric
	}
	return list
}

// metric is a metric and how its values are read.
type metric struct {
	Metric
	read func(v *view, put func(value float64, labels ...string))
}

// view is a service at the moment of a scrape.
type view struct {
	serve.Stats
	connected  bool
	reconnects uint64
	ready      bool
	last       map[string]time.Time
	now        time.Time
}

func look(s Service) *view {
	v := &view{Stats: s.Stats(), ready: true, last: s.LastStates(), now: time.Now()}
	v.connected, v.reconnects = s.Connection()
	for _, c := range s.Checks() {
		v.ready = v.ready && c.Err == nil
	}
	return v
}

type put = func(value float64, labels ...string)

// durationMetric is the one histogram.
var durationMetric = Metric{"yardmaster_decision_duration_seconds", "histogram", []string{"stage"}, "Of stages of a decision, by octaves; decide is all of it, from the state's arrival."}

func gauge(name, help string, read func(*view) float64) metric {
	return metric{Metric{name, "gauge", nil, help}, func(v *view, put put) { put(read(v)) }}
}

func counter(name, help string, read func(*view) int64) metric {
	return metric{Metric{name, "counter", nil, help}, func(v *view, put put) { put(float64(read(v))) }}
}

func counters(name, label, help string, read func(*view) map[string]int64) metric {
	return metric{Metric{name, "counter", []string{label}, help}, func(v *view, put put) {
		counts := read(v)
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			put(float64(counts[key]), key)
		}
	}}
}

var metrics = []metric{
	{Metric{"yardmaster_build_info", "gauge", []string{"version", "wire"}, "1; the labels say what runs."}, func(v *view, put put) { put(1, v.Version, wire.Version) }},
	{Metric{"yardmaster_model_info", "gauge", []string{"model", "name", "version", "sha", "role", "kind"}, "1 for each model in use; empty labels where no learned policy is in charge."}, readModels},
	counters("yardmaster_model_load_total", "result", "Attempts to load a model, by result.", func(v *view) map[string]int64 { return v.Models.Loads }),
	counter("yardmaster_model_swaps_total", "Changes of the learned policy in charge.", func(v *view) int64 { return v.Models.Swaps }),
	counter("yardmaster_model_rollbacks_total", "Changes back to the policy before that the service made by itself.", func(v *view) int64 { return v.Models.Rollbacks }),
	gauge("yardmaster_degraded", "1 where no learned policy is in charge, else 0.", func(v *view) float64 { return truth(v.Models.Degraded) }),
	counters("yardmaster_shadow_decisions_total", "result", "Decisions beside which the learned policy was to be asked: agreed, differed, failed, dropped.", func(v *view) map[string]int64 {
		s := &v.Models.Shadow
		return map[string]int64{"agreed": s.Agreed, "differed": s.Compared - s.Agreed, "failed": s.Failed, "dropped": s.Dropped}
	}),
	gauge("yardmaster_shadow_regret_ratio", "Mean regret of the learned policy in shadow since the start: the share of the linear program's value it would have given away.", func(v *view) float64 {
		return v.Models.Shadow.RegretSum / max(1, float64(v.Models.Shadow.Valued))
	}),
	counters("yardmaster_decision_log_rows_total", "result", "Decisions for the log: written, dropped, failed.", func(v *view) map[string]int64 {
		l := &v.Models.Log
		return map[string]int64{"written": l.Written, "dropped": l.Dropped, "failed": l.Failed}
	}),
	gauge("yardmaster_uptime_seconds", "Since the start.", func(v *view) float64 { return v.Uptime }),
	gauge("yardmaster_ready", "1 where /readyz says so, else 0.", func(v *view) float64 { return truth(v.ready) }),
	gauge("yardmaster_nats_connected", "1 while connected to NATS, else 0.", func(v *view) float64 { return truth(v.connected) }),
	counter("yardmaster_nats_reconnects_total", "Connections to NATS made again.", func(v *view) int64 { return int64(v.reconnects) }),
	gauge("yardmaster_clusters", "Clusters known now.", func(v *view) float64 { return float64(v.Clusters) }),
	{Metric{"yardmaster_state_age_seconds", "gauge", []string{"cluster"}, "Since the cluster's last state; of " + Others + " the oldest."}, readAges},
	counter("yardmaster_states_total", "Published states that came in.", func(v *view) int64 { return v.States }),
	counter("yardmaster_states_stale_total", "States older than one already decided: refused.", func(v *view) int64 { return v.Stale }),
	counter("yardmaster_states_duplicate_total", "States already decided or in work: not decided again.", func(v *view) int64 { return v.Duplicates }),
	counter("yardmaster_states_superseded_total", "States replaced by a newer one before their turn.", func(v *view) int64 { return v.Superseded }),
	counter("yardmaster_requests_total", "Decide requests that came in.", func(v *view) int64 { return v.Requests }),
	counters("yardmaster_refused_total", "code", "Refused states, requests and acks, by the name of the error.", func(v *view) map[string]int64 { return v.Refused }),
	counters("yardmaster_allocations_total", "source", "Allocations, by who made them.", func(v *view) map[string]int64 { return v.BySource }),
	counters("yardmaster_fallbacks_total", "reason", "Allocations that are not the learned policy's, by reason.", func(v *view) map[string]int64 { return v.Fallbacks }),
	{Metric{"yardmaster_failures_total", "counter", []string{"source", "reason"}, "What failed on the way to a decision; one may count several."}, readFailures},
	{Metric{"yardmaster_policy_ood_score", "gauge", []string{"cluster"}, "How unlike training the cluster's last state was: above 1 is unlike it; of " + Others + " the highest."}, func(v *view, put put) {
		readGuards(v, put, func(g *guard.Status) (float64, bool) { return g.Novelty, g.Novelty >= 0 })
	}},
	{Metric{"yardmaster_regret_ratio", "gauge", []string{"cluster"}, "Mean share of the linear program's value that the policy gave away in the last comparisons; of " + Others + " the highest."}, func(v *view, put put) {
		readGuards(v, put, func(g *guard.Status) (float64, bool) { return g.Regret, g.Compared > 0 })
	}},
	{Metric{"yardmaster_guard_active", "gauge", []string{"reason"}, "Clusters for which the guard holds the policy back now, by reason."}, readRails},
	counters("yardmaster_lp_status_total", "status", "Answers of the linear program that were waited for: optimal, stopped, infeasible, late, failed.", func(v *view) map[string]int64 { return v.Programs }),
	gauge("yardmaster_lp_gap_ratio", "Last relative gap to the optimum that the linear program proved.", func(v *view) float64 { return v.ProgramGap }),
	counter("yardmaster_configurations_total", "Configurations decided and published.", func(v *view) int64 { return v.Configurations }),
	counters("yardmaster_configurer_failures_total", "reason", "Configurations that were not made, by reason.", func(v *view) map[string]int64 { return v.ConfigurerFailures }),
	counters("yardmaster_acks_total", "result", "Decisions acknowledged by clusters: applied, in part, or rejected.", func(v *view) map[string]int64 {
		return map[string]int64{"applied": v.Applied, "partial": v.Partial, "rejected": v.Rejected - v.Partial}
	}),
	counter("yardmaster_decisions_stored_total", "Decisions the stream stored.", func(v *view) int64 { return v.Stored }),
	counter("yardmaster_decisions_unconfirmed_total", "Decisions sent without waiting for the stream, which did not keep up.", func(v *view) int64 { return v.Unconfirmed }),
	counters("yardmaster_publish_errors_total", "code", "Decisions the broker did not take or not store, by its error code or a word.", func(v *view) map[string]int64 { return v.PublishErrorsBy }),
	gauge("yardmaster_store_healthy", "0 where the embedded broker stores nothing because its disk failed or is full, else 1.", func(v *view) float64 { return truth(v.StoreFault == "") }),
	counter("yardmaster_broker_restarts_total", "Restarts of the embedded broker because its disk had failed.", func(v *view) int64 { return v.BrokerRestarts }),
	{Metric{"yardmaster_leader", "gauge", []string{"cluster"}, "1 where this service publishes for the cluster, else 0; of " + Others + " how many."}, readLeaders},
	counter("yardmaster_leader_changes_total", "Clusters taken over or lost by this service.", func(v *view) int64 { return v.LeaderChanges }),
	counter("yardmaster_decisions_fenced_total", "Decisions withheld or refused, because another service publishes for the cluster.", func(v *view) int64 { return v.Fenced }),
	counter("yardmaster_states_missing_total", "States that never came in, by their sequence numbers.", func(v *view) int64 { return v.Gaps }),
	counter("yardmaster_states_rate_limited_total", "States refused because their cluster sent too many.", func(v *view) int64 { return v.RateLimited }),
	counter("yardmaster_states_skewed_total", "States whose sender's clock disagrees with the service's.", func(v *view) int64 { return v.Skewed }),
	gauge("yardmaster_clusters_stale", "Clusters that are silent for too long.", func(v *view) float64 { return float64(len(v.StaleClusters)) }),
	counter("yardmaster_chunks_total", "Parts of large states that came in.", func(v *view) int64 { return v.Chunks }),
	counter("yardmaster_chunks_dropped_total", "Of those, the ones no state was made of.", func(v *view) int64 { return v.ChunksDropped }),
	counters("yardmaster_compressed_bytes_total", "side", "Bytes of compressed states: as they came in (encoded) and decompressed (decoded).", func(v *view) map[string]int64 {
		return map[string]int64{"encoded": v.EncodedBytes, "decoded": v.DecodedBytes}
	}),
	counter("yardmaster_permissions_denied_total", "What NATS denied; the log and the status say which subjects.", func(v *view) (n int64) {
		for _, times := range v.PermissionsDenied {
			n += times
		}
		return n
	}),
	counter("yardmaster_clusters_resumed_total", "Clusters whose last decision was found in the stream.", func(v *view) int64 { return v.Resumed }),
	{durationMetric, nil},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func readModels(v *view, put put) {
	policy := false
	for _, m := range v.Models.Loaded {
		name := m.Name + "@" + m.Version + "+" + m.SHA
		switch {
		case m.Version == "" && m.SHA == "":
			name = m.Name
		case m.Version == "":
			name = m.Name + "@" + m.SHA
		}
		policy = policy || m.Role == "active" && m.Kind == "job-strategy"
		put(1, name, m.Name, m.Version, m.SHA, m.Role, m.Kind)
	}
	if !policy {
		put(1, "", "", "", "", "active", "job-strategy")
	}
}

func readAges(v *view, put put) {
	oldest := time.Duration(-1)
	for i, id := range slices.Sorted(maps.Keys(v.last)) {
		age := max(v.now.Sub(v.last[id]), 0)
		if i < MaxClusterLabels {
			put(age.Seconds(), id)
		} else {
			oldest = max(oldest, age)
		}
	}
	if oldest >= 0 {
		put(oldest.Seconds(), Others)
	}
}

func readLeaders(v *view, put put) {
	others, more := 0.0, false
	for i, id := range slices.Sorted(maps.Keys(v.last)) {
		holder, shared := v.Leaders[id]
		leads := truth(!shared || holder == v.ID)
		if i < MaxClusterLabels {
			put(leads, id)
		} else {
			others, more = others+leads, true
		}
	}
	if more {
		put(others, Others)
	}
}

// readGuards puts a number for each cluster that has it, and of the clusters beyond
// MaxClusterLabels the highest.
func readGuards(v *view, put put, number func(*guard.Status) (x float64, known bool)) {
	n, highest, more := 0, 0.0, false
	for i := range v.Guards {
		x, known := number(&v.Guards[i])
		switch {
		case !known:
		case n < MaxClusterLabels:
			put(x, v.Guards[i].Cluster)
			n++
		case !more || x > highest:
			highest, more = x, true
		}
	}
	if more {
		put(highest, Others)
	}
}

// readRails counts clusters by what holds for them.
func readRails(v *view, put put) {
	var ood, regret, breaker, starving float64
	for i := range v.Guards {
		g := &v.Guards[i]
		ood += truth(g.Unfamiliar)
		regret += truth(g.OverBudget)
		breaker += truth(g.BreakerOpen)
		starving += truth(g.Helped > 0)
	}
	put(ood, string(wire.ReasonOOD))
	put(regret, string(wire.ReasonRegret))
	put(breaker, string(wire.ReasonBreaker))
	put(starving, string(wire.ReasonStarving))
}

func readFailures(v *view, put put) {
	for _, key := range slices.Sorted(maps.Keys(v.Failures)) {
		source, reason, _ := strings.Cut(key, "/")
		put(float64(v.Failures[key]), source, reason)
	}
}

// collector reads a service at each scrape: the hot path pays nothing for it.
type collector struct {
	service Service
	descs   []*prometheus.Desc // of metrics, in order
}

func registry(s Service) *prometheus.Registry {
	c := &collector{service: s}
	for _, m := range metrics {
		c.descs = append(c.descs, prometheus.NewDesc(m.Name, m.Help, m.Labels, nil))
	}
	r := prometheus.NewRegistry()
	r.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	v := look(c.service)
	for i, m := range metrics {
		kind := prometheus.CounterValue
		switch m.Type {
		case "gauge":
			kind = prometheus.GaugeValue
		case "histogram":
			for _, s := range stage.Stages() {
				to <- histogram(c.descs[i], c.service.Latency(s), s.String())
			}
			continue
		}
		m.read(v, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(c.descs[i], kind, value, labels...)
		})
	}
}

func histogram(d *prometheus.Desc, l stage.Latency, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(l.Buckets))
	for _, b := range l.Buckets {
		buckets[b.Below.Seconds()] = b.Count
	}
	return prometheus.MustNewConstHistogram(d, l.Count, l.Sum.Seconds(), buckets, labels...)
}
