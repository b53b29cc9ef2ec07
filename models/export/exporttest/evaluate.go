package exporttest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Evaluate returns the outputs for these inputs, by name. It computes every node as
// ONNX's operators of set 17 are defined, in float64, and refuses what a runtime
// would: other operators, types or shapes, nodes that read what is not yet computed,
// names that are given twice. It also refuses what is never read.
func (f *File) Evaluate(inputs map[string]Array) (map[string]Array, error) {
	values, err := f.begin(inputs)
	if err != nil {
		return nil, err
	}
	read := make(map[string]bool)
	for _, n := range f.Graph.Node {
		var args []Array
		for _, name := range n.Input {
			a, ok := values[name]
			if !ok {
				return nil, fmt.Errorf("exporttest: node %s reads %s, which is not computed before", n.Name, name)
			}
			read[name] = true
			args = append(args, a)
		}
		a, err := n.evaluate(args)
		if err != nil {
			return nil, fmt.Errorf("exporttest: node %s: %s: %w", n.Name, n.OpType, err)
		}
		if len(n.Output) != 1 {
			return nil, fmt.Errorf("exporttest: node %s has %d outputs, want 1", n.Name, len(n.Output))
		}
		if _, twice := values[n.Output[0]]; twice {
			return nil, fmt.Errorf("exporttest: %s is computed twice", n.Output[0])
		}
		values[n.Output[0]] = a
	}
	outputs := make(map[string]Array)
	for i := range f.Graph.Output {
		v := &f.Graph.Output[i]
		outputs[v.Name], read[v.Name] = values[v.Name], true
		if err := v.fits(values[v.Name], inputs); err != nil {
			return nil, err
		}
	}
	for name := range values {
		if !read[name] {
			return nil, fmt.Errorf("exporttest: %s is never read", name)
		}
	}
	return outputs, nil
}

// begin returns the values there are before the first node: inputs and constants.
func (f *File) begin(inputs map[string]Array) (map[string]Array, error) {
	if len(f.OpsetImport) != 1 || f.OpsetImport[0].Domain != "" || f.OpsetImport[0].Version != 17 {
		return nil, fmt.Errorf("exporttest: operator sets are %v, want ONNX's 17 alone", f.OpsetImport)
	}
	values := make(map[string]Array)
	for i := range f.Graph.Initializer {
		t := &f.Graph.Initializer[i]
		a, err := t.Array()
		if err != nil {
			return nil, err
		}
		if _, twice := values[t.Name]; twice {
			return nil, fmt.Errorf("exporttest: %s is given twice", t.Name)
		}
		values[t.Name] = a
	}
	if len(inputs) != len(f.Graph.Input) {
		return nil, fmt.Errorf("exporttest: %d inputs, want %d", len(inputs), len(f.Graph.Input))
	}
	for i := range f.Graph.Input {
		v := &f.Graph.Input[i]
		a, ok := inputs[v.Name]
		if !ok {
			return nil, fmt.Errorf("exporttest: input %s is missing", v.Name)
		}
		if err := v.fits(a, inputs); err != nil {
			return nil, err
		}
		if _, twice := values[v.Name]; twice {
			return nil, fmt.Errorf("exporttest: %s is given twice", v.Name)
		}
		values[v.Name] = a
	}
	return values, nil
}

// fits compares an array with what is declared. A symbol is the size that the mask
// has there: N its last dimension, B the one before.
func (v *Value) fits(a Array, inputs map[string]Array) error {
	mask := inputs["mask"].Shape
	want := []int{}
	for _, d := range v.Shape() {
		switch n, err := strconv.Atoi(d); {
		case err == nil:
			want = append(want, n)
		case d == "N" && len(mask) > 0:
			want = append(want, mask[len(mask)-1])
		case d == "B" && len(mask) > 1:
			want = append(want, mask[0])
		default:
			return fmt.Errorf("exporttest: %s has the dimension %q", v.Name, d)
		}
	}
	if int(a.Kind) != v.Type.TensorType.ElemType || !slices.Equal(a.Shape, want) {
		return fmt.Errorf("exporttest: %s has type %d and shape %v, declared are %d and %v", v.Name, a.Kind, a.Shape, v.Type.TensorType.ElemType, want)
	}
	return nil
}

// signatures are the types that operators take and give; 0 is the type of the
// attribute to.
var signatures = map[string][]Kind{
	"Add":       {Float, Float, Float},
	"Cast":      {Bool, 0},
	"Div":       {Float, Float, Float},
	"Equal":     {Float, Float, Bool},
	"MatMul":    {Float, Float, Float},
	"Max":       {Float, Float, Float},
	"Or":        {Bool, Bool, Bool},
	"ReduceSum": {Float, Int64, Float},
	"Relu":      {Float, Float},
	"Squeeze":   {Float, Int64, Float},
	"Transpose": {Float, Float},
	"Unsqueeze": {-1, Int64, -1}, // of any type
	"Where":     {Bool, Float, Float, Float},
}

// elementwise are the operators that compute each element from those in its place.
var elementwise = map[string]func(x []float64) float64{
	"Add":   func(x []float64) float64 { return x[0] + x[1] },
	"Cast":  func(x []float64) float64 { return x[0] },
	"Div":   func(x []float64) float64 { return x[0] / x[1] },
	"Equal": func(x []float64) float64 { return bit(x[0] == x[1]) },
	"Max":   func(x []float64) float64 { return max(x[0], x[1]) },
	"Or":    func(x []float64) float64 { return bit(x[0] != 0 || x[1] != 0) },
	"Relu":  func(x []float64) float64 { return max(0, x[0]) },
	"Where": func(x []float64) float64 {
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	},
}

func (n *Node) evaluate(args []Array) (a Array, err error) {
	signature, ok := signatures[n.OpType]
	if !ok || len(args) != len(signature)-1 {
		return a, fmt.Errorf("no such operator of %d inputs", len(args))
	}
	for i, arg := range args {
		if want := signature[i]; want >= 0 && arg.Kind != want {
			return a, fmt.Errorf("input %d has type %d, want %d", i, arg.Kind, want)
		}
	}
	switch a.Kind = signature[len(args)]; a.Kind {
	case -1:
		a.Kind = args[0].Kind
	case 0:
		if len(n.Attribute) != 1 || n.Attribute[0].Name != "to" || n.Attribute[0].Type != "INT" || n.Attribute[0].I != int64(Float) {
			return a, fmt.Errorf("attributes are %v, want to FLOAT", n.Attribute)
		}
		a.Kind = Float
	default:
		if len(n.Attribute) > 0 {
			return a, fmt.Errorf("attributes are %v, want none", n.Attribute)
		}
	}
	switch n.OpType {
	case "MatMul":
		a.Shape, a.Data, err = multiply(args[0], args[1])
	case "Transpose":
		a.Shape, a.Data, err = transpose(args[0])
	case "ReduceSum":
		a.Shape, a.Data, err = reduceSum(args[0], args[1])
	case "Squeeze", "Unsqueeze":
		a.Data = args[0].Data
		a.Shape, err = reshape(args[0].Shape, args[1], n.OpType == "Unsqueeze")
	default:
		a.Shape, a.Data, err = broadcast(elementwise[n.OpType], args...)
	}
	return a, err
}

// multiply returns the product of x, shape [..., rows, in], and w, shape [in, out].
func multiply(x, w Array) (shape []int, data []float64, err error) {
	last := len(x.Shape) - 1
	if last < 1 || len(w.Shape) != 2 || x.Shape[last] != w.Shape[0] {
		return nil, nil, fmt.Errorf("shapes %v and %v", x.Shape, w.Shape)
	}
	in, out := w.Shape[0], w.Shape[1]
	shape = append(slices.Clone(x.Shape[:last]), out)
	for row := range size(x.Shape[:last]) {
		for j := range out {
			sum := 0.0
			for i := range in {
				sum += x.Data[row*in+i] * w.Data[i*out+j]
			}
			data = append(data, sum)
		}
	}
	return shape, data, nil
}

func transpose(x Array) (shape []int, data []float64, err error) {
	if len(x.Shape) != 2 {
		return nil, nil, fmt.Errorf("shape %v, want two dimensions", x.Shape)
	}
	rows, cols := x.Shape[0], x.Shape[1]
	for j := range cols {
		for i := range rows {
			data = append(data, x.Data[i*cols+j])
		}
	}
	return []int{cols, rows}, data, nil
}

// reduceSum sums over one axis and keeps it with size 1.
func reduceSum(x, axes Array) (shape []int, data []float64, err error) {
	axis, err := only(axes, len(x.Shape))
	if err != nil {
		return nil, nil, err
	}
	shape = slices.Clone(x.Shape)
	shape[axis] = 1
	inner := size(x.Shape[axis+1:])
	data = make([]float64, size(shape))
	for i, v := range x.Data {
		data[i/(inner*x.Shape[axis])*inner+i%inner] += v
	}
	return shape, data, nil
}

// reshape adds or removes a dimension of size 1.
func reshape(shape []int, axes Array, add bool) ([]int, error) {
	rank := len(shape)
	if add {
		rank++
	}
	axis, err := only(axes, rank)
	switch {
	case err != nil:
		return nil, err
	case add:
		return slices.Insert(slices.Clone(shape), axis, 1), nil
	case shape[axis] != 1:
		return nil, fmt.Errorf("dimension %d of %v is not 1", axis, shape)
	}
	return slices.Delete(slices.Clone(shape), axis, axis+1), nil
}

// only returns the axis of a tensor with one, counted from the front.
func only(axes Array, rank int) (int, error) {
	if len(axes.Shape) != 1 || len(axes.Data) != 1 {
		return 0, errors.New("axes are not a list of one")
	}
	axis := int(axes.Data[0])
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return 0, fmt.Errorf("axis %v of %d dimensions", axes.Data[0], rank)
	}
	return axis, nil
}
