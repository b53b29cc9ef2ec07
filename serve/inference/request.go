package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/models/nn"
)

// Names of the tensors.
const (
	inputGlobal     = "global"
	inputCandidates = "candidates"
	inputMask       = "mask"
	outputScores    = "scores"
	outputValue     = "value"
)

// request is what a client asks.
type request struct {
	id      *string
	inputs  map[string]tensor
	outputs []string // the wanted ones; nil is all
}

// tensor is an input before its elements are read.
type tensor struct {
	datatype string
	shape    []int
	data     json.RawMessage
}

// observation is the input of a network.
type observation struct {
	global     []float32 // [G]
	candidates []float32 // [N, F]
	mask       []bool    // [N]
}

// object calls member for every member of the object that dec comes to. It
// refuses repeated names.
func object(dec *json.Decoder, what string, member func(name string) error) error {
	open, err := dec.Token()
	if err != nil {
		return wellFormed(err)
	}
	if open != json.Delim('{') {
		return fmt.Errorf("%s is no object", what)
	}
	seen := make(map[string]bool)
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return wellFormed(err)
		}
		name := token.(string) // the decoder lets nothing else be a name
		if seen[name] {
			return fmt.Errorf("%s has %q twice", what, short(name))
		}
		seen[name] = true
		if err := member(name); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return wellFormed(err)
}

// list calls item for every element of the array that dec comes to.
func list(dec *json.Decoder, what string, item func(i int) error) error {
	open, err := dec.Token()
	if err != nil {
		return wellFormed(err)
	}
	if open != json.Delim('[') {
		return fmt.Errorf("%s is no array", what)
	}
	for i := 0; dec.More(); i++ {
		if i == maxTensors {
			return fmt.Errorf("%s has more than %d elements", what, maxTensors)
		}
		if err := item(i); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return wellFormed(err)
}

// Bounds of what is read before it is known to make sense.
const (
	maxTensors = 8
	maxRank    = 4
	maxText    = 256 // of names and ids, in bytes
)

func wellFormed(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the request ends in the middle")
	}
	return fmt.Errorf("the request is not JSON: %w", err)
}

func short(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}

// text reads a string.
func text(dec *json.Decoder, what string, into *string) error {
	token, err := dec.Token()
	if err != nil {
		return wellFormed(err)
	}
	s, ok := token.(string)
	if !ok || len(s) > maxText {
		return fmt.Errorf("%s is no text of at most %d bytes", what, maxText)
	}
	*into = s
	return nil
}

// decode reads a request.
func decode(body []byte) (*request, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	r := &request{inputs: make(map[string]tensor)}
	err := object(dec, "the request", func(name string) error {
		switch name {
		case "id":
			r.id = new(string)
			return text(dec, "id", r.id)
		case "parameters":
			return noParameters(dec, "parameters")
		case "inputs":
			return list(dec, "inputs", func(i int) error { return r.input(dec, fmt.Sprintf("inputs[%d]", i)) })
		case "outputs":
			return list(dec, "outputs", func(i int) error { return r.output(dec, fmt.Sprintf("outputs[%d]", i)) })
		}
		return fmt.Errorf("the request has the unknown field %q", short(name))
	})
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the request")
	}
	return r, nil
}

// noParameters reads an empty object.
func noParameters(dec *json.Decoder, what string) error {
	return object(dec, what, func(name string) error {
		return fmt.Errorf("%s has %q: parameters are not supported", what, short(name))
	})
}

// input reads one input tensor.
func (r *request) input(dec *json.Decoder, what string) error {
	var t tensor
	var called string
	err := object(dec, what, func(name string) error {
		switch name {
		case "name":
			return text(dec, what+".name", &called)
		case "datatype":
			return text(dec, what+".datatype", &t.datatype)
		case "shape":
			return t.dimensions(dec, what+".shape")
		case "parameters":
			return noParameters(dec, what+".parameters")
		case "data":
			return wellFormed(dec.Decode(&t.data))
		}
		return fmt.Errorf("%s has the unknown field %q", what, short(name))
	})
	if err != nil {
		return err
	}
	if !slices.Contains([]string{inputGlobal, inputCandidates, inputMask}, called) {
		return fmt.Errorf("%s is %q, want %s, %s or %s", what, short(called), inputGlobal, inputCandidates, inputMask)
	}
	if _, twice := r.inputs[called]; twice {
		return fmt.Errorf("%s: %s is given twice", what, called)
	}
	r.inputs[called] = t
	return nil
}

func (t *tensor) dimensions(dec *json.Decoder, what string) error {
	return list(dec, what, func(i int) error {
		token, err := dec.Token()
		if err != nil {
			return wellFormed(err)
		}
		n, ok := token.(json.Number)
		size, err := n.Int64()
		if !ok || err != nil || size < 0 || size > MaxBytes || i >= maxRank {
			return fmt.Errorf("%s is no shape of at most %d dimensions, each 0 to %d", what, maxRank, MaxBytes)
		}
		t.shape = append(t.shape, int(size))
		return nil
	})
}

// output reads one wanted output.
func (r *request) output(dec *json.Decoder, what string) error {
	var called string
	err := object(dec, what, func(name string) error {
		switch name {
		case "name":
			return text(dec, what+".name", &called)
		case "parameters":
			return noParameters(dec, what+".parameters")
		}
		return fmt.Errorf("%s has the unknown field %q", what, short(name))
	})
	if err != nil {
		return err
	}
	if called != outputScores && called != outputValue {
		return fmt.Errorf("%s is %q, want %s or %s", what, short(called), outputScores, outputValue)
	}
	if slices.Contains(r.outputs, called) {
		return fmt.Errorf("%s: %s is wanted twice", what, called)
	}
	r.outputs = append(r.outputs, called)
	return nil
}

// observe returns the observation in a request for a network of these
// dimensions.
func (r *request) observe(d nn.Dims) (*observation, error) {
	mask := r.inputs[inputMask]
	n := 0
	if len(mask.shape) == 1 {
		n = mask.shape[0]
	}
	want := map[string]tensor{
		inputGlobal:     {datatype: "FP32", shape: []int{d.Global}},
		inputCandidates: {datatype: "FP32", shape: []int{n, d.Candidate}},
		inputMask:       {datatype: "BOOL", shape: []int{n}},
	}
	for _, name := range []string{inputMask, inputGlobal, inputCandidates} {
		got, ok := r.inputs[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("input %s is missing", name)
		case got.datatype != want[name].datatype:
			return nil, fmt.Errorf("input %s is %q, want %s", name, short(got.datatype), want[name].datatype)
		case !slices.Equal(got.shape, want[name].shape):
			return nil, fmt.Errorf("input %s has shape %v, want %v", name, got.shape, want[name].shape)
		case n > MaxCandidates:
			return nil, fmt.Errorf("input %s has shape %v, want at most %d candidates", name, got.shape, MaxCandidates)
		}
	}
	return r.read(d, n)
}

func (r *request) read(d nn.Dims, n int) (*observation, error) {
	var o observation
	var err error
	if o.mask, err = bools(r.inputs[inputMask].data, []int{n}, n); err != nil {
		return nil, fmt.Errorf("input %s %w", inputMask, err)
	}
	if !slices.Contains(o.mask, true) {
		return nil, fmt.Errorf("input %s allows no candidate, want at least one", inputMask)
	}
	if o.global, err = floats(r.inputs[inputGlobal].data, []int{d.Global}, d.Global); err != nil {
		return nil, fmt.Errorf("input %s %w", inputGlobal, err)
	}
	if o.candidates, err = floats(r.inputs[inputCandidates].data, []int{n, d.Candidate}, n*d.Candidate); err != nil {
		return nil, fmt.Errorf("input %s %w", inputCandidates, err)
	}
	return &o, nil
}
