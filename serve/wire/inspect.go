package wire

import (
	"reflect"

	"github.com/yardmaster/yardmaster/env"
)

// Validation says whether a state is one that the service would decide on, and if
// not, all that is wrong with it: the reply of the endpoint validate.
type Validation struct {
	Schema   string  `json:"schema"`            // ValidationSchema
	Cluster  string  `json:"cluster,omitempty"` // cluster, epoch and seq where they can be read
	Epoch    uint64  `json:"epoch,omitempty"`
	StateSeq uint64  `json:"state_seq,omitempty"`
	Valid    bool    `json:"valid"`
	Bytes    int     `json:"bytes"`          // of the message, decompressed
	Jobs     int     `json:"jobs"`           // that could be read
	Faults   []Fault `json:"faults"`         // as they were met, at most MaxFaults
	More     bool    `json:"more,omitempty"` // there are more faults than that, or may be: env looks for no more after env.MaxReported
}

// Fault is one thing that is wrong with a message.
type Fault struct {
	Code    Code   `json:"code"`           // as in the error that the message would be refused with
	Name    string `json:"name"`           // of the code
	Path    string `json:"path,omitempty"` // where, such as state.jobs[3].gpus; empty for the whole message
	Message string `json:"message"`        // for people; may change
	Want    string `json:"want,omitempty"` // what the schema says about this place
}

// Inspect reads a state as DecodeState does, but goes on after a fault as far as the
// message can be read. It is valid if and only if DecodeState accepts it. What a value
// means is judged once all values can be read, and what refers to the cluster once
// that is valid.
func Inspect(data []byte) *Validation {
	v := &Validation{Schema: ValidationSchema, Bytes: len(data), Faults: []Fault{}}
	d := decoder{scanner: scanner{data: data}, collect: true}
	var s State
	err := d.message(stateNode, reflect.ValueOf(&s).Elem())
	v.Cluster, v.Epoch, v.StateSeq, v.Jobs = s.Cluster, s.Epoch, s.Seq, len(s.State.Jobs)
	for _, f := range d.faults {
		v.Add(f)
	}
	if err != nil {
		v.Add(asFault(err))
	}
	if len(v.Faults) > 0 {
		return v
	}
	for _, f := range envelopeFaults(s.Schema, StateSchema, s.Key(), "seq") {
		v.Add(f)
	}
	if err := s.State.Validate(); err != nil {
		parts := partsOf(err)
		for _, part := range parts {
			path, rest := placeOf(part)
			v.Add(Errorf(CodeInvalid, path, "%s", rest))
		}
		v.More = v.More || len(parts) >= env.MaxReported // env looked no further
	}
	v.Valid = len(v.Faults) == 0
	return v
}

// asFault returns err, which a decoder made.
func asFault(err error) *Error {
	if fault, ok := err.(*Error); ok {
		return fault
	}
	return Errorf(CodeInternal, "", "%v", err)
}

// Add adds a fault: the message is not valid.
func (v *Validation) Add(f *Error) {
	v.Valid = false
	if len(v.Faults) == MaxFaults {
		v.More = true
		return
	}
	fault := Fault{Code: f.Code, Name: f.Name, Path: f.Path, Message: f.Message}
	if part, ok := Describe(StateSchema, f.Path); ok && len(part.Fields) == 0 {
		fault.Want = part.Want
		if part.Description != "" {
			fault.Want += ": " + part.Description
		}
	}
	v.Faults = append(v.Faults, fault)
}
