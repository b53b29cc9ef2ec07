package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// DecodeState reads and validates a state. Policies may read the result without
// a further check.
func DecodeState(data []byte) (*State, error) {
	var s State
	err := decode(data, stateNode, reflect.ValueOf(&s).Elem())
	if err == nil {
		err = s.check()
	}
	if refusal, ok := errors.AsType[*Error](err); ok {
		refusal.Epoch, refusal.StateSeq = s.Epoch, s.Seq
	}
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// DecodeAllocation reads a decision of kind allocation. Check it against the
// state it answers before it is applied.
func DecodeAllocation(data []byte) (*Allocation, error) {
	var a Allocation
	if err := decode(data, allocationNode, reflect.ValueOf(&a).Elem()); err != nil {
		return nil, err
	}
	return &a, checkEnvelope(a.Schema, AllocationSchema, a.Key(), "state_seq")
}

// DecodeConfiguration reads and validates a decision of kind configuration.
func DecodeConfiguration(data []byte) (*Configuration, error) {
	var c Configuration
	if err := decode(data, configurationNode, reflect.ValueOf(&c).Elem()); err != nil {
		return nil, err
	}
	if err := checkEnvelope(c.Schema, ConfigurationSchema, c.Key(), "state_seq"); err != nil {
		return nil, err
	}
	if err := c.Configuration.Validate(); err != nil {
		return nil, Errorf(CodeInvalid, "configuration", "%v", err)
	}
	return &c, nil
}

// DecodeAck reads an acknowledgement.
func DecodeAck(data []byte) (*Ack, error) {
	var a Ack
	if err := decode(data, ackNode, reflect.ValueOf(&a).Elem()); err != nil {
		return nil, err
	}
	return &a, checkEnvelope(a.Schema, AckSchema, Key{a.Cluster, a.Epoch, a.StateSeq}, "state_seq")
}

// DecodeEvent reads an event.
func DecodeEvent(data []byte) (*Event, error) {
	var e Event
	if err := decode(data, eventNode, reflect.ValueOf(&e).Elem()); err != nil {
		return nil, err
	}
	if e.Schema != EventSchema {
		return nil, Errorf(CodeSchema, "schema", "schema is %.64q, want %q", e.Schema, EventSchema)
	}
	return &e, nil
}

// DecodeError reads the body of an error reply.
func DecodeError(data []byte) (*Error, error) {
	var e Error
	if err := decode(data, errorNode, reflect.ValueOf(&e).Elem()); err != nil {
		return nil, err
	}
	return &e, nil
}

// DecodeValidation reads the reply of the endpoint validate.
func DecodeValidation(data []byte) (*Validation, error) {
	var v Validation
	if err := decode(data, validationNode, reflect.ValueOf(&v).Elem()); err != nil {
		return nil, err
	}
	if v.Schema != ValidationSchema {
		return nil, Errorf(CodeSchema, "schema", "schema is %.64q, want %q", v.Schema, ValidationSchema)
	}
	return &v, nil
}

// DecodeExplanation reads the reply of the endpoint explain.
func DecodeExplanation(data []byte) (*Explanation, error) {
	var e Explanation
	if err := decode(data, explanationNode, reflect.ValueOf(&e).Elem()); err != nil {
		return nil, err
	}
	if e.Schema != ExplanationSchema {
		return nil, Errorf(CodeSchema, "schema", "schema is %.64q, want %q", e.Schema, ExplanationSchema)
	}
	if err := checkEnvelope(e.Decision.Schema, AllocationSchema, e.Decision.Key(), "state_seq"); err != nil {
		fault := *asFault(err)
		fault.Path = "decision." + fault.Path
		return nil, &fault
	}
	return &e, nil
}

// Encode returns m's JSON form. It fails on a message that the other side
// would refuse: one too large, or holding NaN or an infinity.
func Encode[M State | Allocation | Configuration | Ack | Event | Validation | Explanation](m *M) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("wire: encode %T: %w", m, err)
	}
	if len(data) > MaxBytes {
		return nil, Errorf(CodeTooLarge, "", "a message of %d bytes, want at most %d", len(data), MaxBytes)
	}
	return data, nil
}
