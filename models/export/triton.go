package export

import (
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/models"
)

// TritonConfig returns the config.pbtxt of a model that [ONNX] wrote with the same
// options, for a model repository of the Triton inference server:
//
//	<repository>/<name>/config.pbtxt
//	<repository>/<name>/<version>/model.onnx
//
// It is the same for all versions with the same features. Triton makes no batches of
// its own (max_batch_size 0): decision points differ in their number of candidates,
// and Options.Batch has a dimension for them.
func TritonConfig(m *models.Model, o Options) ([]byte, error) {
	m, err := o.check(m)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "name: %q\nplatform: \"onnxruntime_onnx\"\nmax_batch_size: 0\n", o.Name)
	inputs, outputs := o.tensors(m.Params.Dims)
	for _, list := range []struct {
		field   string
		tensors []tensor
	}{{"input", inputs}, {"output", outputs}} {
		for _, t := range list.tensors {
			fmt.Fprintf(&b, "%s { name: %q data_type: %s dims: %s }\n", list.field, t.name, t.triton(), t.dims())
		}
	}
	return []byte(b.String()), nil
}

// triton returns the type of t's elements in Triton's words.
func (t tensor) triton() string {
	if t.bool {
		return "TYPE_BOOL"
	}
	return "TYPE_FP32"
}

// dims returns t's shape as Triton and the Open Inference protocol write it: -1
// where the size varies.
func (t tensor) dims() string {
	var sizes []string
	for _, d := range t.shape {
		if d.symbol != "" {
			sizes = append(sizes, "-1")
		} else {
			sizes = append(sizes, fmt.Sprint(d.size))
		}
	}
	return "[ " + strings.Join(sizes, ", ") + " ]"
}
