package settings

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// tree reads YAML as the values of JSON, with a reader that knows no settings.
func tree(t interface{ Fatal(...any) }, data []byte) any {
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return plain(v)
}

// plain turns YAML's integers into those that the validator knows.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case uint64:
		return int64(v)
	}
	return v
}

// FuzzFile checks that no file makes the reader panic, and that every mistake
// names the file.
func FuzzFile(f *testing.F) {
	f.Add([]byte("run: a\nguard:\n  deadline: 1s\n  hedge: .inf\n"))
	f.Add([]byte("log: {level: [debug]}\nnats:\n- a\n"))
	f.Add([]byte("? run\n: |\n  a\n"))
	f.Add([]byte("guard: !!map\n"))
	f.Add([]byte("1: 2\n~: x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := parseFile("y.yaml", data)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "y.yaml:") {
					t.Errorf("%q does not begin with the file", line)
				}
			}
		}
		for key, e := range entries {
			if !known(key) || e.line < 1 {
				t.Errorf("got %q in line %d", key, e.line)
			}
		}
	})
}
