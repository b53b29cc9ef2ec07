package exporttest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// sum returns the graph total = ReduceSum(Where(mask, x, zero)) of x and mask, shape
// [N].
func sum(t *testing.T) *File {
	t.Helper()
	f := new(File)
	err := strict([]byte(`{
		"opset_import": [{"version": "17"}],
		"graph": {
			"input": [
				{"name": "x", "type": {"tensor_type": {"elem_type": 1, "shape": {"dim": [{"dim_param": "N"}]}}}},
				{"name": "mask", "type": {"tensor_type": {"elem_type": 9, "shape": {"dim": [{"dim_param": "N"}]}}}}],
			"output": [{"name": "total", "type": {"tensor_type": {"elem_type": 1, "shape": {"dim": [{"dim_value": "1"}]}}}}],
			"node": [
				{"name": "legal", "op_type": "Where", "input": ["mask", "x", "zero"], "output": ["legal"]},
				{"name": "total", "op_type": "ReduceSum", "input": ["legal", "axis"], "output": ["total"]}]
		}}`), f)
	if err != nil {
		t.Fatal(err)
	}
	f.Graph.Initializer = []Initializer{
		{Name: "zero", DataType: int(Float), RawData: make([]byte, 4)},
		{Name: "axis", DataType: int(Int64), Dims: []json.Number{"1"}, RawData: binary.LittleEndian.AppendUint64(nil, math.MaxUint64)}, // -1
	}
	return f
}

func TestEvaluate(t *testing.T) {
	inputs := map[string]Array{
		"x":    Floats([]int{3}, []float32{1, float32(math.NaN()), 4}),
		"mask": Bools([]int{3}, []bool{true, false, true}),
	}
	got, err := sum(t).Evaluate(inputs)
	if err != nil || got["total"].Data[0] != 5 {
		t.Errorf("got %v, %v, want 5", got, err)
	}
	for name, tt := range map[string]struct {
		spoil func(f *File)
		want  string
	}{
		"operators":   {func(f *File) { f.OpsetImport[0].Version = 18 }, "18"},
		"operator":    {func(f *File) { f.Graph.Node[1].OpType = "ReduceMax" }, "ReduceMax"},
		"order":       {func(f *File) { n := f.Graph.Node; n[0], n[1] = n[1], n[0] }, "not computed before"},
		"type":        {func(f *File) { f.Graph.Node[0].Input[0] = "x" }, "type 1, want 9"},
		"attribute":   {func(f *File) { f.Graph.Node[1].Attribute = make([]Attribute, 1) }, "want none"},
		"never read":  {func(f *File) { f.Graph.Node[0].Input[2] = "x" }, "zero is never read"},
		"twice":       {func(f *File) { f.Graph.Node[1].Output[0] = "x" }, "computed twice"},
		"axis":        {func(f *File) { f.Graph.Initializer[1].RawData[0] = 0xf0 }, "axis -16"},
		"raw data":    {func(f *File) { f.Graph.Initializer[0].RawData = make([]byte, 5) }, "1 bytes are left"},
		"dimension":   {func(f *File) { f.Graph.Output[0].Type.TensorType.Shape.Dim[0].DimValue = "2" }, "[2]"},
		"other input": {func(f *File) { f.Graph.Input[0].Name = "y" }, "input y is missing"},
	} {
		f := sum(t)
		tt.spoil(f)
		if _, err := f.Evaluate(inputs); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
	}
	inputs["mask"] = Bools([]int{2}, []bool{true, false})
	if _, err := sum(t).Evaluate(inputs); err == nil {
		t.Error("inputs of 3 and 2 candidates: got no error")
	}
}

func TestDecodeRefusesWhatONNXDoesNotKnow(t *testing.T) {
	for name, tt := range map[string]struct {
		raw  []byte
		want string
	}{
		"unknown field": {[]byte{0x98, 0x06, 1}, "does not define"},          // field 99
		"unknown below": {[]byte{0x3a, 3, 0x98, 0x06, 1}, "does not define"}, // graph { field 99 }
		"wrong type":    {[]byte{0x2a, 1, 'x'}, "does not define"},           // model_version as text
		"not evaluated": {[]byte{0x3a, 4, 0x6a, 2, 0x0a, 0}, "value_info"},   // graph { value_info { name } }
		"cut off":       {[]byte{0x3a, 9, 0x98}, "proto"},
	} {
		if _, err := Decode(tt.raw); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
	}
}
