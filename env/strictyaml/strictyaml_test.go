package strictyaml

import (
	"errors"
	"strings"
	"testing"
)

type values struct {
	A int
	B []float64
}

func TestDecode(t *testing.T) {
	var got values
	if err := Decode([]byte("# comment\na: 3\nb: [1, 2.5]\n"), &got); err != nil || got.A != 3 || len(got.B) != 2 || got.B[1] != 2.5 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown key":  {"c: 1", `unknown field "c"`},
		"wrong type":   {"a: many", "values.A of type int"},
		"two":          {"a: 1\n---\na: 2", "2 YAML documents"},
		"alias":        {"b: &x [1]\na: *x", "anchor or alias"},
		"deep":         {"b: " + strings.Repeat("[", 100_000), "nest deeper"},
		"no YAML":      {"a: [1", "["},
		"tag":          {"a: !!int", ""},
		"merge":        {"<<: {a: 1}", "anchor or alias"},
		"key is twice": {"a: 1\na: 2", "a"},
	} {
		err := Decode([]byte(test.text), new(values))
		if err == nil && test.want == "" {
			continue // must not panic, that is all
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", name, err, test.want)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "\n\n"} {
		if err := Decode([]byte(empty), new(values)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: got %v, want ErrEmpty", empty, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a: 1\nb: [1, 2]\n"))
	f.Add([]byte("b: &x [1]\n"))
	f.Add([]byte("a: !!binary x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := Decode(data, new(values)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line", err)
		}
	})
}
