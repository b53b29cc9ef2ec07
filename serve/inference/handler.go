package inference

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Bounds of what requests may take.
const (
	MaxBytes      = 16 << 20 // of one: some 60,000 candidates with 32 features
	MaxCandidates = 1 << 18  // of one
	MaxInFlight   = 2        // requests in work at once
)

// Handler answers below /v2, but for /v2/health.
type Handler struct {
	source  Source
	version string // of the server
	cache   networks
	places  chan struct{}
}

// New returns a handler for the models of source.
func New(source Source, version string) *Handler {
	return &Handler{source: source, version: version, places: make(chan struct{}, MaxInFlight)}
}

// Register adds the protocol's paths to mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /v2", h.server)
	mux.HandleFunc("GET /v2/{$}", h.server)
	for _, path := range []string{"/v2/models/{model}", "/v2/models/{model}/versions/{version}"} {
		mux.HandleFunc("GET "+path, h.metadata)
		mux.HandleFunc("GET "+path+"/ready", h.ready)
		mux.HandleFunc("POST "+path+"/infer", h.infer)
	}
}

// tell writes an answer.
func tell(w http.ResponseWriter, code int, answer any) {
	data, err := json.Marshal(answer)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(data, '\n')) // a reader that went away is its own concern
}

func refuse(w http.ResponseWriter, code int, format string, args ...any) {
	tell(w, code, struct {
		Error string `json:"error"`
	}{fmt.Sprintf(format, args...)})
}

func (h *Handler) server(w http.ResponseWriter, _ *http.Request) {
	tell(w, http.StatusOK, struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{"yardmaster", h.version, []string{}})
}

// find returns the model that a request names, and all models, or refuses.
func (h *Handler) find(w http.ResponseWriter, r *http.Request) (*Served, []Served) {
	name, version := r.PathValue("model"), r.PathValue("version")
	all := h.source()
	i := slices.IndexFunc(all, func(s Served) bool { return s.Name == name && (version == "" || s.Version == version) })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		refuse(w, http.StatusNotFound, "no model %q of version %q, there are %q", short(name), short(version), slices.Compact(slices.Sorted(slices.Values(names))))
		return nil, nil
	}
	return &all[i], all
}

// described is a tensor in a model's metadata. A dimension of -1 varies.
type described struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
}

func (h *Handler) metadata(w http.ResponseWriter, r *http.Request) {
	m, all := h.find(w, r)
	if m == nil {
		return
	}
	var versions []string
	for _, s := range all {
		if s.Name == m.Name && s.Version != "" {
			versions = append(versions, s.Version)
		}
	}
	d := m.Model.Params.Dims
	tell(w, http.StatusOK, struct {
		Name     string      `json:"name"`
		Versions []string    `json:"versions,omitempty"`
		Platform string      `json:"platform"`
		Inputs   []described `json:"inputs"`
		Outputs  []described `json:"outputs"`
	}{
		m.Name, versions, "yardmaster_safetensors",
		[]described{{inputGlobal, "FP32", []int{d.Global}}, {inputCandidates, "FP32", []int{-1, d.Candidate}}, {inputMask, "BOOL", []int{-1}}},
		[]described{{outputScores, "FP32", []int{-1}}, {outputValue, "FP32", []int{1}}},
	})
}

// ready is true for every model there is: none is served before it is warm.
func (h *Handler) ready(w http.ResponseWriter, r *http.Request) {
	if m, _ := h.find(w, r); m != nil {
		tell(w, http.StatusOK, struct {
			Name  string `json:"name"`
			Ready bool   `json:"ready"`
		}{m.Name, true})
	}
}

// output is a tensor of an answer.
type output struct {
	Name     string    `json:"name"`
	Datatype string    `json:"datatype"`
	Shape    []int     `json:"shape"`
	Data     []float32 `json:"data"`
}

// inferred is the answer to a request.
type inferred struct {
	Model   string   `json:"model_name"`
	Version string   `json:"model_version,omitempty"`
	ID      *string  `json:"id,omitempty"`
	Outputs []output `json:"outputs"`
}

func (h *Handler) infer(w http.ResponseWriter, r *http.Request) {
	m, all := h.find(w, r)
	if m == nil {
		return
	}
	if r.Header.Get("Inference-Header-Content-Length") != "" {
		refuse(w, http.StatusBadRequest, "binary tensors are not supported: write data as JSON")
		return
	}
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "%d requests in work already", MaxInFlight)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBytes))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "larger than %d bytes", MaxBytes)
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the request could not be read")
		return
	}
	answer, err := h.cache.get(m.Model, all).answer(body)
	switch {
	case errors.Is(err, errNotFinite):
		refuse(w, http.StatusInternalServerError, "%v", err)
	case err != nil:
		refuse(w, http.StatusBadRequest, "%v", err)
	default:
		answer.Model, answer.Version = m.Name, m.Version
		tell(w, http.StatusOK, answer)
	}
}

// answer evaluates a request.
func (n *network) answer(body []byte) (*inferred, error) {
	req, err := decode(body)
	if err != nil {
		return nil, err
	}
	o, err := req.observe(n.dims)
	if err != nil {
		return nil, err
	}
	scores, value, err := n.evaluate(o)
	if err != nil {
		return nil, err
	}
	a := &inferred{ID: req.id, Outputs: []output{}}
	for _, out := range []output{{outputScores, "FP32", []int{len(scores)}, scores}, {outputValue, "FP32", []int{1}, []float32{value}}} {
		if req.outputs == nil || slices.Contains(req.outputs, out.Name) {
			a.Outputs = append(a.Outputs, out)
		}
	}
	return a, nil
}
