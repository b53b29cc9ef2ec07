package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Code is the stable number of an error. Codes follow HTTP's meaning where it
// has one; the list is append-only.
type Code int

// The codes a peer can meet.
const (
	CodeMalformed   Code = 400 // not JSON, truncated, or text after the message
	CodeConflict    Code = 409 // older than a state already seen, or sent on another cluster's subject
	CodeTooLarge    Code = 413 // more bytes, depth or elements than Limits allow
	CodeSchema      Code = 415 // a schema or version this side does not speak
	CodeInvalid     Code = 422 // well-formed, but a field is unknown, missing or impossible
	CodeIncomplete  Code = 424 // chunks of the message are missing: send it again
	CodeOverloaded  Code = 429 // shed: too much in flight, send the next state
	CodeInternal    Code = 500 // a fault of the service
	CodeUnavailable Code = 503 // the service is starting or draining
)

var codeNames = map[Code]string{
	CodeMalformed:   "malformed",
	CodeConflict:    "conflict",
	CodeTooLarge:    "too_large",
	CodeSchema:      "schema",
	CodeInvalid:     "invalid",
	CodeIncomplete:  "incomplete",
	CodeOverloaded:  "overloaded",
	CodeInternal:    "internal",
	CodeUnavailable: "unavailable",
}

// String returns the code's stable name, such as "too_large".
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return "code_" + strconv.Itoa(int(c))
}

// Error is a refusal. It is the body of every error reply.
type Error struct {
	Schema   string `json:"schema"`          // ErrorSchema
	Code     Code   `json:"code"`            // stable number
	Name     string `json:"name"`            // stable name of the code
	Path     string `json:"path,omitempty"`  // where, such as state.jobs[3].gpus; empty for the whole message
	Message  string `json:"message"`         // for people; may change
	Epoch    uint64 `json:"epoch,omitempty"` // of the refused state, where it could be read
	StateSeq uint64 `json:"state_seq,omitempty"`
}

// maxMessage bounds Error.Message in bytes, so that it stays within
// MaxStringBytes when its quotes are escaped.
const maxMessage = MaxStringBytes / 2

// Errorf returns an Error with a formatted message. A long one, such as a list of
// ten faults, is cut: its receiver would refuse the error for it.
func Errorf(code Code, path, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
	}
	return &Error{Schema: ErrorSchema, Code: code, Name: code.String(), Path: path, Message: message}
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("wire: %s: %s", e.Name, e.Message)
	}
	return fmt.Sprintf("wire: %s: %s: %s", e.Name, e.Path, e.Message)
}

// Encode returns e's JSON form.
func (e *Error) Encode() []byte {
	data, err := json.Marshal(e)
	if err != nil { // strings and integers always encode
		panic(err)
	}
	return data
}
