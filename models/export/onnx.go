package export

import (
	"encoding/binary"
	"math"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Versions of ONNX: what ONNX 1.12 introduced, so that runtimes since 2022 read it.
const (
	irVersion = 8
	opset     = 17
)

// Field numbers of onnx.proto.
const (
	modelIRVersion = 1
	modelProducer  = 2
	modelDoc       = 6
	modelGraph     = 7
	modelOpset     = 8
	modelMetadata  = 14

	opsetVersion = 2

	entryKey   = 1
	entryValue = 2

	graphNode        = 1
	graphName        = 2
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12

	nodeInput     = 1
	nodeOutput    = 2
	nodeName      = 3
	nodeOp        = 4
	nodeAttribute = 5

	attributeName   = 1
	attributeNumber = 3
	attributeType   = 20

	tensorDims = 1
	tensorType = 2
	tensorName = 8
	tensorRaw  = 9

	valueName = 1
	valueType = 2
	valueDoc  = 3

	typeTensor   = 1
	elementType  = 1
	elementShape = 2
	shapeDim     = 1
	dimSize      = 1
	dimSymbol    = 2
)

// Values of enumerations in onnx.proto.
const (
	attributeInt = 2 // AttributeProto.AttributeType.INT
	elementFloat = 1 // TensorProto.DataType.FLOAT
	elementInt64 = 7 // TensorProto.DataType.INT64
	elementBool  = 9 // TensorProto.DataType.BOOL
)

// modelDocument is what viewers show.
const modelDocument = `The network of a policy that Yardmaster trained: a score for every candidate of a decision point, and its value.
Greedy: pick the legal candidate with the highest score, the first among equals. Sampled: by the softmax of the scores over the legal ones.
The metadata name the features in order, with the bounds to which they are clipped.`

// ONNX returns m as a ModelProto. It refuses what models.Save would.
func ONNX(m *models.Model, o Options) ([]byte, error) {
	m, err := o.check(m)
	if err != nil {
		return nil, err
	}
	metadata, err := o.metadata(&m.Manifest)
	if err != nil {
		return nil, err
	}
	var operators message
	operators.number(opsetVersion, opset)
	var b message
	b.number(modelIRVersion, irVersion)
	b.text(modelProducer, "yardmaster")
	b.text(modelDoc, modelDocument)
	b.bytes(modelGraph, o.graph(m))
	b.bytes(modelOpset, operators)
	for _, p := range metadata {
		var entry message
		entry.text(entryKey, p.key)
		entry.text(entryValue, p.value)
		b.bytes(modelMetadata, entry)
	}
	return b, nil
}

// graph returns the GraphProto of m.
func (o Options) graph(m *models.Model) message {
	w := &writer{params: m.Params}
	w.network()
	inputs, outputs := o.tensors(m.Params.Dims)
	var g message
	for _, n := range w.nodes {
		g.bytes(graphNode, n)
	}
	g.text(graphName, o.Name)
	for _, t := range w.initializers {
		g.bytes(graphInitializer, t)
	}
	for _, t := range inputs {
		g.bytes(graphInput, t.info())
	}
	for _, t := range outputs {
		g.bytes(graphOutput, t.info())
	}
	return g
}

// info returns the ValueInfoProto of t.
func (t tensor) info() message {
	var shape message
	for _, d := range t.shape {
		var dim message
		if d.symbol != "" {
			dim.text(dimSymbol, d.symbol)
		} else {
			dim.number(dimSize, d.size)
		}
		shape.bytes(shapeDim, dim)
	}
	var elements message
	if t.bool {
		elements.number(elementType, elementBool)
	} else {
		elements.number(elementType, elementFloat)
	}
	elements.bytes(elementShape, shape)
	var kind message
	kind.bytes(typeTensor, elements)
	var info message
	info.text(valueName, t.name)
	info.bytes(valueType, kind)
	info.text(valueDoc, t.doc)
	return info
}

// writer collects the nodes of a network, each after those that it reads.
type writer struct {
	params              *nn.Params
	nodes, initializers []message
}

// Constants of the graph. Axes count from the end, so that the same nodes serve
// one decision point and a batch.
const (
	zero           = "zero"
	one            = "one"
	lastAxis       = "axis.last"       // -1
	candidatesAxis = "axis.candidates" // -2
)

// network writes the equations of nn.Scorer and nn.Critic.
func (w *writer) network() {
	for _, t := range w.params.Tensors {
		w.floats(t.Name, t.Shape, t.Data...)
	}
	w.floats(zero, nil, 0)
	w.floats(one, nil, 1)
	w.axis(lastAxis, -1)
	w.axis(candidatesAxis, -2)
	w.pooled()
	global := w.node("Unsqueeze", "global.row", inputGlobal, candidatesAxis)

	bias1 := w.node("Add", "score.bias1", w.linear("score.global", global, nn.ScoreGlobalWeight), w.name(nn.ScoreGlobalBias))
	h1 := w.relu("score.hidden1", w.linear("score.candidate", inputCandidates, nn.ScoreCandidateWeight), bias1)
	context := w.linear("score.context", w.mean("score.mean", h1), nn.ScoreContextWeight)
	bias2 := w.node("Add", "score.bias2", context, w.name(nn.ScoreContextBias))
	h2 := w.relu("score.hidden2", w.linear("score.hidden", h1, nn.ScoreHiddenWeight), bias2)
	output, linear := w.linear("score.output", h2, nn.ScoreOutputWeight), w.linear("score.linear", inputCandidates, nn.ScoreLinearWeight)
	w.node("Squeeze", outputScores, w.node("Add", "score.column", output, linear), lastAxis)

	bias := w.node("Add", "value.bias", w.linear("value.global", global, nn.ValueGlobalWeight), w.name(nn.ValueGlobalBias))
	h := w.relu("value.hidden", w.linear("value.candidate", w.mean("value.mean", inputCandidates), nn.ValueCandidateWeight), bias)
	last := w.node("Add", "value.row", w.linear("value.output", h, nn.ValueOutputWeight), w.name(nn.ValueOutputBias))
	w.node("Squeeze", outputValue, last, lastAxis)
}

// Results of pooled.
const (
	pooledRows  = "pooled.rows"  // [N, 1], true where a candidate counts in means
	pooledCount = "pooled.count" // [1, 1], how many do, at least 1
)

// pooled writes which candidates means are over: the legal ones, all where none
// is.
func (w *writer) pooled() {
	legal := w.node("ReduceSum", "mask.count", w.cast("mask.float", inputMask), lastAxis)
	pooled := w.node("Or", "pooled", inputMask, w.node("Equal", "mask.none", legal, zero))
	w.node("Unsqueeze", pooledRows, pooled, lastAxis)
	count := w.node("ReduceSum", "pooled.sum", w.cast("pooled.float", pooled), lastAxis)
	w.node("Unsqueeze", pooledCount, w.node("Max", "pooled.some", count, one), lastAxis)
}

// mean writes the mean over the candidates of x, shape [N, width], as [1, width].
// What does not count is replaced, not multiplied with 0: it may be anything, NaN
// too.
func (w *writer) mean(output, x string) string {
	rows := w.node("Where", output+".rows", pooledRows, x, zero)
	return w.node("Div", output, w.node("ReduceSum", output+".sum", rows, candidatesAxis), pooledCount)
}

// linear writes the product of x, shape [rows, in], and a weight, shape [out, in].
func (w *writer) linear(output, x string, weight int) string {
	name := w.name(weight)
	return w.node("MatMul", output, x, w.node("Transpose", name+".transposed", name))
}

func (w *writer) relu(output, a, b string) string {
	return w.node("Relu", output, w.node("Add", output+".sum", a, b))
}

func (w *writer) name(tensor int) string { return w.params.Tensors[tensor].Name }

// node writes the node that computes output, which is its name too.
func (w *writer) node(op, output string, inputs ...string) string {
	w.nodes = append(w.nodes, node(op, output, inputs...))
	return output
}

// cast writes the node that makes 0 and 1 of bits.
func (w *writer) cast(output, x string) string {
	var to message
	to.text(attributeName, "to")
	to.number(attributeNumber, elementFloat)
	to.number(attributeType, attributeInt)
	n := node("Cast", output, x)
	n.bytes(nodeAttribute, to)
	w.nodes = append(w.nodes, n)
	return output
}

func node(op, output string, inputs ...string) (n message) {
	for _, input := range inputs {
		n.text(nodeInput, input)
	}
	n.text(nodeOutput, output)
	n.text(nodeName, output)
	n.text(nodeOp, op)
	return n
}

// floats writes a tensor of constants; without dimensions it is a scalar.
func (w *writer) floats(name string, shape []int, data ...float32) {
	raw := make([]byte, 0, 4*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	w.initialize(name, elementFloat, shape, raw)
}

// axis writes the constant that names one axis.
func (w *writer) axis(name string, axis int) {
	w.initialize(name, elementInt64, []int{1}, binary.LittleEndian.AppendUint64(nil, uint64(axis)))
}

func (w *writer) initialize(name string, kind int, shape []int, raw []byte) {
	var t message
	for _, n := range shape {
		t.number(tensorDims, n)
	}
	t.number(tensorType, kind)
	t.text(tensorName, name)
	t.bytes(tensorRaw, raw)
	w.initializers = append(w.initializers, t)
}
