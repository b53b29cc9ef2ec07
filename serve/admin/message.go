package admin

import (
	"bytes"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Schema names the reply of every endpoint.
const Schema = wire.AdminSchema

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

// Schemas returns the name of the schema of each endpoint's requests.
func Schemas() map[string]string {
	return map[string]string{
		Models: wire.AdminModelsSchema, Load: wire.AdminLoadSchema, Promote: wire.AdminKindSchema, Rollback: wire.AdminKindSchema,
		Discard: wire.AdminKindSchema, Mode: wire.AdminModeSchema,
	}
}

// ModelsRequest asks what there is and what is in use.
type ModelsRequest struct{}

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

var (
	modelsReader = wire.NewReader[ModelsRequest]()
	loadReader   = wire.NewReader[LoadRequest]()
	kindReader   = wire.NewReader[KindRequest]()
	modeReader   = wire.NewReader[ModeRequest]()
)

// read reads a request strictly; an empty body has no fields.
func read[T any](r wire.Reader[T], body []byte) (T, error) {
	var to T
	if len(body) > maxRequest {
		return to, wire.Errorf(wire.CodeTooLarge, "", "%d bytes, want at most %d", len(body), maxRequest)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return to, nil
	}
	err := r.Read(body, &to)
	return to, err
}

// DecodeModels reads and checks a request of the endpoint models. Its error, as that
// of the others, is a *wire.Error.
func DecodeModels(body []byte) (ModelsRequest, error) { return read(modelsReader, body) }

// DecodeLoad reads and checks a request of the endpoint load.
func DecodeLoad(body []byte) (LoadRequest, error) {
	r, err := read(loadReader, body)
	if err != nil {
		return r, err
	}
	if err := repository.CheckName(r.Name); err != nil {
		return r, wire.Errorf(wire.CodeInvalid, "name", "%v", err)
	}
	if r.Version != "" && r.Version != repository.Latest {
		if _, err := repository.ParseVersion(r.Version); err != nil {
			return r, wire.Errorf(wire.CodeInvalid, "version", "%v, or latest", err)
		}
	}
	return r, nil
}

// DecodeKind reads and checks a request to promote, roll back or discard; its kind is
// then one of the two.
func DecodeKind(body []byte) (KindRequest, error) {
	r, err := read(kindReader, body)
	if err != nil {
		return r, err
	}
	r.Kind, err = r.KindOf()
	return r, err
}

// DecodeMode reads and checks a request of the endpoint mode.
func DecodeMode(body []byte) (ModeRequest, error) {
	r, err := read(modeReader, body)
	if err != nil {
		return r, err
	}
	if r.Cluster != "" {
		if err := wire.CheckCluster(r.Cluster); err != nil {
			return r, wire.Errorf(wire.CodeInvalid, "cluster", "%v", err)
		}
	}
	setting := live.Setting{Mode: r.Mode, Share: r.Share}
	switch {
	case r.Unset && (r.Cluster == "" || r.Mode != "" || r.Share != 0):
		return r, wire.Errorf(wire.CodeInvalid, "unset", "takes a cluster's own mode away: give a cluster and no mode")
	case !r.Unset && setting.Validate() != nil:
		return r, wire.Errorf(wire.CodeInvalid, "mode", "%v", setting.Validate())
	}
	return r, nil
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
