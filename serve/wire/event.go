package wire

import "strings"

// Kinds of events, the last but one token of their subject. The list is
// append-only.
const (
	EventRefused  = "refused"  // a message was refused; its body is an Error
	EventFallback = "fallback" // a decision is not the learned policy's
	EventModel    = "model"    // a model was loaded, refused, promoted or rolled back
	EventGuard    = "guard"    // the guard changed its mind about a policy
	EventLeader   = "leader"   // another service publishes for a cluster
	EventStale    = "stale"    // a cluster went silent
	EventGap      = "gap"      // states of a cluster were lost
	EventSkew     = "skew"     // a cluster's clock disagrees with the service's
	EventPartial  = "partial"  // a decision was applied in part
	EventDropped  = "dropped"  // a decision could not be sent
)

// EventKinds returns all kinds of events whose body is an Event.
func EventKinds() []string {
	return []string{EventFallback, EventModel, EventGuard, EventLeader, EventStale, EventGap, EventSkew, EventPartial, EventDropped}
}

// Event tells what happened. It is published once, on a plain subject: for
// people and alerts, never needed for a decision.
type Event struct {
	Schema   string `json:"schema"` // EventSchema
	Event    string `json:"event"`  // kind
	Cluster  string `json:"cluster,omitempty"`
	Epoch    uint64 `json:"epoch,omitempty"`
	StateSeq uint64 `json:"state_seq,omitempty"`
	Source   string `json:"source,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Model    string `json:"model,omitempty"`
	Server   string `json:"server,omitempty"`
	// Active is whether what is told of holds from now on, such as a rail of the
	// guard. Value and Limit are what was measured and what it was held against.
	Active  bool    `json:"active,omitempty"`
	Value   float64 `json:"value,omitempty"`
	Limit   float64 `json:"limit,omitempty"`
	Message string  `json:"message"` // for people
}

// NewEvent returns an event of this kind about a cluster, or "". A long message
// is cut.
func NewEvent(kind, cluster, message string) *Event {
	if len(message) > maxMessage {
		message = message[:maxMessage]
	}
	return &Event{Schema: EventSchema, Event: kind, Cluster: cluster, Message: strings.ToValidUTF8(message, "")}
}
