package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Part is what a schema says about one part of a message.
type Part struct {
	Want        string   // type and bounds, such as "integer, 1 to 1024"
	Description string   // what it means; "" for an element of an array
	Fields      []string // of an object, ascending
}

// Describe returns what the schema of this name says about the part at path,
// such as state.jobs[3].gpus, or reports that there is no such part.
func Describe(schema, path string) (Part, bool) {
	root := rootOf(schema)
	if root == nil {
		return Part{}, false
	}
	at := root.resolve(root)
	for _, step := range splitPath(path) {
		next := at.Properties[step]
		if strings.HasPrefix(step, "[") {
			next = at.Items
		}
		if next == nil {
			return Part{}, false
		}
		at = next.resolve(root)
	}
	part := Part{Want: at.want(), Description: at.Description}
	for name := range at.Properties {
		part.Fields = append(part.Fields, name)
	}
	slices.Sort(part.Fields)
	return part, true
}

// roots are the schemas that were described so far, by name. They are only read.
var roots sync.Map // of *rule

// rootOf returns the schema of this name, nil if there is none.
func rootOf(schema string) *rule {
	if known, ok := roots.Load(schema); ok {
		return known.(*rule)
	}
	text, ok := Schema(schema)
	if !ok {
		return nil
	}
	root := new(rule)
	if err := json.Unmarshal(text, root); err != nil { // embedded, and read by the tests
		panic(err)
	}
	roots.Store(schema, root)
	return root
}

// splitPath splits state.jobs[3].gpus into state, jobs, [3] and gpus.
func splitPath(path string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), func(r rune) bool { return r == '.' })
}

// At returns the text of the part of a message at path, or reports that there
// is none or that the message is no JSON.
func At(message []byte, path string) (json.RawMessage, bool) {
	if !json.Valid(message) {
		return nil, false
	}
	at := json.RawMessage(message)
	for _, step := range splitPath(path) {
		if index, ok := strings.CutPrefix(step, "["); ok {
			var list []json.RawMessage
			i, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			if err != nil || json.Unmarshal(at, &list) != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			at = list[i]
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(at, &fields) != nil || fields[step] == nil {
			return nil, false
		}
		at = fields[step]
	}
	return at, true
}

// rule is the part of JSON Schema that our schemas use.
type rule struct {
	Ref              string           `json:"$ref"`
	Defs             map[string]*rule `json:"$defs"`
	Type             any              `json:"type"` // a string, or a list of them
	Const            any              `json:"const"`
	Enum             []any            `json:"enum"`
	Examples         []any            `json:"examples"`
	Pattern          string           `json:"pattern"`
	MinLength        int              `json:"minLength"`
	MaxLength        int              `json:"maxLength"`
	Minimum          json.Number      `json:"minimum"`
	ExclusiveMinimum json.Number      `json:"exclusiveMinimum"`
	Maximum          json.Number      `json:"maximum"`
	MinItems         int              `json:"minItems"`
	MaxItems         int              `json:"maxItems"`
	Items            *rule            `json:"items"`
	Required         []string         `json:"required"`
	Properties       map[string]*rule `json:"properties"`
	Additional       any              `json:"additionalProperties"`
	Description      string           `json:"description"`
}

// resolve returns r, or what it refers to under r's own description and examples.
func (r *rule) resolve(root *rule) *rule {
	name, ok := strings.CutPrefix(r.Ref, "#/$defs/")
	if !ok {
		return r
	}
	target := *root.Defs[name]
	if r.Description != "" {
		target.Description = r.Description
	}
	if r.Examples != nil {
		target.Examples = r.Examples
	}
	return &target
}

// Bounds that come from the number's type rather than from its meaning.
var unbounded = []json.Number{"-9223372036854775808", "9223372036854775807", "18446744073709551615", "1.7976931348623157e308", "-1.7976931348623157e308"}

// want says in words what values r takes.
func (r *rule) want() string {
	var parts []string
	switch list, _ := r.Type.([]any); {
	case r.Const != nil:
		return fmt.Sprintf("%q", r.Const)
	case r.Enum != nil:
		return "one of " + joined(r.Enum)
	case list != nil:
		parts = append(parts, fmt.Sprint(list[0]))
	case r.Type != nil:
		parts = append(parts, fmt.Sprint(r.Type))
	}
	if r.Pattern != "" {
		parts = append(parts, "matching "+r.Pattern)
	}
	if bounds := r.bounds(); bounds != "" {
		parts = append(parts, bounds)
	}
	if r.MinLength > 0 {
		parts = append(parts, "not empty")
	}
	if r.MaxItems > 0 {
		parts = append(parts, fmt.Sprintf("%d to %d elements", r.MinItems, r.MaxItems))
	}
	if r.Examples != nil {
		parts = append(parts, "such as "+joined(r.Examples))
	}
	return strings.Join(parts, ", ")
}

// bounds says in words between which numbers r's are.
func (r *rule) bounds() string {
	low, high := r.Minimum, r.Maximum
	if slices.Contains(unbounded, low) {
		low = ""
	}
	if slices.Contains(unbounded, high) {
		high = ""
	}
	switch {
	case r.ExclusiveMinimum != "":
		return "> " + r.ExclusiveMinimum.String()
	case low != "" && high != "":
		return low.String() + " to " + high.String()
	case low != "":
		return ">= " + low.String()
	}
	return ""
}

func joined(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}
