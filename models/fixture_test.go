package models

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/models/nn"
)

func testEncoder() Encoder {
	return Encoder{
		Version:   "test/1",
		Global:    []Feature{{"load", -10, 10}, {"size", 0, 1}},
		Candidate: []Feature{{"is_stop", 0, 1}, {"density", -10, 10}, {"gpus", -10, 10}},
	}
}

// testModel returns a small model with random parameters.
func testModel(seed uint64) *Model {
	p := nn.NewParams(nn.Dims{Candidate: 3, Global: 2, Hidden: 5, Value: 4})
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range p.Flat {
		p.Flat[i] = float32(r.NormFloat64())
	}
	m := New(JobStrategy, testEncoder(), p)
	m.Manifest.Provenance["seed"] = fmt.Sprint(seed)
	m.Manifest.Metrics["mean_jct_hours"] = 1.25
	return m
}

func mustSave(t testing.TB, dir string, m *Model) {
	t.Helper()
	if err := Save(dir, m); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t testing.TB, dir string) *Model {
	t.Helper()
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustEncode(t testing.TB, m *Model) (manifest, weights []byte) {
	t.Helper()
	f := encoded(t, m)
	return f.Manifest, f.Weights
}

func encoded(t testing.TB, m *Model) Files {
	t.Helper()
	f, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func writeFile(t testing.TB, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// files returns the contents of the files in dir by name.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	contents := make(map[string]string)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		contents[e.Name()] = string(raw)
	}
	return contents
}

func sameFiles(a, b map[string]string) bool { return maps.Equal(a, b) }

// wantError checks that err says all of parts, and whether it wraps
// ErrIncompatible.
func wantError(t *testing.T, name string, err error, incompatible bool, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: got no error, want one with %q", name, parts)
		return
	}
	if got := errors.Is(err, ErrIncompatible); got != incompatible {
		t.Errorf("%s: wraps ErrIncompatible: got %v, want %v: %v", name, got, incompatible, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error does not say %q:\n%v", name, part, err)
		}
	}
}
