package replay

import (
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Report says what a cluster got.
type Report struct {
	Rounds         int64 `json:"rounds"`
	Allocations    int64 `json:"allocations"`    // decisions applied, or just received where configurations are
	Configurations int64 `json:"configurations"` // decisions received, and in force where they are applied
	Held           int64 `json:"held"`           // rounds without a decision in time, or with an impossible one
	Rejected       int64 `json:"rejected"`       // decisions that cannot be applied; their rounds are held too
	Refused        int64 `json:"refused"`        // states that the service refused; their rounds are held too

	BySource  map[string]int64 `json:"by_source"` // of the allocations
	Fallbacks map[string]int64 `json:"fallbacks"` // of the allocations, by reason

	Duplicates int64 `json:"duplicates"` // decisions that came again, or too late: ignored
	// AppliedTwice counts states that two decisions were applied for. It is
	// always 0, or the client is broken.
	AppliedTwice int64 `json:"applied_twice"`
	Recovered    int64 `json:"recovered"`  // decisions read back from the stream
	Resent       int64 `json:"resent"`     // states published again
	Reconnects   int64 `json:"reconnects"` // to the broker

	// Latency is the time from publishing a state to its decision, in
	// microseconds, over the decided rounds.
	Latency Latency `json:"latency_us"`

	// Configuration is the last received, nil before the first.
	Configuration *env.Configuration `json:"configuration,omitempty"`
}

// Latency holds quantiles in microseconds, 0 where there is nothing to measure.
type Latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func newReport() *Report {
	r := &Report{BySource: map[string]int64{}, Fallbacks: map[string]int64{}}
	for _, s := range wire.Sources() { // zeros are printed too
		r.BySource[string(s)] = 0
	}
	for _, x := range wire.Reasons() {
		r.Fallbacks[string(x)] = 0
	}
	return r
}

// quantiles returns the quantiles of d (nearest rank), which it sorts.
func quantiles(d []time.Duration) Latency {
	if len(d) == 0 {
		return Latency{}
	}
	slices.Sort(d)
	at := func(q float64) float64 {
		rank := int(math.Ceil(q*float64(len(d)))) - 1
		return float64(d[rank]) / float64(time.Microsecond)
	}
	return Latency{P50: at(0.50), P90: at(0.90), P99: at(0.99), Max: at(1)}
}
