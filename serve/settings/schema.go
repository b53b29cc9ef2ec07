package settings

import (
	"encoding/json"
	"strconv"
)

// durationPattern is what time.ParseDuration takes, less its rarer units.
const durationPattern = `^-?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`

// Schema returns the JSON Schema (draft 2020-12) of the file, for editors. Load
// also checks what it cannot say: bounds of durations and keys that go together.
func Schema() []byte {
	top := object("Settings of yardmaster serve.")
	for i := range table {
		s := &table[i]
		into := top
		section, name, nested := cutLast(s.Key)
		if nested {
			properties := top["properties"].(map[string]any)
			if properties[section] == nil {
				properties[section] = object("")
			}
			into = properties[section].(map[string]any)
		}
		into["properties"].(map[string]any)[name] = property(s)
	}
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "yardmaster.yaml"
	data, err := json.MarshalIndent(top, "", "  ") // maps are written in order of their keys
	if err != nil {
		panic(err) // maps, strings and numbers
	}
	return append(data, '\n')
}

func object(doc string) map[string]any {
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
	if doc != "" {
		o["description"] = doc
	} else {
		o["type"] = []string{"object", "null"} // a section whose keys are all commented out
	}
	return o
}

func property(s *Setting) map[string]any {
	p := map[string]any{"description": s.Doc}
	kind := s.Type()
	switch kind {
	case "string":
		p["type"] = "string"
	case "bool":
		p["type"] = "boolean"
	case "int":
		p["type"] = "integer"
	case "float":
		p["type"] = "number"
	case "duration":
		p["type"], p["pattern"] = "string", durationPattern
	case "list":
		p["type"], p["items"] = "array", map[string]any{"type": "string", "pattern": "^[^,]*$"}
	case "map":
		p["type"], p["additionalProperties"] = "object", map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	if len(s.OneOf) > 0 {
		p["enum"] = s.OneOf
	}
	if kind == "int" || kind == "float" {
		number(p, "minimum", s.Min)
		number(p, "maximum", s.Max)
		number(p, "default", s.Default)
	} else if s.Default != "" {
		p["default"] = s.Default
		if kind == "bool" {
			p["default"] = s.Default == "true"
		}
	}
	return p
}

func number(p map[string]any, key, text string) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		p[key] = x
	}
}
