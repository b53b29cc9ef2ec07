// Package schematest holds messages against JSON Schemas by an independent library,
// for tests.
package schematest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile compiles the text of a schema, which also checks it against the schema of
// schemas.
func Compile(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const name = "urn:yardmaster:schema"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// Refusal returns why a schema refuses a message, nil if it does not.
func Refusal(t testing.TB, s *jsonschema.Schema, message []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		t.Fatalf("%v\n%s", err, message)
	}
	return s.Validate(v)
}
