package exporttest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

//go:embed onnx-ml.pb
var definition []byte

// File is the part of a ModelProto that exported models use.
type File struct {
	IRVersion    int64  `json:"ir_version,string"`
	ProducerName string `json:"producer_name"`
	DocString    string `json:"doc_string"`
	Graph        Graph  `json:"graph"`
	OpsetImport  []struct {
		Domain  string `json:"domain"`
		Version int64  `json:"version,string"`
	} `json:"opset_import"`
	MetadataProps []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"metadata_props"`
}

// Graph is a GraphProto.
type Graph struct {
	Name        string        `json:"name"`
	Node        []Node        `json:"node"`
	Initializer []Initializer `json:"initializer"`
	Input       []Value       `json:"input"`
	Output      []Value       `json:"output"`
}

// Node is a NodeProto.
type Node struct {
	Name      string      `json:"name"`
	OpType    string      `json:"op_type"`
	Input     []string    `json:"input"`
	Output    []string    `json:"output"`
	Attribute []Attribute `json:"attribute"`
}

// Attribute is an AttributeProto.
type Attribute struct {
	Name string `json:"name"`
	Type string `json:"type"`
	I    int64  `json:"i,string"`
}

// Initializer is a TensorProto.
type Initializer struct {
	Name     string        `json:"name"`
	Dims     []json.Number `json:"dims"`
	DataType int           `json:"data_type"`
	RawData  []byte        `json:"raw_data"`
}

// Value is a ValueInfoProto.
type Value struct {
	Name      string `json:"name"`
	DocString string `json:"doc_string"`
	Type      struct {
		TensorType struct {
			ElemType int `json:"elem_type"`
			Shape    struct {
				Dim []struct {
					DimValue string `json:"dim_value"`
					DimParam string `json:"dim_param"`
				} `json:"dim"`
			} `json:"shape"`
		} `json:"tensor_type"`
	} `json:"type"`
}

// Shape returns the dimensions of v as text: a number, or a symbol.
func (v *Value) Shape() []string {
	shape := []string{}
	for _, d := range v.Type.TensorType.Shape.Dim {
		shape = append(shape, d.DimValue+d.DimParam)
	}
	return shape
}

// Metadata returns the metadata by key, or an error where a key is there twice.
func (f *File) Metadata() (map[string]string, error) {
	all := make(map[string]string)
	for _, p := range f.MetadataProps {
		if _, twice := all[p.Key]; twice {
			return nil, fmt.Errorf("exporttest: metadata have %s twice", p.Key)
		}
		all[p.Key] = p.Value
	}
	return all, nil
}

// Message returns an empty message of the type called name, of the package's file
// in raw, a FileDescriptorProto without imports.
func Message(raw []byte, name protoreflect.FullName) (*dynamicpb.Message, error) {
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("exporttest: definition: %w", err)
	}
	described, err := protodesc.NewFile(&file, new(protoregistry.Files))
	if err != nil {
		return nil, fmt.Errorf("exporttest: definition: %w", err)
	}
	m := described.Messages().ByName(name.Name())
	if m == nil || m.FullName() != name {
		return nil, fmt.Errorf("exporttest: definition has no message %s", name)
	}
	return dynamicpb.NewMessage(m), nil
}

// Decode reads a ModelProto. It refuses fields that ONNX does not know, and those
// that [File] does not hold: an evaluation must not leave anything out.
func Decode(raw []byte) (*File, error) {
	m, err := Message(definition, "onnx.ModelProto")
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("exporttest: %w", err)
	}
	if err := unknown(m); err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("exporttest: %w", err)
	}
	f := new(File)
	if err := strict(text, f); err != nil {
		return nil, fmt.Errorf("exporttest: %w", err)
	}
	return f, nil
}

// unknown returns an error for the first field, at any depth, that is not in the
// definition.
func unknown(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("exporttest: %s has a field that it does not define", m.Descriptor().FullName())
	}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				err = errors.Join(err, unknown(v.List().Get(i).Message()))
			}
		default:
			err = unknown(v.Message())
		}
		return err == nil
	})
	return err
}
