package wire

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Schemas of the messages.
const (
	StateSchema         = "yardmaster.state.v1"
	AllocationSchema    = "yardmaster.allocation.v1"
	ConfigurationSchema = "yardmaster.configuration.v1"
	AckSchema           = "yardmaster.ack.v1"
	ErrorSchema         = "yardmaster.error.v1"
	StatusSchema        = "yardmaster.status.v1"
	EventSchema         = "yardmaster.event.v1"
	ValidationSchema    = "yardmaster.validation.v1"
	ExplanationSchema   = "yardmaster.explanation.v1"
)

// Kinds of decisions: the last token of a decision's subject.
const (
	KindAllocation    = "allocation"
	KindConfiguration = "configuration"
)

// Source says who made an allocation.
type Source string

// The sources, from the preferred to the last resort.
const (
	SourcePolicy Source = "policy" // the learned policy
	SourceLP     Source = "lp"     // the linear program
	SourceGreedy Source = "greedy" // the heuristic
	SourceHold   Source = "hold"   // what ran keeps running
)

// Sources returns all sources in order of preference.
func Sources() []Source { return []Source{SourcePolicy, SourceLP, SourceGreedy, SourceHold} }

// Reason says why an allocation is not the learned policy's. The list is
// append-only.
type Reason string

// The reasons.
const (
	ReasonNone      Reason = ""
	ReasonLate      Reason = "late"      // no answer within the deadline
	ReasonInvalid   Reason = "invalid"   // an allocation that cannot be applied
	ReasonNonFinite Reason = "nonfinite" // NaN or infinite scores
	ReasonError     Reason = "error"     // any other error
	ReasonPanic     Reason = "panic"
	ReasonNoModel   Reason = "no_model" // no learned policy is loaded

	ReasonOOD        Reason = "ood"           // the states are unlike those of training
	ReasonStarving   Reason = "starving"      // a job waited too long and the policy passes it over again
	ReasonRegret     Reason = "regret"        // the policy has been giving away too much, by the linear program's objective
	ReasonBreaker    Reason = "breaker"       // the policy failed again and again and is not asked for a while
	ReasonInfeasible Reason = "lp_infeasible" // the linear program has no answer

	ReasonMode Reason = "mode" // operators gave the cluster to the linear program
)

// Reasons returns all reasons but ReasonNone.
func Reasons() []Reason {
	return []Reason{
		ReasonLate, ReasonInvalid, ReasonNonFinite, ReasonError, ReasonPanic, ReasonNoModel,
		ReasonOOD, ReasonStarving, ReasonRegret, ReasonBreaker, ReasonInfeasible, ReasonMode,
	}
}

// State is what a cluster publishes at a decision point.
type State struct {
	Schema  string `json:"schema"`  // StateSchema
	Cluster string `json:"cluster"` // matches ^[A-Za-z0-9_-]{1,32}$
	// Epoch names one run of the cluster's scheduler: another value starts a
	// new sequence. 1 to MaxSafeInteger, never used twice by one cluster.
	Epoch uint64    `json:"epoch"`
	Seq   uint64    `json:"seq"` // rises by at least 1 from state to state within an epoch; from 1
	State env.State `json:"state"`
}

// Key identifies the state that a decision answers.
type Key struct {
	Cluster string
	Epoch   uint64
	Seq     uint64
}

// Key returns the state's identity.
func (s *State) Key() Key { return Key{s.Cluster, s.Epoch, s.Seq} }

// Pick is the strategy of one job that runs.
type Pick struct {
	Job      int64 `json:"job"`      // JobState.ID
	Strategy int   `json:"strategy"` // index into the job's Strategies in the state that is answered
}

// Allocation is a decision of kind allocation.
type Allocation struct {
	Schema     string   `json:"schema"` // AllocationSchema
	Cluster    string   `json:"cluster"`
	Epoch      uint64   `json:"epoch"`
	StateSeq   uint64   `json:"state_seq"` // seq of the state that is answered
	ID         string   `json:"id"`        // DecisionID(key, KindAllocation)
	Source     Source   `json:"source"`
	Reason     Reason   `json:"reason,omitempty"` // why not the learned policy
	Model      string   `json:"model,omitempty"`  // the learned policy in charge, whoever answered
	Gap        *float64 `json:"gap,omitempty"`    // relative gap to the optimum, where the linear program proved one
	DeadlineMS float64  `json:"deadline_ms"`      // the deadline that was kept
	// Picks are the jobs that run, in the state's order. All others idle.
	Picks []Pick `json:"allocation"`
}

// Key returns the identity of the state that is answered.
func (a *Allocation) Key() Key { return Key{a.Cluster, a.Epoch, a.StateSeq} }

// Configuration is a decision of kind configuration.
type Configuration struct {
	Schema        string            `json:"schema"` // ConfigurationSchema
	Cluster       string            `json:"cluster"`
	Epoch         uint64            `json:"epoch"`
	StateSeq      uint64            `json:"state_seq"`
	ID            string            `json:"id"` // DecisionID(key, KindConfiguration)
	Model         string            `json:"model,omitempty"`
	Now           time.Duration     `json:"now_ns"`    // State.Now of the state that is answered
	Window        time.Duration     `json:"window_ns"` // how long it is meant to hold, on the cluster's clock
	Configuration env.Configuration `json:"configuration"`
}

// Key returns the identity of the state that is answered.
func (c *Configuration) Key() Key { return Key{c.Cluster, c.Epoch, c.StateSeq} }

// Ack tells the service what became of a decision.
type Ack struct {
	Schema   string `json:"schema"` // AckSchema
	Cluster  string `json:"cluster"`
	Epoch    uint64 `json:"epoch"`
	StateSeq uint64 `json:"state_seq"`
	ID       string `json:"id"` // of the decision
	Applied  bool   `json:"applied"`
	Reason   string `json:"reason,omitempty"` // why it was not applied
	// Jobs are the results of single jobs, where they differ: a decision that
	// was applied only in part. Jobs that are not listed follow Applied. The
	// next state says what runs; the service assumes nothing from these.
	Jobs []JobResult `json:"jobs,omitempty"`
}

// JobResult is what became of one job of a decision.
type JobResult struct {
	Job     int64  `json:"job"` // JobState.ID
	Applied bool   `json:"applied"`
	Reason  string `json:"reason,omitempty"` // why it was not applied
}
