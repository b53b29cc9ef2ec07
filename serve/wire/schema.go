package wire

import (
	"embed"
	"encoding/json"
	"strings"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// Schemas returns the names of the schemas of all messages.
func Schemas() []string {
	return append(decoded(), StatusSchema, AdminSchema, AdminModelsSchema, AdminLoadSchema, AdminKindSchema, AdminModeSchema)
}

// decoded returns the names of the schemas of messages that say which they are and
// have a reader here.
func decoded() []string {
	return []string{StateSchema, AllocationSchema, ConfigurationSchema, AckSchema, ErrorSchema, EventSchema, ValidationSchema, ExplanationSchema}
}

// Schema returns the JSON Schema (draft 2020-12) of this name. It accepts every
// message that the decoder of this package accepts; what it cannot say, such as
// that an index points at something, its description does.
func Schema(name string) (text []byte, ok bool) {
	short, ok := strings.CutPrefix(name, "yardmaster.")
	if !ok {
		return nil, false
	}
	text, err := schemaFiles.ReadFile("schema/" + short + ".json")
	return text, err == nil
}

// Validate reads a message as what its schema field says and checks it like its
// receiver does. It returns that field, where it could be read, and a fault as
// an *Error. The other messages of Schemas have no reader here, or no such field:
// their schemas are for others.
func Validate(data []byte) (schema string, err error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil { // the decoder says where and why
		_, err = DecodeState(data)
		return "", err
	}
	switch head.Schema {
	case StateSchema:
		_, err = DecodeState(data)
	case AllocationSchema:
		_, err = DecodeAllocation(data)
	case ConfigurationSchema:
		_, err = DecodeConfiguration(data)
	case AckSchema:
		_, err = DecodeAck(data)
	case ErrorSchema:
		_, err = DecodeError(data)
	case EventSchema:
		_, err = DecodeEvent(data)
	case ValidationSchema:
		_, err = DecodeValidation(data)
	case ExplanationSchema:
		_, err = DecodeExplanation(data)
	default:
		err = Errorf(CodeSchema, "schema", "schema is %.64q, want one of %s", head.Schema, strings.Join(decoded(), ", "))
	}
	return head.Schema, err
}
