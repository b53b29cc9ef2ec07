package serve

import (
	"maps"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Stats counts what a service did since it started.
type Stats struct {
	Schema  string  `json:"schema"` // wire.StatusSchema
	Version string  `json:"version"`
	Model   string  `json:"model"` // the learned policy, "" without one
	Uptime  float64 `json:"uptime_s"`

	Models ModelStats `json:"models"`

	Clusters       int   `json:"clusters"`       // known now
	States         int64 `json:"states"`         // published states that came in
	Requests       int64 `json:"requests"`       // decide requests that came in
	Stale          int64 `json:"stale"`          // states older than one already decided: refused
	Duplicates     int64 `json:"duplicates"`     // states already decided or in work: not decided again
	Superseded     int64 `json:"superseded"`     // states replaced by a newer one before their turn
	Resumed        int64 `json:"resumed"`        // clusters whose last decision was found in the stream
	Allocations    int64 `json:"allocations"`    // decided, published or replied
	Configurations int64 `json:"configurations"` // decided and published
	Applied        int64 `json:"applied"`        // acknowledged as applied
	Rejected       int64 `json:"rejected"`       // acknowledged as not applied
	Stored         int64 `json:"stored"`         // decisions acknowledged by the stream
	Unconfirmed    int64 `json:"unconfirmed"`    // decisions sent without waiting for the stream, which did not keep up
	PublishErrors  int64 `json:"publish_errors"` // decisions the broker did not take or not store
	// BrokerRestarts counts restarts of the embedded broker because its disk had
	// failed; StoreFault is why it stores nothing now, "" where it does.
	BrokerRestarts int64  `json:"broker_restarts"`
	StoreFault     string `json:"store_fault"`

	ID            string            `json:"id"`             // of this service
	Leading       int               `json:"leading"`        // clusters that this service publishes for
	Leaders       map[string]string `json:"leaders"`        // who publishes for each known cluster, where several may
	LeaderChanges int64             `json:"leader_changes"` // clusters taken over or lost
	Fenced        int64             `json:"fenced"`         // decisions withheld or refused, because another service publishes for the cluster
	Gaps          int64             `json:"gaps"`           // states that never came in, by their sequence numbers
	StaleClusters []string          `json:"stale_clusters"` // silent for longer than StaleAfter
	Skewed        int64             `json:"skewed"`         // states whose sender's clock was off by more than MaxSkew
	RateLimited   int64             `json:"rate_limited"`   // states refused because their cluster sent too many
	Partial       int64             `json:"partial"`        // acknowledged as applied in part, also counted as rejected
	Chunks        int64             `json:"chunks"`         // parts of large messages that came in
	ChunksDropped int64             `json:"chunks_dropped"` // of those, the ones no message was made of
	// EncodedBytes and DecodedBytes are of the compressed states that came in.
	EncodedBytes      int64            `json:"encoded_bytes"`
	DecodedBytes      int64            `json:"decoded_bytes"`
	PublishErrorsBy   map[string]int64 `json:"publish_errors_by"`  // by the broker's error code, or what kept it from answering
	PermissionsDenied map[string]int64 `json:"permissions_denied"` // by subject, at most 16 of them; (replies) are those that askers chose

	Refused   map[string]int64 `json:"refused"`   // states and requests, by the name of the error code
	BySource  map[string]int64 `json:"by_source"` // allocations
	Fallbacks map[string]int64 `json:"fallbacks"` // allocations not by the learned policy, by reason
	// Failures counts what failed at any stage, by source and reason, such as
	// lp/late. One decision may count several.
	Failures map[string]int64 `json:"failures"`
	// Programs counts how the linear program did where it was waited for, by status:
	// one of guard.ProgramStatuses. ProgramGap is the last gap that it proved.
	Programs   map[string]int64 `json:"programs"`
	ProgramGap float64          `json:"program_gap"`
	// Guards is what the guard knows of clusters: of the first MaxGuards by id.
	Guards []guard.Status `json:"guards"`
	// ConfigurerFailures counts configurations that were not made, by reason.
	ConfigurerFailures map[string]int64 `json:"configurer_failures"`

	// LatencyP50 and LatencyP99 are quantiles of the time from a state's
	// arrival to its published allocation, in microseconds, up to 13 % high.
	LatencyP50 float64 `json:"latency_p50_us"`
	LatencyP99 float64 `json:"latency_p99_us"`
}

// MaxGuards bounds Stats.Guards: a status reply has to fit one message.
const MaxGuards = 1024

// recorder collects Stats; safe for concurrent use.
type recorder struct {
	mu      sync.Mutex
	stats   Stats
	started time.Time
}

func newRecorder(version, model string) *recorder {
	r := &recorder{started: time.Now()}
	r.stats = Stats{
		Schema: wire.StatusSchema, Version: version, Model: model,
		Refused: map[string]int64{}, BySource: map[string]int64{}, Fallbacks: map[string]int64{},
		Failures: map[string]int64{}, ConfigurerFailures: map[string]int64{},
		Programs: map[string]int64{}, Guards: []guard.Status{},
		Leaders: map[string]string{}, StaleClusters: []string{}, PublishErrorsBy: map[string]int64{}, PermissionsDenied: map[string]int64{},
	}
	for _, code := range publishCodes() {
		r.stats.PublishErrorsBy[code] = 0
	}
	for _, s := range wire.Sources() { // zeros are printed too: a reader sees what there is
		r.stats.BySource[string(s)] = 0
	}
	for _, x := range guard.ProgramStatuses() {
		r.stats.Programs[x] = 0
	}
	for _, x := range wire.Reasons() {
		r.stats.Fallbacks[string(x)] = 0
	}
	return r
}

// count adds one to a field of the stats.
func (r *recorder) count(field func(*Stats) *int64) {
	r.mu.Lock()
	*field(&r.stats)++
	r.mu.Unlock()
}

// refuse counts a refusal.
func (r *recorder) refuse(code wire.Code) {
	r.mu.Lock()
	r.stats.Refused[code.String()]++
	r.mu.Unlock()
}

// add adds n to a field of the stats.
func (r *recorder) add(n int64, field func(*Stats) *int64) {
	r.mu.Lock()
	*field(&r.stats) += n
	r.mu.Unlock()
}

// unpack counts a compressed state.
func (r *recorder) unpack(encoded, decoded int) {
	r.mu.Lock()
	r.stats.EncodedBytes += int64(encoded)
	r.stats.DecodedBytes += int64(decoded)
	r.mu.Unlock()
}

// publishError counts a decision that was not stored, by its code.
func (r *recorder) publishError(code string) {
	r.mu.Lock()
	r.stats.PublishErrors++
	r.stats.PublishErrorsBy[code]++
	r.mu.Unlock()
}

// deny counts what NATS did not permit. It reports whether the subject is a new
// one.
func (r *recorder) deny(subject string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.stats.PermissionsDenied[subject]
	if !known && len(r.stats.PermissionsDenied) >= maxDenied {
		return false
	}
	r.stats.PermissionsDenied[subject]++
	return !known
}

// maxDenied bounds the subjects in Stats.PermissionsDenied.
const maxDenied = 16

// decide counts an allocation.
func (r *recorder) decide(d guard.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Allocations++
	r.stats.BySource[string(d.Message.Source)]++
	if d.Message.Reason != wire.ReasonNone {
		r.stats.Fallbacks[string(d.Message.Reason)]++
	}
	if d.Program.Status != "" {
		r.stats.Programs[d.Program.Status]++
	}
	if d.Program.Gap >= 0 && d.Program.Status != "" {
		r.stats.ProgramGap = d.Program.Gap
	}
	for _, f := range d.Failures {
		r.stats.Failures[string(f.Source)+"/"+string(f.Reason)]++
	}
}

// configure counts a configuration, or the reason why there is none.
func (r *recorder) configure(reason wire.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reason == wire.ReasonNone {
		r.stats.Configurations++
	} else {
		r.stats.ConfigurerFailures[string(reason)]++
	}
}

// snapshot returns a copy that the caller owns.
func (r *recorder) snapshot() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Uptime = time.Since(r.started).Seconds()
	for _, m := range []*map[string]int64{&s.Refused, &s.BySource, &s.Fallbacks, &s.Failures, &s.Programs, &s.ConfigurerFailures, &s.PublishErrorsBy, &s.PermissionsDenied} {
		*m = maps.Clone(*m)
	}
	return s
}

// storing notes whether the embedded broker stores, and reports whether that
// is news.
func (r *recorder) storing(fault error) (news bool) {
	text := ""
	if fault != nil {
		text = fault.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	news = (r.stats.StoreFault == "") != (text == "")
	r.stats.StoreFault = text
	return news
}
