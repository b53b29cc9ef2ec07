package admin

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Schema names the reply of every endpoint.
const Schema = "yardmaster.admin.v1"

// Endpoints, the last tokens of their subjects.
const (
	Models   = "models"
	Load     = "load"
	Promote  = "promote"
	Rollback = "rollback"
	Discard  = "discard"
	Mode     = "mode"
)

// Endpoints returns all endpoints.
func Endpoints() []string { return []string{Models, Load, Promote, Rollback, Discard, Mode} }

// LoadRequest asks to make a version of a model ready.
type LoadRequest struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // a version, or latest: the default
	Promote bool   `json:"promote,omitempty"` // put it in charge at once
}

// KindRequest asks to promote, roll back or discard a model of a kind.
type KindRequest struct {
	Kind models.Kind `json:"kind,omitempty"` // job-strategy is the default
}

// ModeRequest asks to change who decides.
type ModeRequest struct {
	Cluster string    `json:"cluster,omitempty"` // "" is all without a mode of their own
	Mode    live.Mode `json:"mode,omitempty"`
	Share   float64   `json:"share,omitempty"` // of canary
	Unset   bool      `json:"unset,omitempty"` // take the cluster's own mode away
}

// Slot names the models in use of one kind; "" is none.
type Slot struct {
	Active    string `json:"active"`
	Previous  string `json:"previous"`
	Candidate string `json:"candidate"`
}

// Reply is the answer of one service.
type Reply struct {
	Schema string `json:"schema"` // Schema
	Server string `json:"server"` // id of the service
	Done   string `json:"done"`   // what was done, for people
	// Warning says what went wrong although it was done, such as a state that could
	// not be kept on disk.
	Warning string `json:"warning,omitempty"`

	Source        string             `json:"source"` // where models come from; "" where they are fixed
	JobStrategy   Slot               `json:"job_strategy"`
	Configuration Slot               `json:"configuration"`
	Modes         *live.Assignment   `json:"modes"`
	Loads         map[string]int64   `json:"loads"`                // by result
	LastError     string             `json:"last_error,omitempty"` // of the last load
	Available     []repository.Entry `json:"available,omitempty"`  // of the endpoint models
}

// maxRequest bounds a request, which has some 100 bytes.
const maxRequest = 4096

// Decode reads a request strictly; an empty body has no fields. Its error is a
// *wire.Error.
func Decode(body []byte, to any) error {
	if len(body) > maxRequest {
		return wire.Errorf(wire.CodeTooLarge, "", "%d bytes, want at most %d", len(body), maxRequest)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return wire.Errorf(wire.CodeMalformed, "", "%v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return wire.Errorf(wire.CodeMalformed, "", "text after the request")
	}
	return nil
}

// KindOf returns the kind that a request asks for.
func (r *KindRequest) KindOf() (models.Kind, error) {
	switch r.Kind {
	case "", models.JobStrategy:
		return models.JobStrategy, nil
	case models.Configuration:
		return models.Configuration, nil
	}
	return "", wire.Errorf(wire.CodeInvalid, "kind", "is %.32q, want %s or %s", string(r.Kind), models.JobStrategy, models.Configuration)
}
