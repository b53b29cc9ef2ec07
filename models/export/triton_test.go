package export_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/export"
	"github.com/yardmaster/yardmaster/models/export/exporttest"
)

// config is the part of Triton's ModelConfig that is written.
type config struct {
	Name         string         `json:"name"`
	Platform     string         `json:"platform"`
	MaxBatchSize int            `json:"max_batch_size"`
	Input        []configTensor `json:"input"`
	Output       []configTensor `json:"output"`
}

type configTensor struct {
	Name     string   `json:"name"`
	DataType string   `json:"data_type"`
	Dims     []string `json:"dims"`
}

// Triton's own definition reads config.pbtxt, and it says what the ONNX file says.
func TestTritonConfigDescribesTheFile(t *testing.T) {
	definition, err := os.ReadFile(filepath.Join("testdata", "model_config.pb"))
	if err != nil {
		t.Fatal(err)
	}
	m := model(stream(1), models.JobStrategy, networks[1])
	for _, batch := range []bool{false, true} {
		o := export.Options{Name: "demo", Version: "1.2.0", Batch: batch}
		text, err := export.TritonConfig(m, o)
		if err != nil {
			t.Fatal(err)
		}
		message, err := exporttest.Message(definition, "inference.ModelConfig")
		if err != nil {
			t.Fatal(err)
		}
		if err := prototext.Unmarshal(text, message); err != nil { // refuses fields that Triton does not know
			t.Fatalf("%v in:\n%s", err, text)
		}
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		var got config
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		f := mustDecode(t, mustONNX(t, m, o)).Graph
		want := config{Name: "demo", Platform: "onnxruntime_onnx", Input: described(f.Input), Output: described(f.Output)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("batch %v: config (-want +got):\n%s", batch, diff)
		}
	}
}

// described returns what Triton has to be told about tensors of an ONNX file.
func described(values []exporttest.Value) (list []configTensor) {
	for _, v := range values {
		c := configTensor{Name: v.Name, DataType: map[int]string{1: "TYPE_FP32", 9: "TYPE_BOOL"}[v.Type.TensorType.ElemType]}
		for _, d := range v.Shape() {
			if strings.ContainsAny(d, "BN") {
				d = "-1"
			}
			c.Dims = append(c.Dims, d)
		}
		list = append(list, c)
	}
	return list
}
