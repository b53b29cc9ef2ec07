package guard

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// EventSchema names the schema of an Event.
const EventSchema = "yardmaster.event.v1"

// Kinds of events: tokens of the subjects that they are published on.
const (
	EventFallback = "fallback" // one allocation was not the learned policy's
	EventGuard    = "guard"    // a rail began or ended to hold
)

// Event tells observers what a guard did.
type Event struct {
	Schema   string      `json:"schema"` // EventSchema
	Kind     string      `json:"kind"`
	Cluster  string      `json:"cluster"`
	Epoch    uint64      `json:"epoch"`
	StateSeq uint64      `json:"state_seq"` // of the state that was decided on
	Reason   wire.Reason `json:"reason"`
	Source   wire.Source `json:"source,omitempty"` // of a fallback: who decided
	// Active is whether the rail holds from now on; in a fallback it is true.
	Active bool `json:"active"`
	// Value and Limit are what was measured and what it was held against: scores,
	// mean regrets, failures; hours of waiting of a starving job.
	Value float64 `json:"value,omitempty"`
	Limit float64 `json:"limit,omitempty"`
	Model string  `json:"model,omitempty"`
	Text  string  `json:"text,omitempty"` // for people
}

// Comparison is a decision of the learned policy beside the linear program's on
// the same state. Whoever gets it must not modify what it points to.
type Comparison struct {
	State     *wire.State
	Model     string
	Policy    env.Allocation
	LP        env.Allocation
	PolicyIs  float64 // value of Policy by the program's objective
	LPIs      float64
	Regret    float64       // (LPIs − PolicyIs) / LPIs, within −1 to 1
	Published wire.Source   // whose allocation was sent
	LPTook    time.Duration // time of the program
}
